"""The walk that draws a program as a graph: recursion without the interpreter's stack, bounds on what a few lines can repeat.

A few lines of nested tuples make types that TVM prints with millions of fields, and 24 functions that each call the one before
twice make 2^24 bodies where each body is drawn at its call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from types import GeneratorType
from typing import Any

from workbench.errors import LoadError
from workbench.graph.model import Graph, GraphBuilder
from workbench.terminal import visible
from workbench.wording import counted

FIELDS = 100_000
"that all types of a program may have when printed"
MOST_COPIES = 50_000
"""Values of repeated bodies that are drawn at their calls, each counted once for every repeated body around it. Relax shares equal
kernels among layers, so a fused model repeats nearly all of its nodes: BERT of 12 layers repeats 672."""
DRAWN_ONCE = {"drawn": "once: the calls of functions, drawn in place, would repeat too many nodes"}
"an attribute of the box of a function that is drawn by itself, though others like it are drawn where they are called"
FIELDS_PER_EXPRESSION = 100
"that they may have beyond that, on average over the expressions whose type has parts"


def refuse_large_types(
    types: Iterable[Any], parts: Callable[[Any], Sequence[Any]], identity: Callable[[Any], Hashable]
) -> None:
    """Raise LoadError if the types of a program's expressions have too many fields.

    `parts` returns the types inside a type; `identity` the same key for the same TVM object, which is walked once.
    """
    # the types are kept, so that no other object takes the identity of one
    known: dict[Hashable, tuple[int, Any]] = {}

    def fields(type: Any) -> int:
        key = identity(type)
        if key not in known:
            known[key] = max(1, sum(map(fields, parts(type)))), type
            if len(known) > len(listed) * FIELDS_PER_EXPRESSION + FIELDS:
                raise _too_large()
        return known[key][0]

    listed = [type for type in types if parts(type)]
    if sum(map(fields, listed)) > FIELDS + FIELDS_PER_EXPRESSION * len(listed):
        raise _too_large()


def _too_large() -> LoadError:
    return LoadError(
        "the types of this program have too many fields to be printed, because tuples in it hold one another many times; "
        "give the tensors one by one"
    )


class TooManyCopies(Exception):
    """Functions that are called more than once would be drawn too often."""


class Copies:
    """A count of what is drawn again, of functions that were drawn at another call."""

    def __init__(self) -> None:
        self.left = MOST_COPIES

    def add(self, around: int) -> None:
        """Count one value with so many repeated bodies around it; raise TooManyCopies beyond MOST_COPIES."""
        self.left -= around
        if self.left < 0:
            raise TooManyCopies


class Env:
    """The nodes of expressions, inside one instance of a function body."""

    __slots__ = ("group", "outer", "repeated", "values")

    def __init__(self, group: int | None, outer: Env | None = None, repeated: bool = False) -> None:
        self.group = group
        self.outer: Any = outer
        above = 0 if outer is None else outer.repeated
        self.repeated = above + (repeated or above > 0)
        "bodies around it that were drawn at another call"
        self.values: dict[Any, int] = {}

    def find(self, key: Any) -> int | None:
        """Return the node of an expression, here or in a body around."""
        env: Env | None = self
        while env is not None:
            found = env.values.get(key)
            if found is not None:
                return found
            env = env.outer
        return None


class Walk:
    """Draws the functions of a program: a kernel where it is called, any other function beside its callers.

    A dialect draws the expressions of a body; each function that calls itself for a part is a generator for `drive`.
    """

    env_type: type[Any]
    in_place_marks: tuple[str, ...]
    "attributes of functions that are drawn where they are called; the last names another compiler"

    def __init__(self, name: str, dialect: str, functions: Mapping[str, Any], once: Collection[Any]) -> None:
        self.builder = GraphBuilder(name, dialect)
        self.functions = functions
        self.once = once
        "functions that are drawn by themselves, and not where they are called"
        self.copies = Copies()
        self.in_place_drawn: set[Hashable] = set()
        self.open: list[Hashable] = []
        "functions whose body is being drawn"
        self.attrs: dict[Hashable, dict[str, Any]] = {}
        "attributes of a function or call, which may be long and drawn many times"

    def key(self, expr: Any) -> Hashable:
        """Return the same key for the same expression."""
        raise NotImplementedError

    def given(self, expr: Any) -> dict[str, Any]:
        """Return the attributes that the program gives a function or a call, as values of Python's own types."""
        raise NotImplementedError

    def enter(self, function: Any, env: Any, arguments: list[int] | None = None) -> None:
        """Give the parameters of a function their nodes: those of its arguments, or new ones."""
        raise NotImplementedError

    def body(self, function: Any, env: Any) -> Iterator[Any]:
        """Draw the body of a function, and return the node of its result."""
        raise NotImplementedError

    def value(self, expr: Any, env: Any) -> Iterator[Any]:
        """Return the node of a value; draw it if it has none yet."""
        raise NotImplementedError

    def run(self) -> Graph:
        """Draw the functions of a module, the entry first."""
        entry = "main" if "main" in self.functions else next(iter(self.functions), "")
        for name in sorted(self.functions, key=lambda name: name != entry):
            function = self.functions[name]
            if name != entry and self.is_in_place(function):
                continue
            output = drive(self.function(function, name, None))
            if name == entry and output is not None:
                self.builder.outputs.append(output)
        return self.builder.build()

    def attributes(self, expr: Any) -> dict[str, Any]:
        key = self.key(expr)
        if key not in self.attrs:
            self.attrs[key] = self.given(expr)
        return self.attrs[key]

    def is_in_place(self, function: Any) -> bool:
        """Return whether a function is a kernel or an offloaded region, which is drawn where it is called."""
        return self.key(function) not in self.once and any(map(self.attributes(function).get, self.in_place_marks))

    def function(self, function: Any, name: str, outer: Any) -> Iterator[Any]:
        """Draw a function that is not drawn in place: its parameters are nodes."""
        attrs, key = self.attributes(function), self.key(function)
        shown = {**attrs, **DRAWN_ONCE} if key in self.once else attrs
        parent = None if outer is None else outer.group
        group = self.builder.group(group_kind(attrs, self.in_place_marks[-1]), name, parent, shown)
        env = self.env_type(group, outer)
        self.enter(function, env)
        return (yield self.inside(function, group, env))

    def in_place(self, function: Any, name: str, arguments: Iterable[Any], env: Any) -> Iterator[Any]:
        """Draw the body of a function where it is called: its parameters are its arguments."""
        nodes: list[int] = []
        for argument in arguments:
            node = yield self.value(argument, env)
            nodes.append(node)
        attrs, key = self.attributes(function), self.key(function)
        group = self.builder.group(group_kind(attrs, self.in_place_marks[-1]), name, env.group, attrs)
        self.builder.takes(group, nodes)
        inner = self.env_type(group, env, key in self.in_place_drawn)
        self.in_place_drawn.add(key)
        self.enter(function, inner, nodes)
        return (yield self.inside(function, group, inner))

    def inside(self, function: Any, group: int, env: Any) -> Iterator[Any]:
        self.open.append(self.key(function))
        output = yield self.body(function, env)
        self.open.pop()
        self.builder.returns(group, output)
        return output


