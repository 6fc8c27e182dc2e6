"""The names of TVM's pattern language, each with the function that makes its pattern."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.analysis.patterns.read import Reader


class Ref:
    """A reference to a sub-pattern, as a value of the reader."""

    def __init__(self, id: int) -> None:
        self.id = id


LANGUAGE: dict[str, tuple[tuple[str, ...], int]] = {
    "wildcard": ((), 0),
    "is_op": (("op_name",), 0),
    "is_constant": ((), 0),
    "is_const": ((), 0),
    "is_gv": (("name",), 1),
    "is_dfv": (("name",), 1),
    "GlobalVarPattern": (("name",), 1),
    "ExternFuncPattern": (("name",), 1),
    "is_shape": (("shape",), 0),
    "reject": (("pattern",), 0),
    "NotPattern": (("pattern",), 0),
    "AndPattern": (("left", "right"), 0),
    "OrPattern": (("left", "right"), 0),
    "is_call_tir": (("func_name", "args"), 1),
    "is_call_dps_packed": (("func_name", "args"), 1),
    "is_call_packed": (("func_name", "args"), 1),
    "is_var": (("name",), 1),
    "is_expr": (("expr",), 0),
    "const": (("value", "dtype"), 1),
    "is_tuple": (("fields", "unordered"), 1),
    "is_tuple_get_item": (("tuple_value", "index"), 1),
    "is_if": (("cond", "true_branch", "false_branch"), 0),
    "is_let": (("var", "value", "body"), 0),
    "dominates": (("parent", "path", "child"), 0),
    "has_attr": (("attrs", "pattern"), 1),
    "has_type": (("ttype", "pattern"), 1),
    "has_dtype": (("dtype", "pattern"), 1),
    "has_shape": (("shape", "pattern"), 1),
    "TensorType": (("shape", "dtype"), 1),
    "TupleType": (("fields",), 0),
    "FunctionPattern": (("params", "body"), 0),
    "CallPattern": (("op", "args"), 0),
    "AltPattern": (("left", "right"), 0),
    "DominatorPattern": (("parent", "path", "child"), 0),
}
"Name of the language -> its parameters, and the number of optional ones."

METHODS: dict[str, tuple[tuple[str, ...], int]] = {
    "optional": (("option_constructor",), 0),
    "has_attr": (("attrs",), 0),
    "has_type": (("ttype",), 0),
    "has_dtype": (("dtype",), 0),
    "has_shape": (("shape",), 0),
    "dominates": (("parent", "path"), 1),
    "used_by": (("other", "index"), 1),
    "only_used_by": (("other", "index"), 1),
}
"Method of a pattern -> its parameters, and the number of optional ones."

_Maker = Callable[["Reader", Mapping[str, Any], "int | None", ast.Call], Any]


def _simple(kind: str, *parts: str, **fixed: object) -> _Maker:
    """Return the maker of a pattern of other patterns."""

    def make(reader: Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> Ref:
        return Ref(reader.made.add(kind, [reader.pattern(given[part], node) for part in parts], **fixed))

    return make


def _constrained(kind: str, argument: str) -> _Maker:
    """Return the maker of a pattern that adds a condition to another pattern, by default a wildcard."""

    def make(reader: Reader, given: Mapping[str, Any], subject: int | None, node: ast.Call) -> Ref:
        inner = given.get("pattern")
        if subject is None:
            subject = reader.made.add("wildcard") if inner is None else reader.pattern(inner, node)
        return Ref(reader.made.add(kind, [subject], **_constraint(reader, kind, given[argument], node)))

    return make


def _constraint(reader: Reader, kind: str, value: Any, node: ast.Call) -> dict[str, Any]:
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


def _text(reader: Reader, given: Mapping[str, Any], name: str, node: ast.Call) -> str:
    value = given.get(name, "")
    return value if isinstance(value, str) else reader.refuse(node, f"{name} is a name in quotes")


def _is_op(reader: Reader, given: Mapping[str, object], _: int | None, node: ast.Call) -> Ref:
    return Ref(reader.made.add("op", name=_text(reader, given, "op_name", node)))


def _is_var(reader: Reader, given: Mapping[str, object], _: int | None, node: ast.Call) -> Ref:
    return Ref(reader.made.add("var", name=_text(reader, given, "name", node)))


def _const(reader: Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> tuple[Any, str]:
    if not isinstance(given["value"], (int, float, bool, list)):
        reader.refuse(node, "a constant is a number or a list of numbers")
    return given["value"], given.get("dtype") or ""


def _is_expr(reader: Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> Ref:
    if not isinstance(given["expr"], tuple):
        reader.refuse(node, "is_expr takes const(...) where a pattern is typed; from Python it takes any expression")
    value, dtype = given["expr"]
    said = f", {dtype!r}" if dtype else ""
    return Ref(reader.made.add("expr", text=f"const({value!r}{said})", value=value, dtype=dtype))


def _several(kind: str, many: str, last: str = "") -> _Maker:
    """Return the maker of a pattern of a list of patterns, or None for any; `last` and `op` are separate arguments."""

    def make(reader: Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> Ref:
        children = reader.patterns(given[many], node)
        first = [reader.pattern(given["op"], node)] if kind == "call" else []
        behind = [reader.pattern(given[last], node)] if last else []
        return Ref(reader.made.add(kind, [*first, *(children or ()), *behind], any=children is None))

    return make


def _fields(reader: Reader, given: Mapping[str, object], _: int | None, node: ast.Call) -> Ref:
    if given.get("unordered") and given["fields"] is not None:
        return Ref(reader.made.add("any_order", reader.patterns(given["fields"], node) or []))
    return _several("tuple", "fields")(reader, given, None, node)


def _named(kind: str) -> _Maker:
    return lambda reader, given, _, node: Ref(reader.made.add(kind, name=_text(reader, given, "name", node)))


def _call_of(operator: str, callee: str) -> _Maker:
    """Return the maker of a call whose operator takes a function and a tuple; by default with any arguments."""

    def make(reader: Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> Ref:
        function = reader.made.add(callee, name=_text(reader, given, "func_name", node))
        many = reader.patterns(given.get("args"), node)
        if not operator:
            return Ref(reader.made.add("call", [function, *(many or ())], any=many is None))
        taken = reader.made.add("wildcard") if many is None else reader.made.add("tuple", many, any=False)
        return Ref(reader.made.call(operator, [function, taken]))

    return make


def _uses(only: bool) -> _Maker:
    """Return the maker of a value and its user: of chains, the last value on the left and the first on the right."""

    def make(reader: Reader, given: Mapping[str, Any], subject: int | None, node: ast.Call) -> Ref:
        assert subject is not None, "a method has a subject"
        return Ref(uses(reader, subject, reader.pattern(given["other"], node), only, given.get("index", -1)))

    return make


def uses(reader: Reader, producer: int, consumer: int, only: bool, index: int = -1) -> int:
    """Join two patterns or chains of them; a chain nests to the left, its last consumer outermost."""
    right = reader.made.nodes[consumer]
    if right.kind != "used_by":
        return reader.made.add("used_by", [producer, consumer], only=only, index=index)
    joined = uses(reader, producer, right.children[0], only, index)
    return reader.made.add("used_by", [joined, right.children[1]], **right.fields)


def _shape_value(reader: Reader, given: Mapping[str, object], _: int | None, node: ast.Call) -> Ref:
    return Ref(
        reader.made.add("shape_value", shape=_constraint(reader, "shape_value", given["shape"], node)["shape_value"])
    )


def _get_item(reader: Reader, given: Mapping[str, object], _: int | None, node: ast.Call) -> Ref:
    index = given.get("index")
    if index is not None and type(index) is not int:
        reader.refuse(node, "the index of a field is a whole number")
    return Ref(
        reader.made.add("get_item", [reader.pattern(given["tuple_value"], node)], index=-1 if index is None else index)
    )


def _optional(reader: Reader, given: Mapping[str, Any], subject: int | None, node: ast.Call) -> Ref:
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


def _dominated(reader: Reader, given: Mapping[str, object], subject: int | None, node: ast.Call) -> Ref:
    parent = reader.pattern(given["parent"], node)
    path = given.get("path")
    between = reader.made.add("wildcard") if path is None else reader.pattern(path, node)
    assert subject is not None, "a method has a subject"
    return Ref(reader.made.add("dominates", [parent, between, subject]))


def _tensor_type(reader: Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> str:
    shape, dtype = given["shape"], given.get("dtype", "float32")
    if not isinstance(shape, list) or not all(type(each) is int for each in shape) or not isinstance(dtype, str):
        return reader.refuse(node, "TensorType takes a list of whole numbers and a data type")
    return type_text(shape, dtype)


def _tuple_type(reader: Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> str:
    fields = given["fields"]
    if not isinstance(fields, list) or not all(isinstance(each, str) for each in fields):
        return reader.refuse(node, "TupleType takes a list of types")
    return f"({', '.join(fields)}{',' if len(fields) == 1 else ''})"


def type_text(shape: list[int], dtype: str) -> str:
    """Return the type of a tensor, as Relay prints it."""
    if not shape:
        return dtype
    return f"Tensor[({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}), {dtype}]"


MAKERS: dict[str, _Maker] = {
    "wildcard": _simple("wildcard"),
    "is_op": _is_op,
    "is_constant": _simple("constant"),
    "is_var": _is_var,
    "is_expr": _is_expr,
    "const": _const,
    "is_tuple": _fields,
    "is_const": _simple("constant"),
    "is_gv": _named("global"),
    "is_dfv": _named("dataflow_var"),
    "GlobalVarPattern": _named("global"),
    "ExternFuncPattern": _named("extern"),
    "is_shape": _shape_value,
    "reject": _simple("not", "pattern"),
    "NotPattern": _simple("not", "pattern"),
    "AndPattern": _simple("and", "left", "right"),
    "OrPattern": _simple("alt", "left", "right"),
    "is_call_tir": _call_of("relax.call_tir", "global"),
    "is_call_dps_packed": _call_of("relax.call_dps_packed", "extern"),
    "is_call_packed": _call_of("", "extern"),
    "is_tuple_get_item": _get_item,
    "is_if": _simple("if", "cond", "true_branch", "false_branch"),
    "is_let": _simple("let", "var", "value", "body"),
    "dominates": _simple("dominates", "parent", "path", "child"),
    "DominatorPattern": _simple("dominates", "parent", "path", "child"),
    "AltPattern": _simple("alt", "left", "right"),
    "FunctionPattern": _several("function", "params", "body"),
    "CallPattern": _several("call", "args"),
    "has_attr": _constrained("attr", "attrs"),
    "has_type": _constrained("type", "ttype"),
    "has_dtype": _constrained("dtype", "dtype"),
    "has_shape": _constrained("shape", "shape"),
    "TensorType": _tensor_type,
    "TupleType": _tuple_type,
    ".optional": _optional,
    ".dominates": _dominated,
    ".used_by": _uses(False),
    ".only_used_by": _uses(True),
    ".has_attr": _constrained("attr", "attrs"),
    ".has_type": _constrained("type", "ttype"),
    ".has_dtype": _constrained("dtype", "dtype"),
    ".has_shape": _constrained("shape", "shape"),
}
