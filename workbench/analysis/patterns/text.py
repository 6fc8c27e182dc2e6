"""Patterns read from their Python code in TVM, without running it.

Allowed are the names of TVM's pattern language, its methods and operators, plain values, names given to
sub-patterns (`conv = is_op("nn.conv2d")(wildcard(), wildcard())`), and `lambda` for `optional`. Nothing else is evaluated,
so untrusted text is safe to read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from inspect import Parameter, signature
from typing import NoReturn

from workbench.analysis.patterns.pattern import DEEPEST, Pattern, PatternBuilder, PatternError
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


@dataclass(frozen=True)
class Ref:
    """A sub-pattern, as a value of the reader."""

    id: int


class Reader:
    """A reader of one text, and the patterns made of it so far; the functions of the language add to them."""

    def __init__(self) -> None:
        self.made = PatternBuilder()
        self.names: dict[str, object] = {}
        self.at: ast.AST = ast.Module([], [])
        "the call whose function runs"

    def refuse(self, why: str, node: ast.AST | None = None) -> NoReturn:
        node = node or self.at
        raise PatternError(
            f"line {getattr(node, 'lineno', 1)}: {why}, not `{' '.join(ast.unparse(node).split())[:60]}`"
        )

    def pattern(self, value: object, node: ast.AST | None = None) -> Ref:
        return value if isinstance(value, Ref) else self.refuse("a pattern is needed here", node)

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
            self.refuse("the last line must be the pattern", last)
        return self.made.build(self.pattern(value, last).id)

    def statement(self, statement: ast.stmt) -> object:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return None  # the names of the language need no import
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                self.names[target.id] = self.value(statement.value)
                return self.names[target.id]
        return self.refuse("only `name = pattern` may stand before the pattern", statement)

    def unknown(self, name: str, node: ast.AST) -> NoReturn:
        """Raise for a name without a value: an operator, a function of the language that is not called, or misspelt."""
        if name in LANGUAGE:
            self.refuse(f"call it, as {name}({', '.join(_parameters(LANGUAGE[name]))})", node)
        if not re.fullmatch(r"[\w.]+", name) or name.startswith("_"):
            self.refuse("the pattern language has calls, |, &, ~, >>, ^, +, -, *, / and plain values", node)
        if get_close_matches(name, [*LANGUAGE, *self.names], cutoff=0.7):
            raise UnknownName("name in the pattern language", name, [*LANGUAGE, *self.names])
        operator = re.sub(r"^(tvm\.)?(relay\.)?(op\.)?", "", name)
        self.refuse(f"give an operator by is_op({operator!r})", node)

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
            return -inner if isinstance(inner, (int, float)) else self.refuse("only numbers can be negative", node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return self.add("not", self.pattern(self.value(node.operand), node.operand))
        if isinstance(node, ast.BinOp):
            return self.operator(node)
        if isinstance(node, ast.Lambda) and len(node.args.args) == 1:
            return partial(self.inlined, node)
        if isinstance(node, ast.Call):
            return self.call(node)
        return self.refuse("the pattern language has calls, |, &, ~, >>, ^, +, -, *, / and plain values", node)

    def inlined(self, node: ast.Lambda, argument: Ref) -> Ref:
        """Return the pattern that a lambda gives for its argument."""
        name = node.args.args[0].arg
        hidden = {name: self.names[name]} if name in self.names else {}
        self.names[name] = argument
        made = self.pattern(self.value(node.body), node.body)
        del self.names[name]
        self.names.update(hidden)
        return made

    def operator(self, node: ast.BinOp) -> Ref:
        left = self.pattern(self.value(node.left), node.left)
        right = self.pattern(self.value(node.right), node.right)
        if isinstance(node.op, (ast.BitOr, ast.BitAnd)):
            return self.add("alt" if isinstance(node.op, ast.BitOr) else "and", left, right)
        if isinstance(node.op, (ast.BitXor, ast.RShift)):
            return self.uses(left, right, isinstance(node.op, ast.RShift))
        name = _OPERATORS.get(type(node.op))
        if name is None:
            self.refuse("patterns join by |, &, >>, ^, +, -, *, /", node)
        return Ref(self.made.call(name, [left.id, right.id]))

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

    def called(self, callee: Ref, node: ast.Call) -> Ref:
        rest = _takes_more(node)
        if rest is None:
            self.refuse("a call pattern takes patterns by place, and varg_default_wildcard=True", node)
        values = [self.value(each) for each in node.args]
        if values == [None]:
            return self.add("call", callee, any=True)
        arguments = [self.pattern(v, each) for v, each in zip(values, node.args, strict=True)]
        more = {"rest": True} if rest and arguments else {}
        return self.add("call", callee, *arguments, any=bool(rest and not arguments), **more)

    def apply(self, name: str, subject: Ref | None, node: ast.Call) -> object:
        """Call a function of the language, or a method of a pattern."""
        function = LANGUAGE[name] if subject is None else partial(METHODS[name], subject=subject)
        parameters = _parameters(function)
        given = dict(zip(parameters, (self.value(each) for each in node.args), strict=False))
        given.update({k.arg: self.value(k.value) for k in node.keywords if k.arg})
        needed = [p for p, each in parameters.items() if each.default is Parameter.empty and p not in given]
        if len(node.args) > len(parameters) or set(given) - set(parameters) or needed:
            self.refuse(f"{name} takes ({', '.join(parameters)})", node)
        self.at = node
        return function(self, **given)

    # -- for the functions of the language

    def add(self, kind: str, *children: object, **fields: object) -> Ref:
        return Ref(self.made.add(kind, [self.pattern(child).id for child in children], **fields))

    def several(self, kind: str, many: object, first: tuple[object, ...] = (), last: tuple[object, ...] = ()) -> Ref:
        """Add a pattern of a list of patterns, or None for any, between others."""
        return self.add(kind, *first, *(self.listed(many) or ()), *last, any=many is None)

    def listed(self, value: object) -> list[Ref] | None:
        if value is not None and not isinstance(value, (list, tuple)):
            self.refuse("a list of patterns is needed here, or None")
        return None if value is None else [self.pattern(each) for each in value]

    def text(self, name: str, value: object) -> str:
        return value if isinstance(value, str) else self.refuse(f"{name} is a name in quotes")

    def index(self, index: object) -> int:
        """Return the index of a field or an argument; -1 for any."""
        if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
            self.refuse("the index is a whole number")
        return -1 if index is None else index

    def uses(self, producer: object, consumer: object, only: bool, index: object = None) -> Ref:
        """Join two patterns or chains of them; a chain nests to the left, its last consumer outermost."""
        right = self.made.nodes[self.pattern(consumer).id]
        if right.kind != "used_by":
            return self.add("used_by", producer, consumer, only=only, index=self.index(index))
        joined = self.uses(producer, Ref(right.children[0]), only, index)
        return self.add("used_by", joined, Ref(right.children[1]), **right.fields)

    def limited(self, kind: str, value: object, inner: object) -> Ref:
        """Add a condition to a pattern, by default a wildcard."""
        inner = self.add("wildcard") if inner is None else self.pattern(inner)
        return self.add(kind, inner, **self.condition(kind, value))

    def condition(self, kind: str, value: object) -> dict[str, object]:
        if kind == "attr" and isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"attrs": value}
        if kind in ("shape", "shape_value") and isinstance(value, list) and all(type(each) is int for each in value):
            return {"shape": value}
        if kind in ("type", "dtype") and isinstance(value, str):
            return {kind: value}
        wanted = {"attr": 'a dict such as {"groups": 1}', "type": "a name in quotes, or TensorType(...)"}
        wanted["dtype"] = wanted["type"]
        return self.refuse(f"{wanted.get(kind, 'a list of whole numbers')} is needed")

    def call_of(self, operator: str, callee: str, func_name: object, args: object) -> Ref:
        """Add a call of an operator that takes a function and a tuple, or of the function itself; by default with any arguments."""
        function = self.add(callee, name=self.text("func_name", func_name))
        if not operator:
            return self.several("call", args, (function,))
        taken = self.add("wildcard") if args is None else self.several("tuple", args)
        return Ref(self.made.call(operator, [function.id, taken.id]))

    def constant(self, value: object, dtype: object = None) -> tuple[object, str]:
        if not isinstance(value, (int, float, bool, list)):
            self.refuse("a constant is a number or a list of numbers")
        return value, "" if dtype is None else self.text("dtype", dtype)

    def expression(self, expr: object) -> Ref:
        if not isinstance(expr, tuple):
            self.refuse("is_expr takes const(...) where a pattern is typed; from Python it takes any expression")
        value, dtype = expr
        return self.add("expr", text=f"const({value!r}{f', {dtype!r}' if dtype else ''})", value=value, dtype=dtype)

    def optional(self, option_constructor: object, subject: Ref) -> Ref:
        if not callable(option_constructor):
            self.refuse('optional takes a lambda, such as lambda x: is_op("nn.relu")(x)')
        return self.add("alt", subject, option_constructor(subject))

    def dominated(self, parent: object, path: object = None, *, subject: Ref) -> Ref:
        parent = self.pattern(parent)
        return self.add("dominates", parent, self.add("wildcard") if path is None else path, subject)

    def tensor_type(self, shape: object, dtype: object = "float32") -> str:
        if not isinstance(shape, list) or not all(type(each) is int for each in shape) or not isinstance(dtype, str):
            self.refuse("TensorType takes a list of whole numbers and a data type")
        return f"Tensor[({_joined(shape)}), {dtype}]" if shape else dtype

    def tuple_type(self, fields: object) -> str:
        if not isinstance(fields, list) or not all(isinstance(each, str) for each in fields):
            self.refuse("TupleType takes a list of types")
        return f"({_joined(fields)})"


def _joined(parts: list[object]) -> str:
    return ", ".join(map(str, parts)) + ("," if len(parts) == 1 else "")


Function = Callable[..., object]

LANGUAGE: dict[str, Function] = {
    "wildcard": lambda p: p.add("wildcard"),
    "is_op": lambda p, op_name: p.add("op", name=p.text("op_name", op_name)),
    **dict.fromkeys(("is_constant", "is_const"), lambda p: p.add("constant")),
    **dict.fromkeys(("is_gv", "GlobalVarPattern"), lambda p, name="": p.add("global", name=p.text("name", name))),
    "is_dfv": lambda p, name="": p.add("dataflow_var", name=p.text("name", name)),
    "ExternFuncPattern": lambda p, name="": p.add("extern", name=p.text("name", name)),
    "is_shape": lambda p, shape: p.add("shape_value", **p.condition("shape_value", shape)),
    **dict.fromkeys(("reject", "NotPattern"), lambda p, pattern: p.add("not", pattern)),
    "AndPattern": lambda p, left, right: p.add("and", left, right),
    **dict.fromkeys(("OrPattern", "AltPattern"), lambda p, left, right: p.add("alt", left, right)),
    "is_call_tir": lambda p, func_name, args=None: p.call_of("relax.call_tir", "global", func_name, args),
    "is_call_dps_packed": lambda p, func_name, args=None: p.call_of("relax.call_dps_packed", "extern", func_name, args),
    "is_call_packed": lambda p, func_name, args=None: p.call_of("", "extern", func_name, args),
    "is_var": lambda p, name="": p.add("var", name=p.text("name", name)),
    "is_expr": Reader.expression,
    "const": Reader.constant,
    "is_tuple": lambda p, fields, unordered=False: (
        p.add("any_order", *p.listed(fields)) if unordered and fields is not None else p.several("tuple", fields)
    ),
    "is_tuple_get_item": lambda p, tuple_value, index=None: p.add("get_item", tuple_value, index=p.index(index)),
    "is_if": lambda p, cond, true_branch, false_branch: p.add("if", cond, true_branch, false_branch),
    "is_let": lambda p, var, value, body: p.add("let", var, value, body),
    **dict.fromkeys(
        ("dominates", "DominatorPattern"), lambda p, parent, path, child: p.add("dominates", parent, path, child)
    ),
    "has_attr": lambda p, attrs, pattern=None: p.limited("attr", attrs, pattern),
    "has_type": lambda p, ttype, pattern=None: p.limited("type", ttype, pattern),
    "has_dtype": lambda p, dtype, pattern=None: p.limited("dtype", dtype, pattern),
    "has_shape": lambda p, shape, pattern=None: p.limited("shape", shape, pattern),
    "TensorType": Reader.tensor_type,
    "TupleType": Reader.tuple_type,
    "FunctionPattern": lambda p, params, body: p.several("function", params, last=(body,)),
    "CallPattern": lambda p, op, args: p.several("call", args, (op,)),
}
"Functions of the language; the names of their parameters are TVM's."

METHODS: dict[str, Function] = {
    "optional": Reader.optional,
    "has_attr": lambda p, attrs, subject: p.limited("attr", attrs, subject),
    "has_type": lambda p, ttype, subject: p.limited("type", ttype, subject),
    "has_dtype": lambda p, dtype, subject: p.limited("dtype", dtype, subject),
    "has_shape": lambda p, shape, subject: p.limited("shape", shape, subject),
    "dominates": Reader.dominated,
    "used_by": lambda p, other, index=None, *, subject: p.uses(subject, other, False, index),
    "only_used_by": lambda p, other, index=None, *, subject: p.uses(subject, other, True, index),
}
"Methods of a pattern, the `subject`."


def _parameters(function: Function) -> dict[str, Parameter]:
    """Return the parameters that a text gives."""
    _, *given = signature(function).parameters.items()
    return {name: each for name, each in given if name != "subject"}


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
