"""Search for programs in a text that holds other things too, and for their missing parts.

The grammar is the reader's own: this class only decides where a program begins and ends, and what replaces an unbound
name. A program that begins and cannot be read is an error with its place, never left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from workbench.dialects.nesting import drive
from workbench.dialects.relay.parser.ast import Expr, operands_first
from workbench.dialects.relay.parser.reader import Reader, Scope
from workbench.dialects.relay.parser.tokens import END
from workbench.errors import ParseError
from workbench.wording import one_line


class Salvage(Reader):
    """Reads every program of a text."""

    in_prose = True

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.run: Piece | None = None
        "the run of bindings being read"
        self.run_scope = Scope()
        self.first_uses: list[tuple[int, Expr]] = []
        "the place of the first use of each variable that the run does not bind"

    def pieces(self) -> list[Piece]:
        """Return every program of the text, in order."""
        found: list[Piece] = []
        while self.token.kind != END:
            kind = self.beginning()
            if kind:
                piece = Piece(kind, self.token.offset)
                first = self.at
                _READERS[kind](self, piece)
                piece.end = piece.end or self.end_of(self.at - 1)
                piece.calls = frozenset(t.text[1:] for t in self.tokens[first : self.at] if t.kind == "global")
                found.append(piece)
            else:
                self.at += 1
        return found

    def end_of(self, at: int) -> int:
        return self.tokens[at].offset + len(self.tokens[at].text)

    # -- where a program begins

    def beginning(self) -> str:
        """Return the kind of program that begins at the current token, empty for prose."""
        token = self.token
        if token.kind == "version":
            return "metadata" if token.text == "#[metadata]" else "version"
        if token.kind == "local":
            return "run" if self.is_binding(self.at) else ""
        if token.kind != "name":
            return ""
        after = self.after_comments(self.at + 1)
        if token.text == "def":
            return "def" if after.kind == "global" else ""
        if token.text in ("let", "free_var"):
            return "run" if after.kind == "local" else ""
        if token.text == "fn":
            return "fn" if self.is_header(self.at + 1) else ""
        if token.text == "type":
            return "type" if after.kind == "name" and self.is_body(self.tokens.index(after, self.at) + 1) else ""
        return ""

    def is_binding(self, at: int) -> bool:
        """Return whether the tokens are `%3 = ...`, and not a remainder in some other language."""
        if self.tokens[at].kind != "local" or self.tokens[at + 1].text != "=":
            return False
        name, value = self.tokens[at].text[1:], self.after_comments(at + 2)
        if value.kind == "mark" and value.text != "(":
            return False
        return name.isdigit() or (bool(name) and value.kind == "name" and self.tokens[at + 3].text == "(")

    def is_header(self, at: int) -> bool:
        """Return whether the tokens are `(%x`, `()` before a body, or `[T]`."""
        if self.tokens[at].text == "[":
            return True
        if self.tokens[at].text != "(":
            return False
        first = self.after_comments(at + 1)
        return first.kind == "local" or (
            first.text == ")" and self.tokens[min(at + 2, len(self.tokens) - 1)].text in ("{", "->")
        )

    def is_body(self, at: int) -> bool:
        """Return whether the tokens are `{` or `[A] {` with a closing brace, unlike prose such as `type float32[4]`."""
        if self.tokens[at].text == "[":
            at = self.closing.get(at, at) + 1
        return self.tokens[at].text == "{" and at in self.closing

    @cached_property
    def closing(self) -> dict[int, int]:
        """Return the place that closes each bracket and each brace."""
        found, open = dict[int, int](), dict[str, list[int]]({"]": [], "}": []})
        for at, token in enumerate(self.tokens):
            if token.text in ("[", "{"):
                open["]" if token.text == "[" else "}"].append(at)
            elif open.get(token.text):
                found[open[token.text].pop()] = at
        return found

    # -- whole programs

    def read_version(self, piece: Piece) -> None:  # noqa: ARG002  each kind is read the same way
        self.at += 1

    def read_metadata(self, piece: Piece) -> None:
        """Read the values of constants: JSON, one object, up to its closing brace."""
        self.at += 1
        depth = 0
        while self.token.kind != END:
            depth += {"{": 1, "}": -1}.get(self.token.text, 0)
            self.at += 1
            if depth <= 0:
                break
        piece.name = self.text[piece.start + len("#[metadata]") : self.end_of(self.at - 1)]

    def read_type(self, piece: Piece) -> None:
        piece.name = f"type {self.after_comments(self.at + 1).text}"
        self.type_definition()

    def read_def(self, piece: Piece) -> None:
        self.at += 1
        self.skip_comments()
        piece.name = self.token.text[1:]
        self.at += 1
        piece.function = self.function()

    def read_fn(self, piece: Piece) -> None:
        self.at += 1
        piece.name = "main"
        piece.function = self.function()

    # -- runs of bindings

    def read_run(self, piece: Piece) -> None:
        self.run, self.run_scope, self.first_uses = piece, Scope(), []
        self.temporaries.clear()
        self.depth = 1
        lets: list[tuple[Expr, Expr, int]] = []
        while True:
            drive(self.statement(self.run_scope, lets))
            last = self.at
            if not self.another(piece):
                break
        self.at = last
        has_result = self.has_result()
        piece.end = self.end_of(self.at - 1)
        if self.token.text == "}":
            self.at += 1  # the closing brace of a function whose beginning was not pasted
        for name, known in self.temporaries.items():
            if known.scope is None:
                known.value.kind, known.value.text = "var", name
                self.first_uses.append((known.offset, known.value))
        piece.free = [variable for _, variable in sorted(self.first_uses, key=lambda use: use[0])]
        piece.values = [known.value for known in self.temporaries.values() if known.scope is not None]
        piece.values += [value for _, value, _ in lets]
        if not piece.values and not has_result:
            raise self.fail("a line `%0 = ...` or an expression, after variables that are free")
        if not has_result:
            piece.result = self.missing_result(lets)
        self.names.leave(self.run_scope)
        self.run = None

    def another(self, piece: Piece) -> bool:
        """Return whether the run goes on, possibly after other text, such as `...` or a remark between two lines."""
        self.skip_comments()
        if self.is_statement():
            return True
        start = self.end_of(self.at - 1)
        while self.token.kind != END and not self.beginning():
            self.at += 1
        if self.token.kind == END or not self.is_statement() or not self.goes_on():
            return False
        cut = self.text[start : self.token.offset]
        piece.edits.append(
            Edit(start, self.token.offset, "\n", f"`{one_line(' '.join(cut.split()))}` between two lines was left out")
        )
        return True

    def is_statement(self) -> bool:
        return self.beginning() == "run" and not (self.token.kind == "local" and self.is_taken(self.token.text[1:]))

    def is_taken(self, name: str) -> bool:
        known = self.temporaries.get(name)
        return known is not None and known.scope is not None

    def is_known(self, name: str) -> bool:
        return self.is_taken(name.split(".")[0]) or self.names.find(name) is not None

    def goes_on(self) -> bool:
        """Return whether the binding here uses a number that the run binds."""
        at = self.at + 2
        while self.tokens[at].kind != END and self.tokens[at].text != ";" and not self.is_binding(at):
            token = self.tokens[at]
            if token.kind == "local" and self.is_known(token.text[1:]):
                return True
            at += 1
        return False

    def has_result(self) -> bool:
        """Read the expression after the bindings, if there is one that uses them."""
        self.skip_comments()
        start, names = self.at, set(self.temporaries)
        token = self.token
        adjacent = self.tokens[min(start + 1, len(self.tokens) - 1)].offset == token.offset + len(token.text)
        if not (token.kind in ("local", "meta") or token.text == "(" or (token.kind == "name" and adjacent)):
            return False
        try:
            self.operand(self.run_scope, self.line())
        except ParseError:
            self.at = start
        bound = [t for t in self.tokens[start : self.at] if t.kind == "local" and self.is_known(t.text[1:])]
        if not bound:
            self.at = start
            for name in set(self.temporaries) - names:
                del self.temporaries[name]
        return bool(bound)

    def missing_result(self, lets: list[tuple[Expr, Expr, int]]) -> str:
        """Return the result of a run that lacks one: its last let, or every value that nothing in it uses."""
        if lets:
            return f"%{lets[-1][0].text}"
        bound = {known.value: name for name, known in self.temporaries.items() if known.scope is not None}
        used = {argument for value in operands_first(bound) for argument in value.args}
        unused = [f"%{name}" for value, name in bound.items() if value not in used and value.kind != "function"]
        unused = unused or [f"%{list(bound.values())[-1]}"]
        return unused[0] if len(unused) == 1 else f"({', '.join(unused)})"

    # -- overridden methods of the reader

    def unbound(self, name: str) -> Expr:
        if self.run is None:
            return super().unbound(name)
        variable = Expr("var", name, line=self.line())
        self.first_uses.append((self.token.offset, variable))
        self.names.bind(self.run_scope, name, variable)
        return variable

    def free_variable(self, scope: Scope) -> None:
        if self.run is None:
            super().free_variable(scope)
            return
        start = self.token.offset
        self.at += 1
        variable = self.variable(scope)
        self.expect(";")
        self.first_uses.append((start, variable))
        self.run.edits.append(Edit(start, self.end_of(self.at - 1), "", "free variables are its parameters"))

    def end_binding(self) -> None:
        if not self.accept(";") and self.run is not None:
            end = self.end_of(self.at - 1)
            self.run.edits.append(Edit(end, end, ";", "a `;` was put where a line had lost it"))


_READERS: dict[str, Callable[[Salvage, Piece], None]] = {
    "version": Salvage.read_version,
    "metadata": Salvage.read_metadata,
    "type": Salvage.read_type,
    "def": Salvage.read_def,
    "fn": Salvage.read_fn,
    "run": Salvage.read_run,
}
"kind of beginning of a program -> the method that reads it"


@dataclass
class Edit:
    """A part of the text that is replaced in the repaired text."""

    start: int
    end: int
    put: str
    said: str
    "for the note"


@dataclass
class Piece:
    """One function, type definition or run of bindings."""

    kind: str
    "def fn type run version metadata"
    start: int
    end: int = 0
    name: str = ""
    function: Expr | None = None
    calls: frozenset[str] = frozenset()
    "global names in it"
    free: list[Expr] = field(default_factory=list)
    "of a run: variables that nothing binds, in the order of their first use"
    values: list[Expr] = field(default_factory=list)
    "of a run: the values that it binds"
    result: str = ""
    "of a run: its last expression, if the text lacks it"
    edits: list[Edit] = field(default_factory=list)
