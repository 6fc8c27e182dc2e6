"""The calls of a Relay build, read from the graph executor's JSON, or before a build from the fused module."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import tvm
from tvm import relay

from workbench.analysis.tensors import Tensor
from workbench.dialects.compiler.results import GIVE_SIZES, OUTSIDE, Call, Program
from workbench.dialects.relay.compiler.folding import at
from workbench.dialects.relay.printer import parts
from workbench.errors import MeasureError

_KINDS = {"__nop": "noop", "__copy": "copy"}

Values = list[tuple[int, Tensor]]
"the tensors of an expression, tuples flattened: the call that makes each, and its type"


@tvm.ir.instrument.pass_instrument
class Watch:
    """Keeps modules between the passes of a build: the lowered module, its kernels, and their host parts."""

    def __init__(self) -> None:
        self.fused: tvm.IRModule | None = None
        "kernels as functions of operators"
        self.lowered: tvm.IRModule | None = None
        "kernels in TIR"
        self.split: list[tvm.IRModule] = []
        "modules with host parts and device kernels split"

    def run_before_pass(self, module: tvm.IRModule, info: Any) -> None:
        if info.name == "LowerTE":
            self.fused = module

    def run_after_pass(self, module: tvm.IRModule, info: Any) -> None:
        if info.name == "LowerTE":
            self.lowered = module
        elif info.name == "tir.SplitHostDevice":
            self.split.append(module)


def program_of_json(
    graph: Mapping[str, Any], external: Sequence[str] = (), read: Mapping[str, Sequence[bool]] | None = None
) -> Program:
    """Return the calls of the executor's graph JSON.

    `external`: names of the functions that another compiler made. `read`: hash of a kernel -> whether it reads each
    of its tensors. A kernel without an entry reads all.
    """
    shapes, types = graph["attrs"]["shape"][1], graph["attrs"]["dltype"][1]
    first = graph["node_row_ptr"]
    number: dict[int, int] = {}
    calls: list[Call] = []

    def tensor(node: int, output: int) -> Tensor:
        entry = first[node] + output
        return Tensor(tuple(shapes[entry]), _dtype(types[entry]))

    for place, node in enumerate(graph["nodes"]):
        if node["op"] != "tvm_op":
            continue
        number[place] = len(calls)
        function = node["attrs"]["func_name"]
        taken = (read or {}).get(node["attrs"].get("hash", ""), (True,) * len(node["inputs"]))
        inputs = [(source, output) for source, output, _ in compress(node["inputs"], taken)]
        calls.append(
            Call(
                node["name"],
                function,
                _KINDS.get(function, "external" if function in external else "kernel"),
                tuple(tensor(source, output) for source, output in inputs),
                tuple(number.get(source, OUTSIDE) for source, _ in inputs),
                tuple(tensor(place, output) for output in range(int(node["attrs"]["num_outputs"]))),
            )
        )
    heads = tuple((number.get(node, OUTSIDE), tensor(node, output)) for node, output, _ in graph["heads"])
    return Program(tuple(calls), heads)


def bytes_of_json(graph: Mapping[str, Any], apart: Collection[str]) -> int:
    """Return the bytes that the executor allocates; `apart` has the names of parameters and constants to leave out."""
    shapes, types = graph["attrs"]["shape"][1], graph["attrs"]["dltype"][1]
    first, ids = graph["node_row_ptr"], graph["attrs"]["storage_id"][1]
    sizes: dict[int, int] = {}
    for entry, number in enumerate(ids):
        size = Tensor(tuple(shapes[entry]), _dtype(types[entry])).nbytes
        sizes[number] = max(size, sizes.get(number, 0))
    kept = {ids[first[place]] for place, node in enumerate(graph["nodes"]) if node["name"] in apart}
    return sum(size for number, size in sizes.items() if number not in kept)


def external_functions(module: tvm.IRModule) -> list[str]:
    """Return the functions that another compiler makes: in a fused module, all that `main` calls by name."""
    found: set[str] = set()

    def look(expr: Any) -> None:
        if not isinstance(expr, relay.Call):
            return
        if isinstance(expr.op, tvm.ir.GlobalVar):
            found.add(expr.op.name_hint)
        elif isinstance(expr.op, relay.Function) and foreign(expr.op):
            found.add(str(expr.op.attrs["global_symbol"]))

    relay.analysis.post_order_visit(module["main"], look)
    return sorted(found)


class Callee(NamedTuple):
    """The operator or function of a call."""

    function: str
    kind: str
    taken: tuple[bool, ...] | None = None
    "whether it reads each of its tensors; None if it reads all"


class Walk:
    """Visits `main` as the executor's code generator does: arguments first, from left to right, each expression once."""

    def __init__(self, module: tvm.IRModule, has_qnn: bool) -> None:
        self.module = module
        self.has_qnn = has_qnn
        "whether the target has kernels of `qnn` operators: only Hexagon has"
        self.calls: list[Call] = []
        self.known: dict[int, Values] = {}
        "by address"
        self.kernels: list[Any] = []
        "the functions that TVM compiles, of several that compute the same the first"
        self.callees: dict[int, list[tuple[Any, Callee]]] = {}
        "structural hash -> the functions that have it"
        self.failing: list[str] = []
        "the reasons why the graph executor cannot run it"
        self.odd = False
        "whether it has parts other than tensors and calls of kernels of TVM, so that only a build shows whether one runs"

    def program(self) -> Program:
        body = self.module["main"].body
        waiting = [] if at(body) in self.known else [(body, self.parts(body))]
        while waiting:
            expr, parts = waiting[-1]
            missing = next((part for part in parts if at(part) not in self.known), None)
            if missing is not None:
                waiting.append((missing, self.parts(missing)))
            else:
                waiting.pop()
                self.known[at(expr)] = self.value(expr)
        values = [*self.known[at(body)], *((0, tensor) for call in self.calls for tensor in call.outputs)]
        values += [(0, tensor) for variable in self.module["main"].params for tensor in tensors(variable.checked_type)]
        for variable in self.module["main"].params:
            if not isinstance(variable.checked_type, relay.TensorType):
                self.failing.append(
                    f"the parameter {variable.name_hint} is not a tensor, and the graph executor takes tensors only"
                )
        if not all(tensor.known for _, tensor in values):
            self.failing.append(f"a tensor has an open dimension, and the graph executor takes none; {GIVE_SIZES}")
        return Program(tuple(self.calls), tuple(self.known[at(body)]), next(iter(self.failing), ""))

    def parts(self, expr: Any) -> Iterator[Any]:
        """Yield the parts to visit before an expression; each is known when the next one is asked for."""
        if isinstance(expr, relay.Call):
            yield from expr.args[:]
        elif isinstance(expr, relay.Tuple):
            yield from expr.fields[:]
        elif isinstance(expr, relay.TupleGetItem):
            yield expr.tuple_value
        elif isinstance(expr, relay.Let):
            yield expr.value
            self.known[at(expr.var)] = self.known[at(expr.value)]
            yield expr.body

    def value(self, expr: Any) -> Values:
        if isinstance(expr, relay.Tuple):
            self.odd |= not all(isinstance(field, relay.TensorType) for field in expr.checked_type.fields[:])
            return [value for field in expr.fields[:] for value in self.known[at(field)]]
        if isinstance(expr, relay.TupleGetItem):
            fields = self.known[at(expr.tuple_value)]
            if expr.index >= len(fields):
                raise MeasureError("a tuple of the module holds functions, and the graph executor takes tensors only")
            return [fields[expr.index]]
        if isinstance(expr, relay.Let):
            return self.known[at(expr.body)]
        if isinstance(expr, relay.Call) and not _is(expr.op, "on_device"):
            return self.call(expr)
        if isinstance(expr, relay.Call):
            return self.known[at(expr.args[0])]
        if not isinstance(expr, (relay.Var, relay.Constant)):
            self.failing.append(f"relay.build takes no {type(expr).__name__}; it needs Relay's virtual machine")
        return [(OUTSIDE, tensor) for tensor in tensors(expr.checked_type)]

    def call(self, call: relay.Call) -> Values:
        op = call.op
        self.odd |= call.attrs is not None and not isinstance(op, tvm.ir.Op)
        read = [value for argument in call.args[:] for value in self.known[at(argument)]]
        function, kind, taken = self.callee(op)
        if taken is not None:
            read = list(compress(read, taken))
        made = tuple(tensors(call.checked_type))
        sources, inputs = tuple(source for source, _ in read), tuple(tensor for _, tensor in read)
        self.calls.append(Call(function, function, kind, inputs, sources, made))
        return [(len(self.calls) - 1, tensor) for tensor in made]

    def callee(self, op: Any) -> Callee:
        """Return what is called: the same for all functions that compute the same, because the compiler lowers those once."""
        alike = self.callees.setdefault(tvm.ir.structural_hash(op), [])
        for other, found in alike:
            if tvm.ir.structural_equal(other, op):
                return found
        alike.append((op, self.new_callee(op)))
        return alike[-1][1]

    def new_callee(self, op: Any) -> Callee:
        # FuseOps puts it into a function of its own
        fused = op.body.op if isinstance(op, relay.Function) and isinstance(op.body, relay.Call) else None
        if _is(op, "device_copy") or _is(fused, "device_copy"):
            return Callee("__copy", "copy")
        if isinstance(op, tvm.ir.GlobalVar):
            self.check_global(op)
            self.odd = True
            return Callee(op.name_hint, "external")
        if foreign(op):
            self.check_compiler(op)
            self.odd = True
            return Callee(str(op.attrs["global_symbol"]), "external")
        taken = tensors_read(op) if isinstance(op, relay.Function) else None
        if only_reshapes(op):
            return Callee("__nop", "noop", taken)
        if not isinstance(op, relay.Function):
            self.failing.append("it calls a function that is a value, which the graph executor does not")
        self.check_operators(op)
        self.kernels.append(op)
        return Callee(f"kernel_{len(self.kernels)}", "kernel", taken)

    def check_global(self, variable: Any) -> None:
        """Record why a call of a function of the module cannot be built: relay.build makes no code for the function."""
        function = self.module[variable]
        if foreign(function):
            self.check_compiler(function)
        else:
            self.failing.append(f"`main` calls @{variable.name_hint}, which relay.build does not inline")

    def check_compiler(self, function: Any) -> None:
        """Record a compiler that this TVM was built without."""
        name = str(function.attrs["Compiler"])
        if tvm.get_global_func(f"relay.ext.{name}", allow_missing=True) is None and not _lowers(name):
            self.failing.append(f"this TVM has no code generation for the compiler {name}, so no build of it runs")

    def check_operators(self, function: Any) -> None:
        """Record operators that relay.build has no kernels for."""

        def look(expr: Any) -> None:
            name = expr.op.name if isinstance(expr, relay.Call) and isinstance(expr.op, tvm.ir.Op) else ""
            if name.startswith("qnn.") and not self.has_qnn:
                self.failing.append(
                    f"{name} has no kernel at this opt level; run qnn.CanonicalizeOps, or build at level 3"
                )
            elif name and tvm.ir.Op.get(name).get_attr("FTVMStrategy") is None:
                self.failing.append(f"the operator {name} has no kernel, so no build of it runs")

        relay.analysis.post_order_visit(function, look)


