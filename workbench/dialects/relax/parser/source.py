"""TVMScript in a text or a .py file: the part that is the program, and the text of that program for TVM's parser.

A graph is data, and TVM's parser evaluates its input. So it never gets the text itself, but text made from the tree
that `statements.py` accepted. Python around the program (imports, prints, a `main`) is left out, never run.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from workbench.dialects.relax.parser.expressions import Vocabulary
from workbench.dialects.relax.parser.nodes import Refused, declared_dimension, tree_of
from workbench.dialects.relax.parser.repair import Repair, is_program, plain_code
from workbench.dialects.relax.parser.statements import Grammar
from workbench.errors import LoadError, ParseError
from workbench.graph.received import DIGITS, is_too_long
from workbench.wording import counted

_UNCLOSED = re.compile("was never closed|unterminated")
TOO_DEEP = "this text nests too deeply to be read as TVMScript; give what IRModule.script() prints"


@dataclass(frozen=True)
class Source:
    """The part of a text that is TVMScript."""

    program: str
    "text made from the accepted tree, for TVM's parser"
    metadata: str | None
    "the JSON with the values of constants, if the text has one"
    notes: list[str]
    "repairs, and statements left out"
    tree: ast.Module
    "the accepted tree, with the lines of the original text"

    def original_line(self, line: int) -> int:
        """Return the line of the original text for a line of `program`."""
        pairs = zip(_statements(tree_of(self.program)), _statements(self.tree), strict=True)
        return max(((made.lineno, old.lineno) for made, old in pairs if made.lineno <= line), default=(0, line))[1]


def find_program(text: str, words: Vocabulary, *, valued: bool = True) -> Source:
    """Return the one module or function that a text holds.

    `valued`: use the values of constants that the text has; else constants are parameters. Raises LoadError: the text
    is not valid Python, holds no TVMScript module or several, or holds something that TVM never prints.
    """
    # Python ends a line only at these, and a ParseError counts the same lines
    text, body, notes = _body_of(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    metadata = [data for s in body if (data := _metadata(s)) is not None] if valued else []
    repair = Repair(words, bool(metadata))
    try:
        body = repair.statements(body)
    except RecursionError:
        raise LoadError(TOO_DEEP) from None
    program = _only_program(body)
    longest = next(filter(is_too_long, ast.walk(program)), None)
    if longest is not None:
        raise _error(text, Refused(longest, f"a number of more than {DIGITS} digits"))
    dimensions = [s for s in body if declared_dimension(s) is not None]
    try:
        names = [name for s in dimensions for name in _assigned(s)]
        Grammar(words, program, names, metadata=bool(metadata)).check()
        tree = ast.Module([*dimensions, program], [])
        made = _text_of(tree)
    except Refused as refused:
        raise _error(text, refused) from None
    except RecursionError:
        raise LoadError(TOO_DEEP) from None
    others = [s for s in body if s not in tree.body and not isinstance(s, (ast.Import, ast.ImportFrom))]
    left_out = sum(_metadata(s) is None for s in others)
    if left_out:
        notes.append(
            f"left out, since a workload is read and not run: {counted(left_out, 'statement')} around the program"
        )
    return Source(made, metadata[-1] if metadata else None, [*notes, *repair.notes], tree)


def _body_of(text: str) -> tuple[str, list[ast.stmt], list[str]]:
    """Return a text that is Python, its statements, and notes of what was repaired for it."""
    try:
        return text, _parsed(text).body, []
    except ParseError:
        plain, notes = plain_code(text)
    try:
        return plain, _parsed(plain).body, notes
    except ParseError as error:
        lines = plain.rstrip().split("\n")
        if error.line < len(lines) - 1 or not _UNCLOSED.search(error.expected):
            raise
        # a paste that was cut off within its last statement
        plain = "\n".join(lines[: error.line - 1])
        return plain, _parsed(plain).body, [*notes, "the last statement is cut off, and left out"]


def split(text: str) -> list[str]:
    """Return a text for each program in a text, with the lines before it; lines keep their numbers."""
    try:
        plain, body, _ = _body_of(text)
    except LoadError:
        return [text]
    ends = [statement.end_lineno or 0 for statement in body if is_program(statement)]
    if len(ends) < 2:
        return [text]
    lines = plain.split("\n")
    return ["\n" * start + "\n".join(lines[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def _text_of(tree: ast.Module) -> str:
    """Return the text of a tree; raises if Python reads the text as another tree."""
    made = ast.unparse(tree)
    try:
        same = ast.dump(tree_of(made)) == ast.dump(tree)
    except SyntaxError:
        same = False
    if not same:
        raise LoadError("this text can not be written again as it was read; give what IRModule.script() prints")
    return made


def _only_program(body: list[ast.stmt]) -> ast.ClassDef | ast.FunctionDef:
    programs = [s for s in body if isinstance(s, (ast.ClassDef, ast.FunctionDef)) and is_program(s)]
    if not programs:
        raise LoadError(
            "this text holds no TVMScript; give what IRModule.script() prints: a class under @I.ir_module or a function under @R.function"
        )
    if len(programs) > 1:
        names = ", ".join(program.name for program in programs)
        raise LoadError(f"this text holds {len(programs)} programs ({names}), and a workload is one; leave one of them")
    return programs[0]


def _parsed(text: str) -> ast.Module:
    for offset, character in enumerate(text):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise ParseError(f"a character of a text, not {character!r}", text, offset)
    try:
        return tree_of(text)
    except SyntaxError as error:
        offset = _start_of_line(text, error.lineno or 1) + max(0, (error.offset or 1) - 1)
        raise ParseError(f"Python's grammar ({error.msg})", text, min(offset, len(text))) from None
    except (ValueError, RecursionError, MemoryError):
        raise LoadError(TOO_DEEP) from None


def _start_of_line(text: str, line: int) -> int:
    return sum(len(each) + 1 for each in text.split("\n", max(0, line - 1))[: max(0, line - 1)])


def _error(text: str, refused: Refused) -> LoadError:
    start = _start_of_line(text, getattr(refused.node, "lineno", 1))
    # Python counts columns in bytes
    before = text[start:].split("\n", 1)[0].encode()[: getattr(refused.node, "col_offset", 0)]
    expected = f"TVMScript as TVM prints it, not {refused.reason}"
    return ParseError(expected, text, start + len(before.decode(errors="ignore")))


def _assigned(statement: ast.stmt) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _metadata(statement: ast.stmt) -> str | None:
    """Return the JSON in `metadata = tvm.ir.load_json("...")`, which holds the values of constants."""
    if not isinstance(statement, ast.Assign) or _assigned(statement) != ["metadata"]:
        return None
    match statement.value:
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="tvm"), attr="ir"), attr="load_json"),
            args=[ast.Constant(value=str(text))],
            keywords=[],
        ):
            return text
    return None


def _statements(tree: ast.Module) -> list[ast.stmt]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
