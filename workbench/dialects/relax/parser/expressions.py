"""The types, expressions and shapes of the Relax text that TVM prints."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches

from workbench.dialects.relax.parser.nodes import (
    PYTHON,
    RESERVED,
    SHAPED,
    Refused,
    called,
    dotted,
    first_line,
    free_names,
    is_hidden,
    is_literal,
    is_plain,
    kind,
    parsed_string,
    refuse_code,
)

_MAPS = frozenset({"T.comm_reducer", "T.index_map"})
_KEYED = {
    "attrs_type_key": re.compile(r"ir\.DictAttrs|relax\.attrs\.\w+"),
    "derive_func": re.compile(r"tvm\.relax\.(struct_info|type)\.infer_\w+"),
}
"arguments with a name that TVM looks up and uses while it reads"
_BUFFER = frozenset({"access_ptr", "data", "elem_offset", "strides", "vload", "vstore"})
"attributes that a text may read: the fields of a buffer that TVM prints"
_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor,
)  # fmt: skip
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True)
class Vocabulary:
    """The dotted names that a text may use."""

    calls: frozenset[str]
    "names that may be called"
    types: frozenset[str]
    "names that may also be used without a call, where a type is written"
    renamed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    "names and arguments of other TVM versions, each with that of this one, and which TVM has it"


class Values(ast.NodeVisitor):
    """Checks the expressions in a statement, given the names that have a value there; a kind without a method is refused."""

    def __init__(self, words: Vocabulary, modules: frozenset[str], members: frozenset[str], metadata: bool) -> None:
        self.words, self.modules, self.members, self.metadata = words, modules, members, metadata
        self.bound: frozenset[str] = frozenset()
        self.callable: frozenset[str] = frozenset()

    def parameters(self, node: ast.arguments) -> list[str]:
        beyond = [*node.posonlyargs, *node.kwonlyargs, *node.defaults, *(d for d in node.kw_defaults if d is not None)]
        for extra in (*beyond, *(a for a in (node.vararg, node.kwarg) if a is not None)):
            raise Refused(extra, f"the parameter {first_line(extra)}")
        for argument in node.args:
            if self.reserved(argument.arg):
                raise Refused(argument, f"a parameter named {argument.arg}")
        return [argument.arg for argument in node.args]

    @contextmanager
    def scope(self, names: Iterable[str], called: frozenset[str]) -> Iterator[None]:
        """Add names, and make only those of `called` callable, until the end of a `with`."""
        before = self.bound, self.callable
        self.bound, self.callable = self.bound | frozenset(names), called
        yield
        self.bound, self.callable = before

    def bind(self, name: str) -> None:
        self.bound |= {name}
        self.callable |= {name} - PYTHON

    def reserved(self, name: str) -> bool:
        """Return whether a name has a meaning for TVM's parser or for this check, so that a text may not give it a value."""
        return name in RESERVED or name in self.modules or is_hidden(name)

    # --- types ------------------------------------------------------------------------------------------------------

    def annotation(self, node: ast.expr | None, owner: ast.AST) -> None:
        if node is None:
            raise Refused(owner, f"no type for {first_line(owner)}")
        if isinstance(node, ast.Call) and ((called(node) or "")[:2] in ("R.", "T.") or called(node) == "I.StringType"):
            self.value(node)
        elif isinstance(node, ast.Subscript) and dotted(node.value) == "T.let":
            self.annotation(node.slice, node)
        elif not is_literal(node, type(None)) and dotted(node) not in self.words.types:
            raise Refused(node, f"the type {first_line(node)}")

    # --- expressions ------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> None:
        """Check an expression that may be given a name, returned or computed with."""
        self.visit(node)

    def generic_visit(self, node: ast.AST) -> None:
        raise Refused(node, kind(node))

    def visit_Constant(self, node: ast.Constant) -> None:
        if not is_literal(node, bool, int, float):
            raise Refused(node, f"{first_line(node)} as a value")

    def visit_Name(self, node: ast.Name) -> None:
        if node.id not in self.bound:
            raise Refused(node, f"the name {node.id}")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        of = node.value.id if isinstance(node.value, ast.Name) else None
        if of in self.modules:
            if node.attr not in self.members:
                raise Refused(node, f"a function named {first_line(node)}")
        elif of not in self.bound or node.attr not in _BUFFER:
            raise Refused(node, f"the name {first_line(node)}{self.nearest(node)}")

    def nearest(self, node: ast.Attribute) -> str:
        near = get_close_matches(dotted(node) or "", self.words.calls, n=2, cutoff=0.7)
        return f" (did you mean {' or '.join(near)}?)" if near else ""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if self.is_constant(node):
            return
        if isinstance(node.value, ast.Tuple):
            if not is_literal(node.slice, int):
                raise Refused(node, f"{first_line(node)}")
        elif not isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript)):
            raise Refused(node, f"an element of {first_line(node.value)}")
        self.value(node.value)
        self.index(node.slice)

    def is_constant(self, node: ast.Subscript) -> bool:
        """Return whether a node is an entry of the metadata: `metadata["kind"][0]`."""
        inner = node.value
        return (
            self.metadata
            and isinstance(inner, ast.Subscript)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == "metadata"
            and is_literal(inner.slice, str)
            and is_literal(node.slice, int)
        )

    def index(self, node: ast.expr) -> None:
        for each in node.elts if isinstance(node, ast.Tuple) else [node]:
            parts = [each.lower, each.upper, each.step] if isinstance(each, ast.Slice) else [each]
            for part in parts:
                if part is not None:
                    self.value(part)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        for element in node.elts:
            self.value(element)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not isinstance(node.op, _OPERATORS):
            raise Refused(node, f"the operator of {first_line(node)}")
        self.operands(node.left, node.right)
        if is_plain(node.left) and is_plain(node.right):
            raise Refused(node, f"arithmetic on literals, {first_line(node)}")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.operands(node.operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.operands(*node.values)

    def visit_Compare(self, node: ast.Compare) -> None:
        for operator in node.ops:
            if not isinstance(operator, _COMPARISONS):
                raise Refused(node, f"the comparison {first_line(node)}")
        self.operands(node.left, *node.comparators)

    def operands(self, *nodes: ast.expr) -> None:
        for node in nodes:
            if isinstance(node, ast.Tuple):
                raise Refused(node, f"{kind(node)} to compute with")
            self.value(node)

    def visit_Call(self, node: ast.Call) -> None:
        name = dotted(node.func)
        if name in self.words.calls:
            self.arguments(node)
        elif isinstance(node.func, ast.Attribute) or (
            isinstance(node.func, ast.Name) and node.func.id in self.callable
        ):
            self.value(node.func)
            self.arguments(node)
        else:
            raise Refused(node.func, f"a call of {first_line(node.func)}")

    def arguments(self, node: ast.Call) -> None:
        name = dotted(node.func) or ""
        first = SHAPED.get(name, ())
        for number, argument in enumerate(node.args):
            if name in SHAPED and number == 0:
                node.args[0] = self.shape(argument)
            elif name in _MAPS and number == 0 and isinstance(argument, ast.Lambda):
                self.mapping(argument)
            elif name == "R.Callable" and is_literal(argument, str):
                # the name of a function that TVM calls
                raise Refused(argument, f"{first_line(argument)} without its name")
            else:
                self.argument(argument)
        for each in node.keywords:
            if each.arg is None:
                raise Refused(each.value, f"**{first_line(each.value)}")
            if each.arg in first:
                each.value = self.shape(each.value)
            elif name in _MAPS and isinstance(each.value, ast.Lambda):
                self.mapping(each.value)
            else:
                self.keyword(each)
        if name in SHAPED or name == "R.Prim":
            refuse_code(node)

    def keyword(self, node: ast.keyword) -> None:
        allowed = _KEYED.get(node.arg or "")
        if allowed is None:
            self.argument(node.value)
        elif not (is_literal(node.value, str) and allowed.fullmatch(ast.literal_eval(node.value))):
            raise Refused(node.value, f"{node.arg}={first_line(node.value)}")

    def argument(self, node: ast.expr) -> None:
        """Check an argument: a value, a type, a string, None, or a list or dictionary of such."""
        if isinstance(node, (ast.List, ast.Tuple)):
            for element in node.elts:
                # a shape with a None in it ends the process
                if is_literal(element, type(None)):
                    raise Refused(element, "None in a list")
                self.argument(element)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None or not is_literal(key, str):
                    raise Refused(key or value, f"the key {first_line(key or value)}")
                self.argument(value)
        elif isinstance(node, ast.Attribute) and node.attr == "ty" and called(node.value) == "T.handle":
            self.value(node.value)
        elif not is_literal(node, str, type(None)) and dotted(node) not in self.words.types:
            self.value(node)

    def mapping(self, node: ast.Lambda) -> None:
        """Check `lambda i, j: (j, i)`, which computes indices."""
        with self.scope(self.parameters(node.args), frozenset()):
            self.value(node.body)

    # --- shapes -----------------------------------------------------------------------------------------------------

    def shape(self, node: ast.expr) -> ast.expr:
        """Return a shape with its strings replaced by their parsed expressions."""
        if isinstance(node, (ast.List, ast.Tuple)):
            node.elts = [self.dimension(element) for element in node.elts]
        elif is_literal(node, str):
            return self.dimension(node)
        elif not is_literal(node, type(None)):
            self.value(node)
        return node

    def dimension(self, node: ast.expr) -> ast.expr:
        if not is_literal(node, str):
            self.value(node)
            return node
        inside = parsed_string(node)
        try:
            with self.scope(free_names(inside), frozenset()):
                self.value(inside)
        except Refused as refused:
            raise Refused(node, f"{refused.reason} in the shape {first_line(node)}") from None
        return ast.copy_location(ast.Constant(ast.unparse(inside)), node)
