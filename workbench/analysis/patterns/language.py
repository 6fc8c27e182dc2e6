"""The names of TVM's pattern language, each with the function that makes its pattern."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from workbench.analysis.patterns.text import Reader


class Ref:
    """A reference to a sub-pattern, as a value of the reader."""

    def __init__(self, id: int) -> None:
        self.id = id


Given = Mapping[str, object]
"the arguments of a call in a pattern's text, by name"
Maker = Callable[["Reader", Given, "int | None", ast.Call], object]


class Entry(NamedTuple):
    """A name of the language."""

    make: Maker
    "makes the value; of a method, the id of its subject is given"
    parameters: str = ""
    optional: int = 0
    "number of the last parameters that may be left out"


def _simple(kind: str, parameters: str = "") -> Entry:
    """Return the entry of a pattern of other patterns."""

    def make(reader: Reader, given: Given, _: int | None, node: ast.Call) -> Ref:
        return Ref(reader.made.add(kind, [reader.pattern(given[part], node) for part in parameters.split()]))

    return Entry(make, parameters)


def _constrained(kind: str, argument: str) -> Maker:
    """Return the maker of a pattern that adds a condition to another pattern, by default a wildcard."""

    def make(reader: Reader, given: Given, subject: int | None, node: ast.Call) -> Ref:
        inner = given.get("pattern")
        if subject is None:
            subject = reader.made.add("wildcard") if inner is None else reader.pattern(inner, node)
        return Ref(reader.made.add(kind, [subject], **_constraint(reader, kind, given[argument], node)))

    return make


def _constraint(reader: Reader, kind: str, value: object, node: ast.Call) -> dict[str, object]:
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
    return reader.refuse(node, f"{wanted.get(kind, 'a name in quotes, or TensorType(...)')} is needed")


def _text(reader: Reader, given: Given, name: str, node: ast.Call) -> str:
    value = given.get(name, "")
    return value if isinstance(value, str) else reader.refuse(node, f"{name} is a name in quotes")


def _is_op(reader: Reader, given: Given, _: int | None, node: ast.Call) -> Ref:
    return Ref(reader.made.add("op", name=_text(reader, given, "op_name", node)))


def _is_var(reader: Reader, given: Given, _: int | None, node: ast.Call) -> Ref:
    return Ref(reader.made.add("var", name=_text(reader, given, "name", node)))


def _const(reader: Reader, given: Given, _: int | None, node: ast.Call) -> tuple[object, str]:
    if not isinstance(given["value"], (int, float, bool, list)):
        reader.refuse(node, "a constant is a number or a list of numbers")
    return given["value"], "" if given.get("dtype") is None else _text(reader, given, "dtype", node)


def _is_expr(reader: Reader, given: Given, _: int | None, node: ast.Call) -> Ref:
    if not isinstance(given["expr"], tuple):
        reader.refuse(node, "is_expr takes const(...) where a pattern is typed; from Python it takes any expression")
    value, dtype = given["expr"]
    said = f", {dtype!r}" if dtype else ""
    return Ref(reader.made.add("expr", text=f"const({value!r}{said})", value=value, dtype=dtype))


def _several(kind: str, many: str, last: str = "") -> Maker:
    """Return the maker of a pattern of a list of patterns, or None for any; `last` and `op` are separate arguments."""

    def make(reader: Reader, given: Given, _: int | None, node: ast.Call) -> Ref:
        children = reader.patterns(given[many], node)
        first = [reader.pattern(given["op"], node)] if kind == "call" else []
        behind = [reader.pattern(given[last], node)] if last else []
        return Ref(reader.made.add(kind, [*first, *(children or ()), *behind], any=children is None))

    return make


def _fields(reader: Reader, given: Given, _: int | None, node: ast.Call) -> object:
    if given.get("unordered") and given["fields"] is not None:
        return Ref(reader.made.add("any_order", reader.patterns(given["fields"], node) or []))
    return _several("tuple", "fields")(reader, given, None, node)


def _named(kind: str) -> Maker:
    return lambda reader, given, _, node: Ref(reader.made.add(kind, name=_text(reader, given, "name", node)))


def _call_of(operator: str, callee: str) -> Maker:
    """Return the maker of a call whose operator takes a function and a tuple; by default with any arguments."""

    def make(reader: Reader, given: Given, _: int | None, node: ast.Call) -> Ref:
        function = reader.made.add(callee, name=_text(reader, given, "func_name", node))
        many = reader.patterns(given.get("args"), node)
        if not operator:
            return Ref(reader.made.add("call", [function, *(many or ())], any=many is None))
        taken = reader.made.add("wildcard") if many is None else reader.made.add("tuple", many, any=False)
        return Ref(reader.made.call(operator, [function, taken]))

    return make


def _uses(only: bool) -> Maker:
    """Return the maker of a value and its user: of chains, the last value on the left and the first on the right."""

    def make(reader: Reader, given: Given, subject: int | None, node: ast.Call) -> Ref:
        assert subject is not None, "a method has a subject"
        return Ref(uses(reader, subject, reader.pattern(given["other"], node), only, _index(reader, given, node)))

    return make


def uses(reader: Reader, producer: int, consumer: int, only: bool, index: int = -1) -> int:
    """Join two patterns or chains of them; a chain nests to the left, its last consumer outermost."""
    right = reader.made.nodes[consumer]
    if right.kind != "used_by":
        return reader.made.add("used_by", [producer, consumer], only=only, index=index)
    joined = uses(reader, producer, right.children[0], only, index)
    return reader.made.add("used_by", [joined, right.children[1]], **right.fields)


def _shape_value(reader: Reader, given: Given, _: int | None, node: ast.Call) -> Ref:
    return Ref(
        reader.made.add("shape_value", shape=_constraint(reader, "shape_value", given["shape"], node)["shape_value"])
    )


def _index(reader: Reader, given: Given, node: ast.Call) -> int:
    """Return the index of a field or an argument; -1 for any."""
    index = given.get("index")
    if not isinstance(index, (int, NoneType)) or isinstance(index, bool):
        reader.refuse(node, "the index is a whole number")
    return -1 if index is None else index


def _get_item(reader: Reader, given: Given, _: int | None, node: ast.Call) -> Ref:
    return Ref(
        reader.made.add("get_item", [reader.pattern(given["tuple_value"], node)], index=_index(reader, given, node))
    )


def _optional(reader: Reader, given: Given, subject: int | None, node: ast.Call) -> Ref:
    option = given["option_constructor"]
    if not isinstance(option, ast.Lambda) or subject is None:
        return reader.refuse(node, 'optional takes a lambda, such as lambda x: is_op("nn.relu")(x)')
    name = option.args.args[0].arg
    hidden = {name: reader.names[name]} if name in reader.names else {}
    reader.names[name] = Ref(subject)
    made = reader.pattern(reader.value(option.body), option.body)
    del reader.names[name]
    reader.names.update(hidden)
    return Ref(reader.made.add("alt", [subject, made]))


def _dominated(reader: Reader, given: Given, subject: int | None, node: ast.Call) -> Ref:
    parent = reader.pattern(given["parent"], node)
    path = given.get("path")
    between = reader.made.add("wildcard") if path is None else reader.pattern(path, node)
    assert subject is not None, "a method has a subject"
    return Ref(reader.made.add("dominates", [parent, between, subject]))


def _tensor_type(reader: Reader, given: Given, _: int | None, node: ast.Call) -> str:
    shape, dtype = given["shape"], given.get("dtype", "float32")
    if not isinstance(shape, list) or not all(type(each) is int for each in shape) or not isinstance(dtype, str):
        return reader.refuse(node, "TensorType takes a list of whole numbers and a data type")
    if not shape:
        return dtype
    return f"Tensor[({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}), {dtype}]"


def _tuple_type(reader: Reader, given: Given, _: int | None, node: ast.Call) -> str:
    fields = given["fields"]
    if not isinstance(fields, list) or not all(isinstance(each, str) for each in fields):
        return reader.refuse(node, "TupleType takes a list of types")
    return f"({', '.join(fields)}{',' if len(fields) == 1 else ''})"


LANGUAGE: dict[str, Entry] = {
    "wildcard": _simple("wildcard"),
    "is_op": Entry(_is_op, "op_name"),
    "is_constant": _simple("constant"),
    "is_const": _simple("constant"),
    "is_gv": Entry(_named("global"), "name", 1),
    "is_dfv": Entry(_named("dataflow_var"), "name", 1),
    "GlobalVarPattern": Entry(_named("global"), "name", 1),
    "ExternFuncPattern": Entry(_named("extern"), "name", 1),
    "is_shape": Entry(_shape_value, "shape"),
    "reject": _simple("not", "pattern"),
    "NotPattern": _simple("not", "pattern"),
    "AndPattern": _simple("and", "left right"),
    "OrPattern": _simple("alt", "left right"),
    "is_call_tir": Entry(_call_of("relax.call_tir", "global"), "func_name args", 1),
    "is_call_dps_packed": Entry(_call_of("relax.call_dps_packed", "extern"), "func_name args", 1),
    "is_call_packed": Entry(_call_of("", "extern"), "func_name args", 1),
    "is_var": Entry(_is_var, "name", 1),
    "is_expr": Entry(_is_expr, "expr"),
    "const": Entry(_const, "value dtype", 1),
    "is_tuple": Entry(_fields, "fields unordered", 1),
    "is_tuple_get_item": Entry(_get_item, "tuple_value index", 1),
    "is_if": _simple("if", "cond true_branch false_branch"),
    "is_let": _simple("let", "var value body"),
    "dominates": _simple("dominates", "parent path child"),
    "has_attr": Entry(_constrained("attr", "attrs"), "attrs pattern", 1),
    "has_type": Entry(_constrained("type", "ttype"), "ttype pattern", 1),
    "has_dtype": Entry(_constrained("dtype", "dtype"), "dtype pattern", 1),
    "has_shape": Entry(_constrained("shape", "shape"), "shape pattern", 1),
    "TensorType": Entry(_tensor_type, "shape dtype", 1),
    "TupleType": Entry(_tuple_type, "fields"),
    "FunctionPattern": Entry(_several("function", "params", "body"), "params body"),
    "CallPattern": Entry(_several("call", "args"), "op args"),
    "AltPattern": _simple("alt", "left right"),
    "DominatorPattern": _simple("dominates", "parent path child"),
}
"Functions of the language."

METHODS: dict[str, Entry] = {
    "optional": Entry(_optional, "option_constructor"),
    "has_attr": Entry(_constrained("attr", "attrs"), "attrs"),
    "has_type": Entry(_constrained("type", "ttype"), "ttype"),
    "has_dtype": Entry(_constrained("dtype", "dtype"), "dtype"),
    "has_shape": Entry(_constrained("shape", "shape"), "shape"),
    "dominates": Entry(_dominated, "parent path", 1),
    "used_by": Entry(_uses(False), "other index", 1),
    "only_used_by": Entry(_uses(True), "other index", 1),
}
"Methods of a pattern."
