"""Patterns read from their Python code in TVM, without running it, and written as such code.

Allowed are the names of TVM's pattern language, its methods and operators, plain values, names given to
sub-patterns (`conv = is_op("nn.conv2d")(wildcard(), wildcard())`), and `lambda` for `optional`. Nothing else is evaluated,
so untrusted text is safe to read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from typing import NoReturn

from workbench.analysis.patterns.language import LANGUAGE, METHODS, Making, Ref
from workbench.analysis.patterns.pattern import DEEPEST, Pattern, PatternError, PatternNode
from workbench.errors import UnknownName
from workbench.graph.received import check_numbers

_PREFIXES = ("tvm", "relay", "dataflow_pattern", "dfp", "df", "dp", "relax", "dpl")
_OPERATORS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}


def parse(text: str) -> Pattern:
    """Read a pattern written as Python, such as `is_op("nn.relu")(wildcard())`.

    Raises PatternError: it is not one expression of the pattern language, preceded by named sub-patterns only. Raises
    UnknownName: it uses a name that is not in the language.
    """
    try:
        tree = ast.parse(text.strip())
        check_numbers(tree)
        body = tree.body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        raise PatternError(
            f"{where}a pattern is Python such as is_op('add')(wildcard(), wildcard()); this cannot be read: {getattr(error, 'msg', error)}"
        ) from None
    if not body:
        raise PatternError('the pattern is empty; write one, such as is_op("nn.conv2d")(wildcard(), wildcard())')
    reader = Reader()
    try:
        pattern = reader.module(body)
    except RecursionError:
        raise PatternError(f"the pattern nests more than {DEEPEST} deep; match its parts one by one") from None
    if pattern.depth() > DEEPEST:
        raise PatternError(f"the pattern nests more than {DEEPEST} deep; match its parts one by one")
    return pattern


class Reader(Making):
    """A reader of one text."""

    def module(self, body: list[ast.stmt]) -> Pattern:
        *before, last = body
        for statement in before:
            self.statement(statement)
        value: object = None
        if isinstance(last, ast.Expr):
            value = self.value(last.value)
        elif isinstance(last, ast.Assign):
            value = self.statement(last)
        else:
            self.refuse(last, "the last line must be the pattern")
        return self.made.build(self.pattern(value, last))

    def statement(self, statement: ast.stmt) -> object:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return None  # the names of the language need no import
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                self.names[target.id] = self.value(statement.value)
                return self.names[target.id]
        return self.refuse(statement, "only `name = pattern` may stand before the pattern")

    def unknown(self, name: str, node: ast.AST) -> NoReturn:
        """Raise for a name without a value: an operator, a function of the language that is not called, or misspelt."""
        if name in LANGUAGE:
            self.refuse(node, f"call it, as {name}({', '.join(LANGUAGE[name].parameters.split())})")
        if not re.fullmatch(r"[\w.]+", name) or name.startswith("_"):
            self.refuse(node, "the pattern language has calls, |, &, ~, >>, ^, +, -, *, / and plain values")
        if get_close_matches(name, [*LANGUAGE, *self.names], cutoff=0.7):
            raise UnknownName("name in the pattern language", name, [*LANGUAGE, *self.names])
        operator = re.sub(r"^(tvm\.)?(relay\.)?(op\.)?", "", name)
        self.refuse(node, f"give an operator by is_op({operator!r})")

    # -- expressions

    def value(self, node: ast.expr) -> object:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = ast.unparse(node)
            return self.names[name] if name in self.names else self.unknown(name, node)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.value(each) for each in node.elts]
        if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
            return {self.value(key): self.value(v) for key, v in zip(node.keys, node.values, strict=True) if key}
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.value(node.operand)
            return -inner if isinstance(inner, (int, float)) else self.refuse(node, "only numbers can be negative")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return Ref(self.made.add("not", [self.pattern(self.value(node.operand), node.operand)]))
        if isinstance(node, ast.BinOp):
            return self.operator(node)
        if isinstance(node, ast.Lambda) and len(node.args.args) == 1:
            return partial(self.inlined, node)
        if isinstance(node, ast.Call):
            return self.call(node)
        return self.refuse(node, "the pattern language has calls, |, &, ~, >>, ^, +, -, *, / and plain values")

    def inlined(self, node: ast.Lambda, argument: Ref) -> Ref:
        """Return the pattern that a lambda gives for its argument."""
        name = node.args.args[0].arg
        hidden = {name: self.names[name]} if name in self.names else {}
        self.names[name] = argument
        made = self.pattern(self.value(node.body), node.body)
        del self.names[name]
        self.names.update(hidden)
        return Ref(made)

    def operator(self, node: ast.BinOp) -> Ref:
        left = self.pattern(self.value(node.left), node.left)
        right = self.pattern(self.value(node.right), node.right)
        if isinstance(node.op, ast.BitOr):
            return Ref(self.made.add("alt", [left, right]))
        if isinstance(node.op, ast.BitAnd):
            return Ref(self.made.add("and", [left, right]))
        if isinstance(node.op, (ast.BitXor, ast.RShift)):
            return Ref(self.uses(left, right, isinstance(node.op, ast.RShift)))
        name = _OPERATORS.get(type(node.op))
        return (
            Ref(self.made.call(name, [left, right]))
            if name
            else self.refuse(node, "patterns join by |, &, >>, ^, +, -, *, /")
        )

    def call(self, node: ast.Call) -> object:
        name = _plain_name(node.func)
        if name is not None and name not in self.names:
            if name not in LANGUAGE:
                self.unknown(ast.unparse(node.func), node)
            return self.apply(name, None, node)
        if isinstance(node.func, ast.Attribute):
            whole = ast.unparse(node.func)
            first = whole.partition(".")[0]
            known = first in LANGUAGE or first in self.names or node.func.attr in METHODS
            if not known and re.fullmatch(r"[A-Za-z][\w.]*", whole):
                self.unknown(whole, node.func)
            subject = self.value(node.func.value)
            if node.func.attr not in METHODS:
                raise UnknownName("method of a pattern", node.func.attr, METHODS)
            return self.apply(node.func.attr, self.pattern(subject, node.func.value), node)
        return self.called(self.pattern(self.value(node.func), node.func), node)

    def called(self, callee: int, node: ast.Call) -> Ref:
        rest = _takes_more(node)
        if rest is None:
            return self.refuse(node, "a call pattern takes patterns by place, and varg_default_wildcard=True")
        values = [self.value(each) for each in node.args]
        if values == [None]:
            return Ref(self.made.add("call", [callee], any=True))
        arguments = [self.pattern(v, each) for v, each in zip(values, node.args, strict=True)]
        more = {"rest": True} if rest and arguments else {}
        return Ref(self.made.add("call", [callee, *arguments], any=bool(rest and not arguments), **more))

    def apply(self, name: str, subject: int | None, node: ast.Call) -> object:
        entry = LANGUAGE[name] if subject is None else METHODS[name]
        parameters = entry.parameters.split()
        given = dict(zip(parameters, (self.value(each) for each in node.args), strict=False))
        given.update({k.arg: self.value(k.value) for k in node.keywords if k.arg})
        needed = [p for p in parameters[: len(parameters) - entry.optional] if p not in given]
        if len(node.args) > len(parameters) or set(given) - set(parameters) or needed:
            self.refuse(node, f"{name} takes ({', '.join(parameters)})")
        return entry.make(self, given, subject, node)


def _takes_more(node: ast.Call) -> bool | None:
    """Return whether a call pattern allows more arguments than it names; None where its keywords are not valid."""
    rest = False
    for keyword in node.keywords:
        if keyword.arg not in ("varg_default_wildcard", "add_constraint") or not isinstance(
            keyword.value, ast.Constant
        ):
            return None
        rest = rest or (keyword.arg == "varg_default_wildcard" and bool(keyword.value.value))
    return rest


def _plain_name(node: ast.expr) -> str | None:
    """Return the called name, without a module in front."""
    if isinstance(node, ast.Name):
        return node.id
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    in_module = isinstance(node, ast.Name) and all(p in _PREFIXES for p in (node.id, *parts[1:]))
    return parts[0] if in_module and parts else None


_TENSOR = re.compile(r"Tensor\[\(([\d, ]*)\), (\w+)\]")


def _type_code(text: str) -> str:
    """Return the Python code of a tensor type of known shape; otherwise the type's text."""
    found = _TENSOR.fullmatch(text)
    return f"TensorType(({found[1]}), {found[2]!r})" if found else repr(text)