def _lowers(compiler: str) -> bool:
    """Return whether a target of that name turns functions into TIR or code."""
    if compiler not in tvm.target.Target.list_kinds():
        return False
    kind = tvm.target.Target(compiler)
    return any(kind.get_kind_attr(hook) is not None for hook in ("RelayToTIR", "TIRToRuntime"))


def _is(op: Any, name: str) -> bool:
    return isinstance(op, tvm.ir.Op) and op.name == name


def typed(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with types: the last passes may leave new expressions untyped."""
    try:
        _ = module["main"].body.checked_type
    except ValueError:
        return relay.transform.InferType()(module)
    return module


def tensors(type: Any) -> Iterator[Tensor]:
    """Yield the tensors of a type, tuples flattened."""
    if isinstance(type, relay.TupleType):
        for field in type.fields[:]:
            yield from tensors(field)
    elif isinstance(type, relay.TensorType):
        yield tensor_of(type)


def tensor_of(type: Any) -> Tensor:
    """Return the shape and data type of a tensor's type, or of a tensor of TE."""
    shape = tuple(int(d) if isinstance(d, tvm.tir.IntImm) else str(d) for d in type.shape[:])
    return Tensor(shape, _dtype(type.dtype))


def _dtype(name: str) -> str:
    """Return a type's name; in the executor's graph a bool is an integer of one bit."""
    return "bool" if name == "uint1" else name


def tensors_read(function: relay.Function) -> tuple[bool, ...]:
    """Return whether a kernel reads each of its tensors, tuples flattened, in the order of its parameters.

    The executor passes every field of a tuple. A parameter that is one tensor counts as read, and so do all fields of a tuple
    that is used as a whole.
    """
    taken = {at(each): set[int]() for each in function.params if isinstance(each.checked_type, relay.TupleType)}

    def look(expr: Any) -> None:
        if isinstance(expr, relay.TupleGetItem):
            taken.get(at(expr.tuple_value), set()).add(expr.index)
        elif not isinstance(expr, _LEAVES):
            for part in parts(expr):
                if at(part) in taken:
                    taken[at(part)].update(range(len(part.checked_type.fields)))

    if taken:
        relay.analysis.post_order_visit(function, look)
    read: list[bool] = []
    for each in function.params:
        fields = taken.get(at(each))
        for place, type in enumerate([each.checked_type] if fields is None else each.checked_type.fields):
            read += [fields is None or place in fields] * len([*tensors(type)])
    return tuple(read)


def read_by_hash(module: tvm.IRModule) -> dict[str, tuple[bool, ...]]:
    """Return the same for each kernel in `main`, by the hash that the executor's graph has for it too."""
    found: dict[str, tuple[bool, ...]] = {}

    def look(expr: Any) -> None:
        kernel: Any = expr.op if isinstance(expr, relay.Call) else None
        if isinstance(kernel, relay.Function) and has(kernel, "hash") and not foreign(kernel):
            found[str(kernel.attrs["hash"])] = tensors_read(kernel)

    relay.analysis.post_order_visit(module["main"], look)
    return found


def has(function: Any, name: str) -> bool:
    """Return whether a function has an attribute; one that is null is not there."""
    attrs = getattr(function, "attrs", None)
    return attrs is not None and name in tuple(attrs.keys()) and attrs[name] is not None


_RESHAPE_ONLY = "relay.reshape_only"
"the attribute that FuseOps gives a function that only reshapes: the executor reuses the same memory"


def only_reshapes(op: Any) -> bool:
    """Return whether a callee is a function that the executor does not run."""
    return has(op, _RESHAPE_ONLY) and bool(int(op.attrs[_RESHAPE_ONLY]))


def foreign(function: Any) -> bool:
    """Return whether another compiler makes its code; the tensors that such code reads are unknown."""
    return has(function, "Compiler")


_LEAVES = (relay.Var, relay.Constant, relay.GlobalVar, tvm.ir.Op)
