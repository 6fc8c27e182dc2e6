"""Patterns as the Python that makes them in TVM: read without running anything, and written.

What may be said: the names of TVM's pattern language, its methods and operators, plain values, names given to
sub-patterns (`conv = is_op("nn.conv2d")(wildcard(), wildcard())`), and `lambda` for `optional`. Nothing else is looked at,
so a pattern from anywhere can be read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from workbench.analysis.patterns.pattern import Pattern, PatternBuilder, PatternNode
from workbench.errors import UnknownName, WorkbenchError

DEEPEST = 120
"Sub-patterns inside one another: the matcher recurses into patterns, as TVM's does."

_PREFIXES = ("tvm", "relay", "dataflow_pattern", "dfp", "df", "dp")
_OPERATORS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}


class PatternError(WorkbenchError):
    """A pattern that cannot be read, or that TVM rejects."""


def parse(text: str) -> Pattern:
    """Read a pattern typed as Python, such as `is_op("nn.relu")(wildcard())`.

    Raises
    ------
    PatternError
        It is not one expression of the pattern language, with names given to sub-patterns before it.
    UnknownName
        It uses a name that the language does not have.
    """
    try:
        body = ast.parse(text.strip()).body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        raise PatternError(f"{where}this is not Python that can be read: {getattr(error, 'msg', error)}") from None
    if not body:
        raise PatternError('the pattern is empty; write one, such as is_op("nn.conv2d")(wildcard(), wildcard())')
    reader = _Reader()
    try:
        pattern = reader.module(body)
    except RecursionError:
        raise PatternError(f"the pattern nests more than {DEEPEST} deep; match its parts one by one") from None
    if pattern.depth() > DEEPEST:
        raise PatternError(f"the pattern nests more than {DEEPEST} deep; match its parts one by one")
    return pattern


class _Ref:
    """A sub-pattern among the values that the reader trades in."""

    def __init__(self, id: int) -> None:
        self.id = id


class _Reader:
    def __init__(self) -> None:
        self.made = PatternBuilder()
        self.names: dict[str, Any] = {}

    def module(self, body: list[ast.stmt]) -> Pattern:
        *before, last = body
        for statement in before:
            self.statement(statement)
        value: Any = None
        if isinstance(last, ast.Expr):
            value = self.value(last.value)
        elif isinstance(last, ast.Assign):
            value = self.statement(last)
        else:
            self.refuse(last, "the last line must be the pattern")
        return self.made.build(self.pattern(value, last))

    def statement(self, statement: ast.stmt) -> Any:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return None  # the names of the language are there anyway
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                self.names[target.id] = self.value(statement.value)
                return self.names[target.id]
        return self.refuse(statement, "only `name = pattern` may stand before the pattern")

    def refuse(self, node: ast.AST, why: str) -> Any:
        raise PatternError(
            f"line {getattr(node, 'lineno', 1)}: {why}, not `{' '.join(ast.unparse(node).split())[:60]}`"
        )

    def pattern(self, value: Any, node: ast.AST) -> int:
        if not isinstance(value, _Ref):
            self.refuse(node, "a pattern is needed here")
        return value.id

    def patterns(self, value: Any, node: ast.AST) -> list[int] | None:
        if value is None:
            return None
        if not isinstance(value, (list, tuple)):
            self.refuse(node, "a list of patterns is needed here, or None")
        return [self.pattern(each, node) for each in value]

    # -- expressions

    def value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                raise UnknownName("name in the pattern language", node.id, [*LANGUAGE, *self.names])
            return self.names[node.id]
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.value(each) for each in node.elts]
        if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            return {self.value(key): self.value(v) for key, v in zip(node.keys, node.values, strict=True) if key}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.value(node.operand)
            return -inner if isinstance(inner, (int, float)) else self.refuse(node, "only numbers can be negative")
        if isinstance(node, ast.BinOp):
            return self.operator(node)
        if isinstance(node, ast.Lambda) and len(node.args.args) == 1:
            return node
        if isinstance(node, ast.Call):
            return self.call(node)
        return self.refuse(node, "the pattern language has calls, |, +, -, *, / and plain values")

    def operator(self, node: ast.BinOp) -> _Ref:
        left = self.pattern(self.value(node.left), node.left)
        right = self.pattern(self.value(node.right), node.right)
        if isinstance(node.op, ast.BitOr):
            return _Ref(self.made.add("alt", [left, right]))
        name = _OPERATORS.get(type(node.op))
        return (
            _Ref(self.made.call(name, [left, right])) if name else self.refuse(node, "patterns join by |, +, -, *, /")
        )

    def call(self, node: ast.Call) -> Any:
        name = _plain_name(node.func)
        if name is not None and name not in self.names:
            if name not in LANGUAGE:
                raise UnknownName("name in the pattern language", name, LANGUAGE)
            return self.apply(name, None, node)
        if isinstance(node.func, ast.Attribute):
            subject = self.value(node.func.value)
            if node.func.attr not in METHODS:
                raise UnknownName("method of a pattern", node.func.attr, METHODS)
            return self.apply("." + node.func.attr, self.pattern(subject, node.func.value), node)
        return self.called(self.pattern(self.value(node.func), node.func), node)

    def called(self, callee: int, node: ast.Call) -> _Ref:
        if node.keywords:
            self.refuse(node, "a call pattern takes patterns by place")
        values = [self.value(each) for each in node.args]
        if values == [None]:
            return _Ref(self.made.add("call", [callee], any=True))
        arguments = [self.pattern(v, each) for v, each in zip(values, node.args, strict=True)]
        return _Ref(self.made.add("call", [callee, *arguments], any=False))

    def apply(self, name: str, subject: int | None, node: ast.Call) -> Any:
        parameters, defaults = METHODS[name[1:]] if subject is not None else LANGUAGE[name]
        given = dict(zip(parameters, (self.value(each) for each in node.args), strict=False))
        given.update({k.arg: self.value(k.value) for k in node.keywords if k.arg})
        needed = [p for p in parameters[: len(parameters) - defaults] if p not in given]
        if len(node.args) > len(parameters) or set(given) - set(parameters) or needed:
            self.refuse(node, f"{name.lstrip('.')} takes ({', '.join(parameters)})")
        return _MAKERS[name](self, given, subject, node)


def _plain_name(node: ast.expr) -> str | None:
    """The name that is called, without the module it may be written with."""
    if isinstance(node, ast.Name):
        return node.id
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    in_module = isinstance(node, ast.Name) and all(p in _PREFIXES for p in (node.id, *parts[1:]))
    return parts[0] if in_module and parts else None


LANGUAGE: dict[str, tuple[tuple[str, ...], int]] = {
    "wildcard": ((), 0),
    "is_op": (("op_name",), 0),
    "is_constant": ((), 0),
    "is_var": (("name",), 1),
    "is_expr": (("expr",), 0),
    "const": (("value", "dtype"), 1),
    "is_tuple": (("fields",), 0),
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
"Each name of the language with its parameters, and how many of them may be left out."

METHODS: dict[str, tuple[tuple[str, ...], int]] = {
    "optional": (("option_constructor",), 0),
    "has_attr": (("attrs",), 0),
    "has_type": (("ttype",), 0),
    "has_dtype": (("dtype",), 0),
    "has_shape": (("shape",), 0),
    "dominates": (("parent", "path"), 1),
}
"The methods of a pattern, likewise."

_Maker = Callable[[_Reader, Mapping[str, Any], "int | None", ast.Call], Any]


def _simple(kind: str, *parts: str, **fixed: Any) -> _Maker:
    """A pattern of other patterns."""

    def make(reader: _Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> _Ref:
        return _Ref(reader.made.add(kind, [reader.pattern(given[part], node) for part in parts], **fixed))

    return make


def _constrained(kind: str, argument: str) -> _Maker:
    """A pattern that asks something more of another, by default of any value."""

    def make(reader: _Reader, given: Mapping[str, Any], subject: int | None, node: ast.Call) -> _Ref:
        inner = given.get("pattern")
        if subject is None:
            subject = reader.made.add("wildcard") if inner is None else reader.pattern(inner, node)
        return _Ref(reader.made.add(kind, [subject], **_constraint(reader, kind, given[argument], node)))

    return make


def _constraint(reader: _Reader, kind: str, value: Any, node: ast.Call) -> dict[str, Any]:
    if kind == "attr" and isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"attrs": value}
    if kind == "shape" and isinstance(value, list) and all(type(each) is int for each in value):
        return {"shape": value}
    if kind in ("type", "dtype") and isinstance(value, str):
        return {kind: value}
    wanted = {"attr": 'a dict such as {"groups": 1}', "shape": "a list of whole numbers"}
    return reader.refuse(node, f"{wanted.get(kind, 'a name in quotes, or TensorType(...)')} is needed")


def _text(reader: _Reader, given: Mapping[str, Any], name: str, node: ast.Call) -> str:
    value = given.get(name, "")
    return value if isinstance(value, str) else reader.refuse(node, f"{name} is a name in quotes")


def _is_op(reader: _Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> _Ref:
    return _Ref(reader.made.add("op", name=_text(reader, given, "op_name", node)))


def _is_var(reader: _Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> _Ref:
    return _Ref(reader.made.add("var", name=_text(reader, given, "name", node)))


def _const(reader: _Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> tuple[Any, str]:
    if not isinstance(given["value"], (int, float, bool, list)):
        reader.refuse(node, "a constant is a number or a list of numbers")
    return given["value"], given.get("dtype") or ""


def _is_expr(reader: _Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> _Ref:
    if not isinstance(given["expr"], tuple):
        reader.refuse(node, "is_expr takes const(...) where a pattern is typed; from Python it takes any expression")
    value, dtype = given["expr"]
    said = f", {dtype!r}" if dtype else ""
    return _Ref(reader.made.add("expr", text=f"const({value!r}{said})", value=value, dtype=dtype))


def _several(kind: str, many: str, last: str = "") -> _Maker:
    """A pattern of a list of patterns, or None for any; `last` (or `op`, first) stands beside the list."""

    def make(reader: _Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> _Ref:
        children = reader.patterns(given[many], node)
        first = [reader.pattern(given["op"], node)] if kind == "call" else []
        behind = [reader.pattern(given[last], node)] if last else []
        return _Ref(reader.made.add(kind, [*first, *(children or ()), *behind], any=children is None))

    return make


def _get_item(reader: _Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> _Ref:
    index = given.get("index")
    if index is not None and type(index) is not int:
        reader.refuse(node, "the index of a field is a whole number")
    return _Ref(
        reader.made.add("get_item", [reader.pattern(given["tuple_value"], node)], index=-1 if index is None else index)
    )


def _optional(reader: _Reader, given: Mapping[str, Any], subject: int | None, node: ast.Call) -> _Ref:
    option = given["option_constructor"]
    if not isinstance(option, ast.Lambda) or subject is None:
        return reader.refuse(node, 'optional takes a lambda, such as lambda x: is_op("nn.relu")(x)')
    name = option.args.args[0].arg
    hidden = {name: reader.names[name]} if name in reader.names else {}
    reader.names[name] = _Ref(subject)
    made = reader.pattern(reader.value(option.body), option.body)
    del reader.names[name]
    reader.names.update(hidden)
    return _Ref(reader.made.add("alt", [subject, made]))


def _dominated(reader: _Reader, given: Mapping[str, Any], subject: int | None, node: ast.Call) -> _Ref:
    parent = reader.pattern(given["parent"], node)
    path = given.get("path")
    between = reader.made.add("wildcard") if path is None else reader.pattern(path, node)
    assert subject is not None, "a method has a subject"
    return _Ref(reader.made.add("dominates", [parent, between, subject]))


def _tensor_type(reader: _Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> str:
    shape, dtype = given["shape"], given.get("dtype", "float32")
    if not isinstance(shape, list) or not all(type(each) is int for each in shape) or not isinstance(dtype, str):
        return reader.refuse(node, "TensorType takes a list of whole numbers and a data type")
    return type_text(shape, dtype)


def _tuple_type(reader: _Reader, given: Mapping[str, Any], _: int | None, node: ast.Call) -> str:
    fields = given["fields"]
    if not isinstance(fields, list) or not all(isinstance(each, str) for each in fields):
        return reader.refuse(node, "TupleType takes a list of types")
    return f"({', '.join(fields)}{',' if len(fields) == 1 else ''})"


def type_text(shape: list[int], dtype: str) -> str:
    """The type of a tensor, as Relay prints it."""
    if not shape:
        return dtype
    return f"Tensor[({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''}), {dtype}]"


_MAKERS: dict[str, _Maker] = {
    "wildcard": _simple("wildcard"),
    "is_op": _is_op,
    "is_constant": _simple("constant"),
    "is_var": _is_var,
    "is_expr": _is_expr,
    "const": _const,
    "is_tuple": _several("tuple", "fields"),
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
    ".has_attr": _constrained("attr", "attrs"),
    ".has_type": _constrained("type", "ttype"),
    ".has_dtype": _constrained("dtype", "dtype"),
    ".has_shape": _constrained("shape", "shape"),
}


_TENSOR = re.compile(r"Tensor\[\(([\d, ]*)\), (\w+)\]")


def _type_code(text: str) -> str:
    """The Python of a type, where it is a tensor of known shape; otherwise the type's text."""
    found = _TENSOR.fullmatch(text)
    return f"TensorType(({found[1]}), {found[2]!r})" if found else repr(text)