def code(pattern: Pattern) -> str:
    """Return the Python code of the pattern; sub-patterns in several places get names."""
    lines: list[str] = []
    said: dict[int, str] = {}
    for node in pattern.nodes:
        text = _pattern_text(node, said, pattern)
        if node.id in pattern.shared and node.id != pattern.root:
            lines.append(f"x{node.id} = {text}")
            text = f"x{node.id}"
        said[node.id] = text
    return "\n".join([*lines, said[pattern.root]])


def _pattern_text(node: PatternNode, said: Mapping[int, str], pattern: Pattern) -> str:
    inner = [said[child] for child in node.children]
    f = node.fields
    if node.kind == "call":
        callee = pattern.nodes[node.children[0]]
        head = inner[0] if callee.kind not in ("alt", "and") or inner[0].isidentifier() else f"({inner[0]})"
        if f.get("rest"):
            return f"{head}({', '.join(inner[1:])}, varg_default_wildcard=True)"
        return f"{head}({'None' if f['any'] else ', '.join(inner[1:])})"
    if node.kind in ("attr", "type", "shape", "dtype"):
        value = f["attrs"] if node.kind == "attr" else f[node.kind]
        what = _type_code(value) if node.kind == "type" else repr(value)
        head = f"({inner[0]})" if pattern.nodes[node.children[0]].kind in ("alt", "and", "not") else inner[0]
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
        "and": " & ".join(f"({each})" for each in inner),
        "not": f"~({''.join(inner)})",
        "any_order": f"is_tuple([{', '.join(inner)}], unordered=True)",
        "global": f"is_gv({f.get('name', '')!r})",
        "extern": f"ExternFuncPattern({f.get('name', '')!r})",
        "dataflow_var": f"is_dfv({f.get('name', '')!r})",
        "shape_value": f"is_shape({f.get('shape')})",
        "alt": " | ".join(f"({each})" if "|" in each else each for each in inner),
    }
    if node.kind == "used_by":
        at = f", {f['index']}" if f["index"] >= 0 else ""
        return f"({inner[0]}).{'only_used_by' if f['only'] else 'used_by'}({inner[1]}{at})"
    if node.kind == "get_item":
        return f"is_tuple_get_item({inner[0]}{', ' + str(f['index']) if f['index'] >= 0 else ''})"
    if node.kind == "function":
        params = "None" if f["any"] else f"[{', '.join(inner[:-1])}]"
        return f"FunctionPattern({params}, {inner[-1]})"
    return listed[node.kind]
