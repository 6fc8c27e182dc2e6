"""FoldConstant without compilation: finds the values that become constants, and computes only those that passes read.

TVM's own pass compiles and runs one operator after another, which is most of the time of an optimisation. The passes
after it read the elements of small constants only: is it 0 or 1, are all of a scale positive, is it a shape. Those are
computed; for larger ones kernels depend on the shape and the type, and their memory is never written or read. The rules
are those of ConstantFolder in src/relay/transforms/fold_constant.cc of TVM 0.17.

Without it `wb.count` of bert-12 misses its bar in `benchmarks/counts.py` (1 s, and 10 times faster than a build): 12 s
with TVM's pass.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import cache
from math import prod
from typing import Any

import numpy as np
import tvm
from tvm import relay
from tvm.relay.expr import CallWithFields

from workbench.dialects.arrays import bytes_of, has_numpy_type
from workbench.dialects.relay.printer import address, unwritten

SMALL = 1 << 16
"elements of the largest constant that is computed"
MOST = 4096
"values kept"

_BY_NUMPY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "negative": np.negative,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp,
    "maximum": np.maximum,
    "minimum": np.minimum,
}
"operators without attributes on floating-point arrays"
_KEEPS_ELEMENTS = ("reshape", "expand_dims", "squeeze", "nn.batch_flatten", "layout_transform")
"operators whose result has the same elements; a layout's order is not kept, because passes read only their signs"
_OTHER_RULES = ("shape_of", "vm.shape_of", "ndarray_size", "on_device", "device_copy")
"operators with rules of their own in the pass, which are not repeated here"


class NotPlain(Exception):
    """The module holds something that only TVM's own pass handles correctly."""


class HasKernels(Exception):
    """There are fused functions inside, whose bodies must not be folded."""


class Untyped(Exception):
    """Passes made expressions since the last type inference."""


class Folder:
    """Folds modules one after another and keeps values: a toggled configuration folds the same ones again."""

    def __init__(self) -> None:
        self._values: dict[Hashable, tuple[Any, Any]] = {}

    def fold(self, module: tvm.IRModule) -> None:
        """Fold `main` in place, as FoldConstant does. Raises NotPlain: TVM has to fold this module."""
        operators = relay.analysis.list_op_freqs(module)
        if any(name in operators for name in _OTHER_RULES):
            raise NotPlain
        try:
            folded = _Pass(self).fold(module["main"])
        except Untyped:
            with tvm.transform.PassContext():
                folded = _Pass(self).fold(relay.transform.InferType()(module)["main"])
        if folded is not None:
            module.update_func(module.get_global_var("main"), folded)

    def value(self, call: relay.Call, arguments: list[Any], out: Any) -> Any:
        """Return the value of an operator call on constants: an array, or a list of them."""
        key = (call.op.name, tvm.ir.save_json(call.attrs) if call.attrs else "", tuple(map(_identity, arguments)))
        if key not in self._values:
            if len(self._values) >= MOST:
                self._values.clear()
                unwritten.clear()
            # kept with the arguments, so that no other array gets their address
            self._values[key] = (self._computed(call, arguments, out), arguments)
        return self._values[key][0]

    def _computed(self, call: relay.Call, arguments: list[Any], out: Any) -> Any:
        fields = list(out.fields) if isinstance(out, relay.TupleType) else [out]
        if all(_elements(field) > SMALL for field in fields):
            made = [tvm.nd.empty([int(d) for d in field.shape], field.dtype) for field in fields]
            unwritten.update(map(address, made))
            return made if isinstance(out, relay.TupleType) else made[0]
        if any(address(array) in unwritten for array in _flat(arguments)):
            raise NotPlain
        return _by_tvm(call, arguments) if isinstance(out, relay.TupleType) else _small(call, arguments, out)