def group_kind(attrs: Mapping[str, Any], offloaded: str) -> str:
    """Return the kind of box for a function with these attributes; `offloaded` is the one that names another compiler."""
    # TVM takes a null attribute for one that is not there
    if attrs.get(offloaded) is not None:
        return "external"
    if attrs.get("Primitive"):
        return "primitive"
    return "function" if attrs.get("Composite") is None else "composite"


def drawn_once(graph: Graph) -> list[str]:
    """Return a note that names the functions drawn by themselves, none where every one is drawn at its calls."""
    names = [group.name for group in graph.groups if group.attrs.get("drawn") == DRAWN_ONCE["drawn"]]
    if not names:
        return []
    shown = f"{counted(len(names), 'function')}, the first {visible(names[0][:40])}"
    return [f"drawn once and not at each call, which would repeat too many nodes: {shown}"]


def drive(start: Iterator[Any]) -> Any:
    """Run a generator that yields generators and receives their results; return its result.

    It receives anything else that it yields as it is.

    >>> def depth(n):
    ...     return 0 if n == 0 else 1 + (yield depth(n - 1))
    >>> drive(depth(100_000))
    100000
    """
    stack: list[Any] = [start]
    sent = None
    while stack:
        try:
            sent = stack[-1].send(sent)
        except StopIteration as done:
            stack.pop()
            sent = done.value
        else:
            if type(sent) is GeneratorType:
                stack.append(sent)
                sent = None
    return sent
