"""Questions about nodes of Python's syntax tree, for the grammar of Relax text."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal, overload

SHAPED = {"R.Tensor": ("shape",), "R.Shape": ("values",), "R.DTensor": ("shape",), "T.Buffer": ("shape",)}
"calls whose first argument TVM evaluates if it is a string, with the argument's name"
PLAIN = re.compile(r"[\w:,.\[\] -]*")
PYTHON = frozenset(dir(builtins))
"names that TVM's parser finds in Python where nothing binds them"
RESERVED = frozenset({"I", "R", "T", "TypeVar", "metadata", "cls"})


class Refused(Exception):
    """Something in a tree that TVM does not print."""

    def __init__(self, node: ast.AST, reason: str) -> None:
        super().__init__(reason)
        self.node, self.reason = node, reason


@overload
def tree_of(text: str) -> ast.Module: ...
@overload
def tree_of(text: str, mode: Literal["eval"]) -> ast.Expression: ...
def tree_of(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """Parse a text as Python.

    Python 3.11 raises SystemError if an object that is collected meanwhile parses something in its finalizer
    (cpython issue 106905); the finalizer has run by then, so the text is parsed again.
    """
    for _ in range(10):
        with suppress(SystemError):
            return ast.parse(text, mode=mode)
    return ast.parse(text, mode=mode)


def declared_dimension(statement: ast.stmt) -> str | None:
    """Return the name in `n = TypeVar("n")`, which declares a symbolic dimension; None for any other statement."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=ast.Name(id="TypeVar"), args=[ast.Constant(value=str(name))], keywords=[]),
        ) if target == name and target not in RESERVED and not is_hidden(target):
            return target
    return None


def is_hidden(name: str) -> bool:
    """Return whether a name may be special for TVM's parser: a keyword in any kind of letters, or `__` and no number."""
    return keyword.iskeyword(name) or (name.startswith("__") and not name[2:].isdecimal())


def kind(node: ast.AST) -> str:
    """Return a name for the kind of a node, for a message."""
    return f"Python's {type(node).__name__}"


def first_line(node: ast.AST) -> str:
    """Return the first line of a node's text, for a message."""
    try:
        text = node.arg if isinstance(node, ast.arg) else ast.unparse(node)
    except (RecursionError, ValueError):
        text = type(node).__name__
    first = text.split("\n", 1)[0]
    return first if len(first) <= 60 else f"{first[:57]}..."


def dotted(node: ast.AST) -> str | None:
    """Return `a.b.c` for the tree of such a name, None for any other."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(steps)]) if isinstance(node, ast.Name) else None


def called(node: ast.AST) -> str | None:
    """Return the dotted name that a node calls, None if it calls none."""
    return dotted(node.func) if isinstance(node, ast.Call) else None


def is_literal(node: ast.AST | None, *kinds: type) -> bool:
    """Return whether a node is a literal of one of some types."""
    return isinstance(node, ast.Constant) and type(node.value) in kinds


def is_plain(node: ast.expr) -> bool:
    """Return whether TVM's parser may have Python compute with a node: a literal, or something made of one or of a tuple."""
    while isinstance(node, (ast.UnaryOp, ast.Subscript)):
        if isinstance(node, ast.UnaryOp):
            node = node.operand
        elif has_elements(node.value):
            return True
        else:
            node = node.value
    if isinstance(node, ast.Compare):
        return any(is_plain(operand) for operand in (node.left, *node.comparators))
    if isinstance(node, ast.BoolOp):
        return any(is_plain(operand) for operand in node.values)
    return isinstance(node, ast.Constant) or has_elements(node)


def has_elements(node: ast.expr) -> bool:
    """Return whether a node is a Python tuple, or a call that returns a list."""
    return isinstance(node, ast.Tuple) or called(node) == "T.axis.remap"


def leaves(node: ast.expr | None) -> Iterator[ast.expr]:
    """Yield the elements of nested lists and tuples."""
    if isinstance(node, (ast.Tuple, ast.List)):
        for element in node.elts:
            yield from leaves(element)
    elif node is not None:
        yield node


def without_docstrings(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements without those that are only a string; `pass` if none is left."""
    kept = [s for s in body if not (isinstance(s, ast.Expr) and is_literal(s.value, str))]
    return kept or [ast.copy_location(ast.Pass(), body[0])]


def type_parameters(node: ast.ClassDef | ast.FunctionDef) -> list[ast.AST]:
    """Return the names in `def main[n](...)`, which Python has since 3.12."""
    return list(getattr(node, "type_params", ()))


def type_parameter_names(node: ast.FunctionDef) -> list[str]:
    """Return the names of a function's type parameters, which have no default and no bound but `int`."""
    for each in type_parameters(node):
        if type(each).__name__ != "TypeVar" or getattr(each, "default_value", None) is not None:
            raise Refused(each, f"the type parameter {first_line(each)}")
        bound = getattr(each, "bound", None)
        if bound is not None and dotted(bound) != "int":
            raise Refused(each, f"the type parameter {first_line(each)}")
    return [getattr(each, "name", "") for each in type_parameters(node)]


def names_in_shapes(node: ast.arguments) -> Iterator[str]:
    """Yield the names in the strings of the parameters' shapes: their first use declares them."""
    for call in (inside for inside in ast.walk(node) if isinstance(inside, ast.Call)):
        shaped = SHAPED.get(called(call) or "")
        if shaped is None:
            continue
        for shape in (*call.args[:1], *(k.value for k in call.keywords if k.arg in shaped)):
            for string in (each for each in leaves(shape) if is_literal(each, str)):
                with suppress(Refused):
                    yield from free_names(parsed_string(string))


def free_names(node: ast.expr) -> set[str]:
    """Return the names in a shape's string, which need no value: the string may declare them."""
    names = {inside.id for inside in ast.walk(node) if isinstance(inside, ast.Name)}
    return {name for name in names if name not in RESERVED and not is_hidden(name)}


def parsed_string(node: ast.expr) -> ast.expr:
    """Return the tree of the expression in a string."""
    try:
        return tree_of(str(ast.literal_eval(node)).strip(), "eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Refused(node, f"the shape {first_line(node)}") from None


def refuse_code(node: ast.Call) -> None:
    """Refuse a string in a type that would run code if TVM evaluated it: older versions evaluate more arguments."""
    shapes = SHAPED.get(called(node) or "", ())
    for argument in (*node.args[1:], *(each.value for each in node.keywords if each.arg not in shapes)):
        for inside in ast.walk(argument):
            if isinstance(inside, ast.Constant) and isinstance(inside.value, str) and not PLAIN.fullmatch(inside.value):
                raise Refused(inside, f"the string {first_line(inside)} in a type")