def code(pattern: Pattern) -> str:
    """The Python that makes the pattern; sub-patterns that stand in two places get names of their own."""
    lines: list[str] = []
    said: dict[int, str] = {}
    for node in pattern.nodes:
        text = _said(node, said, pattern)
        if node.id in pattern.shared and node.id != pattern.root:
            lines.append(f"x{node.id} = {text}")
            text = f"x{node.id}"
        said[node.id] = text
    return "\n".join([*lines, said[pattern.root]])


def _said(node: PatternNode, said: Mapping[int, str], pattern: Pattern) -> str:
    inner = [said[child] for child in node.children]
    f = node.fields
    if node.kind == "call":
        callee = pattern.nodes[node.children[0]]
        head = inner[0] if callee.kind != "alt" or inner[0].isidentifier() else f"({inner[0]})"
        return f"{head}({'None' if f['any'] else ', '.join(inner[1:])})"
    if node.kind in ("attr", "type", "shape", "dtype"):
        value = f["attrs"] if node.kind == "attr" else f[node.kind]
        what = _type_code(value) if node.kind == "type" else repr(value)
        head = f"({inner[0]})" if pattern.nodes[node.children[0]].kind == "alt" else inner[0]
        return f"{head}.has_{node.kind}({what})"
    listed = {
        "wildcard": "wildcard()",
        "constant": "is_constant()",
        "op": f"is_op({f.get('name', '')!r})",
        "var": f"is_var({f['name']!r})" if f.get("name") else "is_var()",
        "expr": f"is_expr({f.get('text')})",
        "tuple": f"is_tuple({'None' if f.get('any') else '[' + ', '.join(inner) + ']'})",
        "if": f"is_if({', '.join(inner)})",
        "let": f"is_let({', '.join(inner)})",
        "dominates": f"dominates({', '.join(inner)})",
        "alt": " | ".join(f"({each})" if "|" in each else each for each in inner),
    }
    if node.kind == "get_item":
        return f"is_tuple_get_item({inner[0]}{', ' + str(f['index']) if f['index'] >= 0 else ''})"
    if node.kind == "function":
        params = "None" if f["any"] else f"[{', '.join(inner[:-1])}]"
        return f"FunctionPattern({params}, {inner[-1]})"
    return listed[node.kind]