class _Pass:
    """One run over one function.

    Expressions are keyed by address, because hashing them calls TVM thousands of times; and arrays of TVM are read as `array[:]`,
    because a loop over one asks for its length before each item.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.new: dict[int, relay.Expr] = {}
        "expression -> its replacement, if it has one"
        self.const: dict[int, Any] = {}
        "expression that is constant now -> its array, or the list of arrays of a tuple"

    def fold(self, main: relay.Function) -> relay.Function | None:
        """Return the function folded, None if there is nothing to fold."""
        try:
            relay.analysis.post_order_visit(main.body, self.visit)
        except HasKernels:
            inside = _inside_primitives(main)
            self.new.clear()
            self.const.clear()
            relay.analysis.post_order_visit(
                main.body, lambda node: None if at(node) in inside or _primitive(node) else self.visit(node)
            )
        body = self.new.get(at(main.body))
        if body is None:
            return None
        return relay.Function(main.params, body, main.ret_type, main.type_params, main.attrs)

    def visit(self, node: relay.Expr) -> None:
        if isinstance(node, relay.Call):
            self.call(node)
        elif isinstance(node, relay.Constant):
            self.const[at(node)] = node.data
        elif isinstance(node, relay.Tuple):
            self.tuple(node)
        elif isinstance(node, relay.TupleGetItem):
            self.item(node)
        elif _primitive(node):
            raise HasKernels
        elif not isinstance(node, (relay.Var, tvm.ir.Op, tvm.ir.GlobalVar)):
            raise NotPlain

    def now(self, parts: Any) -> tuple[list[relay.Expr], bool]:
        """Return the replacements of some expressions, and whether any differs from the original."""
        old = parts[:]
        new = [self.new.get(at(part), part) for part in old]
        return new, any(one is not other for one, other in zip(old, new, strict=True))

    def call(self, node: relay.Call) -> None:
        arguments, changed = self.now(node.args)
        if arguments and all(at(a) in self.const for a in arguments):
            op = node.op
            if isinstance(op, tvm.ir.Op) and _foldable(op.name):
                value = self.folder.value(node, [self.const[at(a)] for a in arguments], _type(node))
                self.put(node, _constant(value))
                return
        if changed:
            # it keeps the type, which folding does not change
            self.new[at(node)] = CallWithFields(node, None, arguments)

    def tuple(self, node: relay.Tuple) -> None:
        fields, changed = self.now(node.fields)
        made = relay.Tuple(fields, node.span) if changed else node
        if changed:
            self.new[at(node)] = made
        if all(at(f) in self.const for f in fields):
            self.const[at(made)] = [self.const[at(f)] for f in fields]

    def item(self, node: relay.TupleGetItem) -> None:
        (whole,), changed = self.now([node.tuple_value])
        if isinstance(whole, relay.Tuple):
            self.put(node, whole.fields[node.index])
        elif changed:
            self.new[at(node)] = relay.TupleGetItem(whole, node.index, node.span)

    def put(self, node: relay.Expr, made: relay.Expr) -> None:
        """Replace `node` by `made`."""
        self.new[at(node)] = made
        if isinstance(made, relay.Constant):
            self.const[at(made)] = made.data
        elif isinstance(made, relay.Tuple) and all(isinstance(f, relay.Constant) for f in made.fields):
            self.const[at(made)] = [f.data for f in made.fields]
            self.const.update((at(f), f.data) for f in made.fields)


def at(expr: Any) -> int:
    """Return the address of an expression: equal for two Python objects that are one TVM expression."""
    return expr.handle.value


def _primitive(node: relay.Expr) -> bool:
    return isinstance(node, relay.Function) and bool(node.attrs) and "Primitive" in tuple(node.attrs.keys())


def _inside_primitives(main: relay.Function) -> set[int]:
    """Return everything inside of fused functions, which FoldConstant does not change."""
    functions: list[relay.Function] = []
    relay.analysis.post_order_visit(
        main.body, lambda node: functions.append(node) if isinstance(node, relay.Function) else None
    )
    if any(not _primitive(function) for function in functions):
        raise NotPlain
    inside: set[int] = set()
    for function in functions:
        relay.analysis.post_order_visit(
            function.body, lambda node: None if isinstance(node, relay.Constant) else inside.add(at(node))
        )
    return inside


def _type(node: relay.Call) -> Any:
    """Return the type of a call; raises if a pass made it since the last InferType."""
    try:
        return node.checked_type
    except ValueError:
        raise Untyped from None


def _constant(value: Any) -> relay.Expr:
    if isinstance(value, list):
        return relay.Tuple([_constant(part) for part in value])
    return relay.Constant(value)


@cache
def _foldable(name: str) -> bool:
    op = tvm.ir.Op.get(name)
    return not op.get_attr("TOpIsStateful") and not op.get_attr("TNonComputational")


def _identity(value: Any) -> Hashable:
    """Return a key that equal constants share: a small one's content, a larger one's address."""
    if isinstance(value, list):
        return tuple(map(_identity, value))
    if prod(value.shape) <= 64:
        return value.dtype, tuple(value.shape), bytes_of(value).tobytes()
    return value.dtype, tuple(value.shape), address(value)


def _small(call: relay.Call, arguments: list[Any], out: Any) -> Any:
    name, shape = call.op.name, [int(d) for d in out.shape]
    if not all(array.dtype == "bool" or has_numpy_type(array) for array in _flat(arguments)):
        return _by_tvm(call, arguments)
    if name in _KEEPS_ELEMENTS and prod(arguments[0].shape) == prod(shape):
        return tvm.nd.array(arguments[0].numpy().reshape(shape))
    if name in _BY_NUMPY and out.dtype.startswith("float"):
        with np.errstate(all="ignore"):
            return tvm.nd.array(_BY_NUMPY[name](*(a.numpy() for a in arguments)).astype(out.dtype).reshape(shape))
    return _by_tvm(call, arguments)


def _elements(type: Any) -> int:
    if not isinstance(type, relay.TensorType) or not all(isinstance(d, tvm.tir.IntImm) for d in type.shape):
        raise NotPlain
    return prod(int(d) for d in type.shape)


def _flat(values: list[Any]) -> Iterator[Any]:
    for value in values:
        yield from _flat(value) if isinstance(value, list) else [value]


def _by_tvm(call: relay.Call, arguments: list[Any]) -> Any:
    """Return the value by TVM's own evaluation."""
    expression = relay.Call(call.op, [_constant(a) for a in arguments], call.attrs, call.type_args)
    made = relay.transform.FoldConstantExpr(expression, tvm.IRModule())
    if isinstance(made, relay.Tuple):
        return [field.data for field in made.fields]
    if not isinstance(made, relay.Constant):
        raise NotPlain
    return made.data


