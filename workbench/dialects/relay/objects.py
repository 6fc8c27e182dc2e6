"""A module of TVM's objects out of what was read of a text: the inverse of printing, without TVM's parser.

TVM's parser takes what its own version prints and nothing else; here a variable may have any name, a constant no value,
an attribute no meaning in this version, and what had to be assumed for each becomes a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

import tvm
from tvm import relay

from workbench.dialects.relay.ast import Expr, Module
from workbench.dialects.relay.object_types import SEED, random_values, relay_type, type_of
from workbench.dialects.relay.paste.assumed import assumed_types
from workbench.dialects.relay.paste.free import tensor
from workbench.dialects.relay.text.attributes import literal
from workbench.dialects.relay.text.tokens import Token
from workbench.errors import LoadError, last_line

_UNKNOWN_FIELD = re.compile(
    r"does not have field '(\w+)'|has no field named '?(\w+)|Cannot find (?:field|attribute) '?(\w+)"
)
_SUFFIX = re.compile(r"(?:bf16|[fiu]\d*)$")
MOST_SEEDED = 1 << 28
"elements of random constants: a gigabyte of float32"
_DTYPES = {"f": "float32", "bf16": "bfloat16", "": "int32"}


def module_of(
    parsed: Module, constants: Mapping[str, tvm.nd.NDArray], params: Mapping[str, Any]
) -> tuple[tvm.IRModule, list[str]]:
    """The IRModule of a text, not yet typed, and what was assumed for it.

    Parameters
    ----------
    constants
        The values that the text has, by the name they have there, `meta[relay.Constant][0]`.
    params
        Parameter name -> array, which also tells a parameter's type.

    Raises
    ------
    LoadError
        TVM has no such operator, or something has no type.
    """
    maker = _Maker(parsed, constants, params)
    module = tvm.IRModule()
    for name in _callees_first(parsed):
        module[maker.globals[name]] = maker.made[parsed.functions[name]]
        if len(parsed.functions) > 1 and not parsed.functions[name].result:
            # TVM infers a call of a global function from the type that the function states
            module = relay.transform.InferType()(module)
    return module, maker.notes()


class _Maker:
    def __init__(self, parsed: Module, constants: Mapping[str, tvm.nd.NDArray], params: Mapping[str, Any]) -> None:
        self.constants = constants
        self.params = params
        self.globals = {name: relay.GlobalVar(name) for name in parsed.functions}
        self.made: dict[Expr, Any] = {}
        self.seeded: list[str] = []
        self.room = MOST_SEEDED
        self.left_out: dict[str, None] = {}
        self.types = self.parameter_types(parsed)
        for expr in _operands_first(parsed.functions.values()):
            self.made[expr] = getattr(self, f"make_{expr.kind}", self.unknown)(expr)

    def notes(self) -> list[str]:
        """What was assumed."""
        said = [f"%{variable.text} is taken for a {type}: {why}" for variable, (type, why) in self.assumed.items()]
        if self.seeded:
            said.append(
                f"the text has no values for {', '.join(sorted(set(self.seeded), key=lambda name: (len(name), name)))}; random ones of the stated types were made (seed {SEED})"
            )
        return said + list(self.left_out)

    def parameter_types(self, parsed: Module) -> dict[Expr, str]:
        """Types that the text does not state: from the arrays given, or else assumed."""
        lacking = [p for function in parsed.functions.values() for p in function.params if not p.type]
        given = {p: type_of(self.params[p.text]) for p in lacking if p.text in self.params}
        unknown = [p for p in lacking if p not in given]
        self.assumed = assumed_types(unknown, parsed.functions.values()) if unknown else {}
        return {**given, **{variable: type for variable, (type, _) in self.assumed.items()}}

    def unknown(self, expr: Expr) -> Any:
        raise LoadError(f"line {expr.line}: a {expr.kind} is read only from text as this TVM prints it")

    def make_var(self, expr: Expr) -> relay.Var:
        said = expr.type or self.types.get(expr, "")
        return relay.Var(expr.text, relay_type(said) if said else None)

    def make_constant(self, expr: Expr) -> relay.Constant:
        if expr.text in self.constants:
            return relay.Constant(self.constants[expr.text])
        if expr.text.startswith("meta["):
            return self.seeded_constant(expr)
        plain, suffix = expr.text, ""
        if expr.text not in ("True", "False"):
            found = _SUFFIX.search(expr.text) if not re.search(r"(?:inf|nan)$", expr.text) else None
            suffix = found.group() if found else ""
            dtype = _DTYPES.get(suffix) or {"f": "float", "i": "int", "u": "uint"}[suffix[0]] + suffix[1:]
            plain = literal(Token("number", expr.text, 0))
        else:
            dtype, plain = "bool", expr.text == "True"
        stated = tensor(expr.type)
        dtype = stated.dtype if stated else dtype
        try:
            return relay.const(plain, dtype)
        except (OverflowError, ValueError, TypeError, tvm.TVMError):
            raise LoadError(f"line {expr.line}: {expr.text[:40]} is not a number of the type {dtype}") from None

    def seeded_constant(self, expr: Expr) -> relay.Constant:
        stated = tensor(expr.type)
        if stated is None or not all(dim.isdigit() for dim in stated.shape):
            raise LoadError(f"line {expr.line}: {expr.text} has neither a value nor a type, `/* ty=Tensor[...] */`")
        self.seeded.append(expr.text)
        shape = tuple(int(dim[:20]) for dim in stated.shape)
        self.room -= prod(shape)
        if self.room < 0:
            raise LoadError(
                f"line {expr.line}: constants without values would have more than {MOST_SEEDED:,} elements here; "
                "give the text with its #[metadata]"
            )
        try:
            return relay.const(
                random_values(int(expr.text[:-1].rpartition("[")[2][:18]), shape, stated.dtype), stated.dtype
            )
        except (TypeError, ValueError, KeyError, tvm.TVMError):
            raise LoadError(
                f"line {expr.line}: there are no random values of the type {stated.dtype} of {expr.text}"
            ) from None

    def make_op(self, expr: Expr) -> tvm.ir.Op:
        try:
            return tvm.ir.Op.get(expr.text)
        except tvm.TVMError:
            raise LoadError(f"line {expr.line}: TVM {tvm.__version__} has no operator {expr.text}") from None

    def make_global(self, expr: Expr) -> relay.GlobalVar:
        if expr.text not in self.globals:
            raise LoadError(f"line {expr.line}: @{expr.text} is called, and the text does not have it")
        return self.globals[expr.text]

    def make_call(self, expr: Expr) -> relay.Call:
        callee, *arguments = (self.made[part] for part in expr.args)
        attrs = self.attrs(callee, expr) if isinstance(callee, tvm.ir.Op) else None
        return relay.Call(callee, arguments, attrs)

    def make_tuple(self, expr: Expr) -> relay.Tuple:
        return relay.Tuple([self.made[part] for part in expr.args])

    def make_get_item(self, expr: Expr) -> relay.TupleGetItem:
        return relay.TupleGetItem(self.made[expr.args[0]], int(expr.text))

    def make_function(self, expr: Expr) -> relay.Function:
        result = relay_type(expr.result) if expr.result else None
        made = relay.Function([self.made[param] for param in expr.params], self.made[expr.args[0]], result)
        attrs = {name: value for name, value in expr.attrs.items() if self.has_meaning(name, value, "function")}
        return made.with_attr(attrs) if attrs else made

    def make_let(self, expr: Expr) -> relay.Let:
        return relay.Let(*(self.made[part] for part in expr.args))

    def make_if(self, expr: Expr) -> relay.If:
        return relay.If(*(self.made[part] for part in expr.args))

    def make_ref(self, expr: Expr) -> relay.Expr:
        kinds = {"ref": relay.RefCreate, "ref_read": relay.RefRead, "ref_write": relay.RefWrite}
        return kinds[expr.text](*(self.made[part] for part in expr.args))

    # -- attributes

    def attrs(self, op: tvm.ir.Op, expr: Expr) -> Any:
        key = op.attrs_type_key
        said = {name: _object(value) for name, value in expr.attrs.items() if self.has_meaning(name, value, op.name)}
        if not key:
            return None
        while True:
            try:
                return tvm.ir.make_node(key, **said)
            except (tvm.TVMError, AttributeError, TypeError) as error:
                found = _UNKNOWN_FIELD.search(str(error))
                name = next(filter(None, found.groups()), "") if found else ""
                if name not in said:
                    missing = len(said) < len(expr.attrs)
                    why = "its attributes are not in the text" if missing else last_line(error)
                    raise LoadError(f"line {expr.line}: {op.name} cannot be made: {why}") from None
                self.leave_out(f"{op.name} has no attribute {name} in TVM {tvm.__version__}; it was left out")
                del said[name]

    def has_meaning(self, name: str, value: Any, where: str) -> bool:
        """Whether the text says an attribute's value: an object kept beside it, or of TVM's own, is only named."""
        if not any(isinstance(v, str) and re.match(r"meta\[|\w+\(.*\)$|\{", v, re.DOTALL) for v in _leaves(value)):
            return True
        self.leave_out(f"the value of {name} of {where} is not in the text; it was left out")
        return False

    def leave_out(self, note: str) -> None:
        self.left_out[note] = None


def _leaves(value: Any) -> Iterable[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        else:
            yield one


def _operands_first(starts: Iterable[Expr]) -> list[Expr]:
    """Every expression after all that it uses; a function after its parameters."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack = [(start, False) for start in starts]
    while stack:
        expr, finished = stack.pop()
        if finished:
            order.append(expr)
        elif expr not in seen:
            seen.add(expr)
            stack.append((expr, True))
            stack += [(part, False) for part in (*expr.args, *expr.params)]
    return order


def _callees_first(parsed: Module) -> list[str]:
    """The global functions, each after those that it calls, as far as they do not call each other in a circle."""
    order: list[str] = []
    seen: set[str] = set()
    stack = [(name, False) for name in reversed(parsed.functions)]
    while stack:
        name, finished = stack.pop()
        if finished:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            stack.append((name, True))
            inside = _operands_first([parsed.functions[name]])
            stack += [(e.text, False) for e in inside if e.kind == "global" and e.text in parsed.functions]
    return order


def _object(value: Any) -> Any:
    """An attribute's value as TVM's parser makes it: some attributes take objects only."""
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    return tvm.tir.IntImm("int32" if abs(value) < 2**31 else "int64", value)
