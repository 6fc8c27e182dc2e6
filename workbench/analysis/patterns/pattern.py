"""Dataflow patterns in the form of TVM's pattern language, without TVM.

A pattern is a table of PatternNodes that name their children by index, as in a Graph. If one sub-pattern is in two
places, TVM requires the same value in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.errors import WorkbenchError
from workbench.terminal import visible

DEEPEST = 120
"Deepest nesting of sub-patterns: the matcher recurses into patterns, as TVM's does."

ORDERS = {"add": 2, "multiply": 8, "divide": 8}
"operator -> number of orders in which TVM tries the arguments of a call pattern, at most"

KINDS = {
    "wildcard": "any value",
    "op": "the operator {name}",
    "expr": "exactly {text}",
    "var": "a variable",
    "constant": "a constant",
    "call": "a call",
    "tuple": "a tuple",
    "get_item": "a field of a tuple",
    "function": "a function",
    "if": "an if",
    "let": "a let",
    "alt": "either",
    "attr": "with attributes {attrs}",
    "type": "of type {type}",
    "shape": "of shape {shape}",
    "dtype": "of data type {dtype}",
    "dominates": "dominates",
    "and": "both",
    "not": "anything but",
    "any_order": "a tuple in any order",
    "global": "a function whose name has {name}",
    "extern": "the packed function {name}",
    "dataflow_var": "a variable of a dataflow block",
    "shape_value": "the shape {shape}",
    "used_by": "used by",
}
"Kind of pattern -> its condition; braces contain the names of its fields."

ROLES = {
    "if": ("condition", "true branch", "false branch"),
    "let": ("variable", "value", "body"),
    "alt": ("either", "or"),
    "dominates": ("parent", "path", "child"),
    "get_item": ("of",),
    "not": ("",),
    "used_by": ("producer", "consumer"),
}
"Kind of pattern -> the roles of its children, where they are not its arguments."


class PatternError(WorkbenchError):
    """A pattern that cannot be read, or that TVM rejects."""

    def _render_traceback_(self) -> list[str]:
        """Return the sentence alone, which IPython then shows: frames of this package do not help with a typed pattern."""
        return [f"{type(self).__name__}: {self}"]


@dataclass(frozen=True)
class PatternNode:
    """One sub-pattern."""

    id: int
    "index in `Pattern.nodes`; children come before the patterns that contain them"
    kind: str
    "a key of KINDS"
    label: str
    "its condition, in words"
    children: tuple[int, ...] = ()
    "sub-patterns: a call's callee and arguments, a function's parameters and body, parent, path and child of dominates"
    fields: Mapping[str, Any] = field(default_factory=dict)
    "name, attrs, shape, dtype, type, text, index, only; `rest` where more arguments may follow, `any` where arguments, fields or parameters may be any"


@dataclass(frozen=True)
class Pattern:
    """A pattern and all its sub-patterns."""

    nodes: tuple[PatternNode, ...]
    root: int

    @cached_property
    def shared(self) -> frozenset[int]:
        """Sub-patterns in more than one place, without names of operators."""
        uses = [0] * len(self.nodes)
        for node in self.nodes:
            for child in node.children:
                uses[child] += 1
        return frozenset(n.id for n in self.nodes if uses[n.id] > 1 and n.kind != "op")

    def depth(self) -> int:
        """Return the number of sub-patterns on the longest path from the root to a leaf."""
        deepest = [1] * len(self.nodes)
        for node in self.nodes:
            if node.children:
                deepest[node.id] = 1 + max(deepest[child] for child in node.children)
        return deepest[self.root]

    def steps(self, paths: float) -> float:
        """Return a bound of the steps that TVM's matcher takes at one expression, from which `paths` lead up.

        It tries the arguments of `add` in both orders, those of `multiply` and `divide` also in place of each other, and
        walks every path of `dominates`.
        """
        steps: list[float] = []
        for node in self.nodes:
            callee = self.nodes[node.children[0]] if self.names_operator(node) else None
            orders = ORDERS.get(callee.fields["name"], 1) if callee else paths if node.kind == "dominates" else 1
            steps.append(1 + orders * sum(steps[child] for child in node.children))
        return steps[self.root]

    def lines(self) -> Iterator[tuple[int, int, str]]:
        """Yield the tree from the root: (depth, sub-pattern, text). A repeated sub-pattern is not expanded again."""
        shown: set[int] = set()
        stack = [(0, self.root, "")]
        while stack:
            depth, id, role = stack.pop()
            node = self.nodes[id]
            again = id in shown and bool(node.children)
            words = f"{role}: {node.label}" if role else node.label
            mark = f" #{id}" if id in self.shared else ""
            yield depth, id, words + mark + (" (as above)" if again else "")
            if again:
                continue
            shown.add(id)
            hidden = 1 if self.names_operator(node) else 0
            rows = list(zip(node.children, self.roles(node), strict=True))[hidden:]
            stack.extend((depth + 1, child, role) for child, role in reversed(rows))

    def names_operator(self, node: PatternNode) -> bool:
        """Return whether the node is a call whose label contains the operator."""
        return node.kind == "call" and self.nodes[node.children[0]].kind == "op"

    def roles(self, node: PatternNode) -> tuple[str, ...]:
        """Return the role of each child in its pattern."""
        if node.kind == "call":
            return ("callee", *(f"argument {i}" for i in range(len(node.children) - 1)))
        if node.kind == "function":
            return (*(f"parameter {i}" for i in range(len(node.children) - 1)), "body")
        if node.kind == "tuple":
            return tuple(f"field {i}" for i in range(len(node.children)))
        return ROLES.get(node.kind, ("",) * len(node.children))

    def __str__(self) -> str:
        return visible("\n".join(f"{'  ' * depth}{text}" for depth, _, text in self.lines()))


Apart = tuple[list[Any], str, dict[str, Any]]
"children, kind and fields of one object of a pattern"


class PatternBuilder:
    """A collector of sub-patterns, children first."""

    def __init__(self) -> None:
        self.nodes: list[PatternNode] = []

    def add(self, kind: str, children: tuple[int, ...] | list[int] = (), **fields: Any) -> int:
        """Add a sub-pattern and return its id."""
        id = len(self.nodes)
        self.nodes.append(PatternNode(id, kind, self._label(kind, children, fields), tuple(children), fields))
        return id

    def call(self, name: str, arguments: list[int] | None) -> int:
        """Add a call of an operator; None for any arguments."""
        callee = self.add("op", name=name)
        return self.add("call", [callee, *(arguments or ())], any=arguments is None)

    def build(self, root: int) -> Pattern:
        return Pattern(tuple(self.nodes), root)

    @staticmethod
    def read(root: Any, apart: Callable[[Any], Apart]) -> tuple[Pattern, tuple[Any, ...]]:
        """Return a pattern made from another library's objects, and the object for each of its nodes.

        Raises PatternError: it nests more than DEEPEST deep.
        """
        builder, objects, places = PatternBuilder(), [], dict[Any, int]()
        stack = [(root, False)]
        while stack:
            current, ready = stack.pop()
            if current in places:
                continue
            children, kind, fields = apart(current)
            if ready or not children:
                places[current] = builder.add(kind, [places[child] for child in children], **fields)
                objects.append(current)
                continue
            stack.append((current, True))
            stack.extend((child, False) for child in reversed(children))
        pattern = builder.build(places[root])
        if pattern.depth() > DEEPEST:
            raise PatternError(f"the pattern nests more than {DEEPEST} deep; match its parts one by one")
        return pattern, tuple(objects)

    def _label(self, kind: str, children: tuple[int, ...] | list[int], fields: Mapping[str, Any]) -> str:
        if kind == "call":
            callee = self.nodes[children[0]]
            of = callee.fields["name"] if callee.kind == "op" else f"a call of {callee.label}"
            more = ", any more arguments" if fields.get("rest") else ""
            return f"{of}, any arguments" if fields["any"] else of + more
        if kind == "var" and fields.get("name"):
            return f"the variable {fields['name']}"
        if kind in ("global", "extern") and not fields["name"]:
            return "a function of the module" if kind == "global" else "a packed function"
        if kind == "used_by":
            at = f" as argument {fields['index']}" if fields["index"] >= 0 else ""
            return ("used by nothing but" if fields["only"] else "used by") + at
        if kind == "get_item" and fields["index"] >= 0:
            return f"field {fields['index']} of a tuple"
        if kind == "tuple" and not fields["any"]:
            return f"a tuple of {len(children)}"
        if kind == "attr":
            said = ", ".join(f"{k}={v}" for k, v in fields["attrs"].items())
            return f"with {said}"
        return KINDS[kind].format(**fields)


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
    if node.kind == "used_by":
        at = f", {f['index']}" if f["index"] >= 0 else ""
        return f"({inner[0]}).{'only_used_by' if f['only'] else 'used_by'}({inner[1]}{at})"
    if node.kind == "get_item":
        return f"is_tuple_get_item({inner[0]}{', ' + str(f['index']) if f['index'] >= 0 else ''})"
    if node.kind == "function":
        params = "None" if f["any"] else f"[{', '.join(inner[:-1])}]"
        return f"FunctionPattern({params}, {inner[-1]})"
    if node.kind == "var":
        return f"is_var({f['name']!r})" if f.get("name") else "is_var()"
    if node.kind == "tuple":
        return f"is_tuple({'None' if f.get('any') else '[' + ', '.join(inner) + ']'})"
    if node.kind == "and":
        return " & ".join(f"({each})" for each in inner)
    if node.kind == "alt":
        return " | ".join(f"({each})" if "|" in each else each for each in inner)
    return _FORMS[node.kind].format(**{"name": "", **f, "inner": ", ".join(inner)})


_FORMS = {
    "wildcard": "wildcard()",
    "constant": "is_constant()",
    "op": "is_op({name!r})",
    "expr": "is_expr({text})",
    "if": "is_if({inner})",
    "let": "is_let({inner})",
    "dominates": "dominates({inner})",
    "not": "~({inner})",
    "any_order": "is_tuple([{inner}], unordered=True)",
    "global": "is_gv({name!r})",
    "extern": "ExternFuncPattern({name!r})",
    "dataflow_var": "is_dfv({name!r})",
    "shape_value": "is_shape({shape})",
}
"Kind of pattern -> its code; the others depend on their fields."