_CODE = "target.build.llvm"
"TVM's function that compiles a module of kernels for a CPU"


@tvm.ir.instrument.pass_instrument
class CompiledOnce:
    """Lets TVM's FoldConstant compile each kernel once.

    It evaluates each operator on constants in a build of its own, in which all that is done again for an equal kernel is LLVM's work:
    291 builds with 61 kernels for a network of 21 convolutions with batch norms. `benchmarks/compilers.py` has the bar.
    """

    def __init__(self) -> None:
        self.compile = tvm.get_global_func(_CODE, allow_missing=True)
        self.made: dict[tuple[int, str], list[tuple[tvm.IRModule, Any]]] = {}
        "by structural hash and target"

    def run_before_pass(self, _: tvm.IRModule, info: Any) -> None:
        """Take the place of TVM's function; TVM calls it before each pass."""
        if info.name == "FoldConstant" and self.compile is not None:
            tvm.register_func(_CODE, self.code, override=True)

    def run_after_pass(self, _: tvm.IRModule, info: Any) -> None:
        """Restore TVM's function; TVM calls it after each pass."""
        if info.name == "FoldConstant":
            self.exit_pass_ctx()

    def exit_pass_ctx(self) -> None:
        """Restore TVM's function after a pass that raised; TVM calls it at the end of the context."""
        if self.compile is not None:
            tvm.register_func(_CODE, self.compile, override=True)

    def code(self, module: tvm.IRModule, target: tvm.target.Target) -> Any:
        """Return the code of a module, compiled if there is none of an equal one."""
        alike = self.made.setdefault((tvm.ir.structural_hash(module), str(target)), [])
        for known, code in alike:
            if tvm.ir.structural_equal(known, module):
                return code
        alike.append((module, self.compile(module, target)))
        return alike[-1][1]
