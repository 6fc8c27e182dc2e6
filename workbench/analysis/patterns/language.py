"""The names of TVM's pattern language, each with the function that makes its pattern."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import NoneType
from typing import NamedTuple, NoReturn

from workbench.analysis.patterns.pattern import PatternBuilder, PatternError


class Ref:
    """A reference to a sub-pattern, as a value of the reader."""

    def __init__(self, id: int) -> None:
        self.id = id


Given = Mapping[str, object]
"the arguments of a call in a pattern's text, by name"


class Making:
    """The patterns made of one text so far; the functions below add to them."""

    def __init__(self) -> None:
        self.made = PatternBuilder()
        self.names: dict[str, object] = {}

    def add(self, kind: str, children: list[int] | tuple[int, ...] = (), **fields: object) -> Ref:
        return Ref(self.made.add(kind, children, **fields))

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        raise PatternError(
            f"line {getattr(node, 'lineno', 1)}: {why}, not `{' '.join(ast.unparse(node).split())[:60]}`"
        )

    def pattern(self, value: object, node: ast.AST) -> int:
        if not isinstance(value, Ref):
            self.refuse(node, "a pattern is needed here")
        return value.id

    def patterns(self, value: object, node: ast.AST) -> list[int] | None:
        if value is None:
            return None
        if not isinstance(value, (list, tuple)):
            self.refuse(node, "a list of patterns is needed here, or None")
        return [self.pattern(each, node) for each in value]

    def text(self, given: Given, name: str, node: ast.Call) -> str:
        value = given.get(name, "")
        return value if isinstance(value, str) else self.refuse(node, f"{name} is a name in quotes")

    def index(self, given: Given, node: ast.Call) -> int:
        """Return the index of a field or an argument; -1 for any."""
        index = given.get("index")
        if not isinstance(index, (int, NoneType)) or isinstance(index, bool):
            self.refuse(node, "the index is a whole number")
        return -1 if index is None else index

    def uses(self, producer: int, consumer: int, only: bool, index: int = -1) -> int:
        """Join two patterns or chains of them; a chain nests to the left, its last consumer outermost."""
        right = self.made.nodes[consumer]
        if right.kind != "used_by":
            return self.made.add("used_by", [producer, consumer], only=only, index=index)
        joined = self.uses(producer, right.children[0], only, index)
        return self.made.add("used_by", [joined, right.children[1]], **right.fields)


Maker = Callable[[Making, Given, "int | None", ast.Call], object]


class Entry(NamedTuple):
    """A name of the language."""

    make: Maker
    "makes the value; of a method, the id of its subject is given"
    parameters: str = ""
    optional: int = 0
    "number of the last parameters that may be left out"


def _simple(kind: str, parameters: str = "") -> Entry:
    """Return the entry of a pattern of other patterns."""

    def make(making: Making, given: Given, _: int | None, node: ast.Call) -> Ref:
        return making.add(kind, [making.pattern(given[part], node) for part in parameters.split()])

    return Entry(make, parameters)


def _constrained(kind: str, argument: str) -> Maker:
    """Return the maker of a pattern that adds a condition to another pattern, by default a wildcard."""

    def make(making: Making, given: Given, subject: int | None, node: ast.Call) -> Ref:
        inner = given.get("pattern")
        if subject is None:
            subject = making.made.add("wildcard") if inner is None else making.pattern(inner, node)
        return making.add(kind, [subject], **_constraint(making, kind, given[argument], node))

    return make


def _constraint(making: Making, kind: str, value: object, node: ast.Call) -> dict[str, object]:
    if kind == "attr" and isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"attrs": value}
    if kind in ("shape", "shape_value") and isinstance(value, list) and all(type(each) is int for each in value):
        return {kind: value}
    if kind in ("type", "dtype") and isinstance(value, str):
        return {kind: value}
    wanted = {
        "attr": 'a dict such as {"groups": 1}',
        "shape": "a list of whole numbers",
        "shape_value": "a list of whole numbers",
    }
    return making.refuse(node, f"{wanted.get(kind, 'a name in quotes, or TensorType(...)')} is needed")


def _const(making: Making, given: Given, _: int | None, node: ast.Call) -> tuple[object, str]:
    if not isinstance(given["value"], (int, float, bool, list)):
        making.refuse(node, "a constant is a number or a list of numbers")
    return given["value"], "" if given.get("dtype") is None else making.text(given, "dtype", node)


def _is_expr(making: Making, given: Given, _: int | None, node: ast.Call) -> Ref:
    if not isinstance(given["expr"], tuple):
        making.refuse(node, "is_expr takes const(...) where a pattern is typed; from Python it takes any expression")
    value, dtype = given["expr"]
    said = f", {dtype!r}" if dtype else ""
    return making.add("expr", text=f"const({value!r}{said})", value=value, dtype=dtype)


def _several(kind: str, many: str, last: str = "") -> Maker:
    """Return the maker of a pattern of a list of patterns, or None for any; `last` and `op` are separate arguments."""

    def make(making: Making, given: Given, _: int | None, node: ast.Call) -> Ref:
        children = making.patterns(given[many], node)
        first = [making.pattern(given["op"], node)] if kind == "call" else []
        behind = [making.pattern(given[last], node)] if last else []
        return making.add(kind, [*first, *(children or ()), *behind], any=children is None)

    return make


def _fields(making: Making, given: Given, _: int | None, node: ast.Call) -> object:
    if given.get("unordered") and given["fields"] is not None:
        return making.add("any_order", making.patterns(given["fields"], node) or [])
    return _several("tuple", "fields")(making, given, None, node)


def _named(kind: str, parameter: str = "name", optional: int = 1) -> Entry:
    """Return the entry of a pattern that has a name and no parts."""
    return Entry(
        lambda making, given, _, node: making.add(kind, name=making.text(given, parameter, node)), parameter, optional
    )


def _call_of(operator: str, callee: str) -> Maker:
    """Return the maker of a call whose operator takes a function and a tuple; by default with any arguments."""

    def make(making: Making, given: Given, _: int | None, node: ast.Call) -> Ref:
        function = making.made.add(callee, name=making.text(given, "func_name", node))
        many = making.patterns(given.get("args"), node)
        if not operator:
            return making.add("call", [function, *(many or ())], any=many is None)
        taken = making.made.add("wildcard") if many is None else making.made.add("tuple", many, any=False)
        return Ref(making.made.call(operator, [function, taken]))

    return make


def _uses(only: bool) -> Maker:
    """Return the maker of a value and its user: of chains, the last value on the left and the first on the right."""

    def make(making: Making, given: Given, subject: int | None, node: ast.Call) -> Ref:
        assert subject is not None, "a method has a subject"
        return Ref(making.uses(subject, making.pattern(given["other"], node), only, making.index(given, node)))

    return make


def _shape_value(making: Making, given: Given, _: int | None, node: ast.Call) -> Ref:
    return making.add("shape_value", shape=_constraint(making, "shape_value", given["shape"], node)["shape_value"])


def _get_item(making: Making, given: Given, _: int | None, node: ast.Call) -> Ref:
    return making.add("get_item", [making.pattern(given["tuple_value"], node)], index=making.index(given, node))


def _optional(making: Making, given: Given, subject: int | None, node: ast.Call) -> Ref:
    option = given["option_constructor"]
    if not callable(option) or subject is None:
        return making.refuse(node, 'optional takes a lambda, such as lambda x: is_op("nn.relu")(x)')
    return making.add("alt", [subject, making.pattern(option(Ref(subject)), node)])


def _dominated(making: Making, given: Given, subject: int | None, node: ast.Call) -> Ref:
    parent = making.pattern(given["parent"], node)
    path = given.get("path")
    between = making.made.add("wildcard") if path is None else making.pattern(path, node)
    assert subject is not None, "a method has a subject"
    return making.add("dominates", [parent, between, subject])


def _tensor_type(making: Making, given: Given, _: int | None, node: ast.Call) -> str:
    shape, dtype = given["shape"], given.get("dtype", "float32")
    if not isinstance(shape, list) or not all(type(each) is int for each in shape) or not isinstance(dtype, str):
        return making.refuse(node, "TensorType takes a list of whole numbers and a data type")
    if not shape:
        return dtype
    return f"Tensor[({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}), {dtype}]"


def _tuple_type(making: Making, given: Given, _: int | None, node: ast.Call) -> str:
    fields = given["fields"]
    if not isinstance(fields, list) or not all(isinstance(each, str) for each in fields):
        return making.refuse(node, "TupleType takes a list of types")
    return f"({', '.join(fields)}{',' if len(fields) == 1 else ''})"


_CONDITIONS = {"attr": "attrs", "type": "ttype", "dtype": "dtype", "shape": "shape"}
"kind of condition -> its argument"

LANGUAGE: dict[str, Entry] = {
    "wildcard": _simple("wildcard"),
    "is_op": _named("op", "op_name", 0),
    **dict.fromkeys(("is_constant", "is_const"), _simple("constant")),
    **dict.fromkeys(("is_gv", "GlobalVarPattern"), _named("global")),
    "is_dfv": _named("dataflow_var"),
    "ExternFuncPattern": _named("extern"),
    "is_shape": Entry(_shape_value, "shape"),
    **dict.fromkeys(("reject", "NotPattern"), _simple("not", "pattern")),
    "AndPattern": _simple("and", "left right"),
    **dict.fromkeys(("OrPattern", "AltPattern"), _simple("alt", "left right")),
    "is_call_tir": Entry(_call_of("relax.call_tir", "global"), "func_name args", 1),
    "is_call_dps_packed": Entry(_call_of("relax.call_dps_packed", "extern"), "func_name args", 1),
    "is_call_packed": Entry(_call_of("", "extern"), "func_name args", 1),
    "is_var": _named("var"),
    "is_expr": Entry(_is_expr, "expr"),
    "const": Entry(_const, "value dtype", 1),
    "is_tuple": Entry(_fields, "fields unordered", 1),
    "is_tuple_get_item": Entry(_get_item, "tuple_value index", 1),
    "is_if": _simple("if", "cond true_branch false_branch"),
    "is_let": _simple("let", "var value body"),
    **dict.fromkeys(("dominates", "DominatorPattern"), _simple("dominates", "parent path child")),
    **{f"has_{kind}": Entry(_constrained(kind, name), f"{name} pattern", 1) for kind, name in _CONDITIONS.items()},
    "TensorType": Entry(_tensor_type, "shape dtype", 1),
    "TupleType": Entry(_tuple_type, "fields"),
    "FunctionPattern": Entry(_several("function", "params", "body"), "params body"),
    "CallPattern": Entry(_several("call", "args"), "op args"),
}
"Functions of the language."

METHODS: dict[str, Entry] = {
    "optional": Entry(_optional, "option_constructor"),
    **{f"has_{kind}": Entry(_constrained(kind, name), name) for kind, name in _CONDITIONS.items()},
    "dominates": Entry(_dominated, "parent path", 1),
    "used_by": Entry(_uses(False), "other index", 1),
    "only_used_by": Entry(_uses(True), "other index", 1),
}
"Methods of a pattern."
