"""TVMScript in a text or a .py file: the part that is the program, and the text of that program for TVM's parser.

A graph is data, and TVM's parser evaluates its input. So it never gets the text itself, but text made from the tree
that `statements.py` accepted. Python around the program (imports, prints, a `main`) is left out, never run.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from workbench.dialects.relax.parser.expressions import Vocabulary
from workbench.dialects.relax.parser.nodes import Refused, declared_dimension, tree_of
from workbench.dialects.relax.parser.statements import Grammar
from workbench.errors import LoadError, ParseError
from workbench.graph.received import DIGITS, is_too_long

PROGRAMS = ("I.ir_module", "R.function", "T.prim_func")
TOO_DEEP = "this text nests too deeply to be read as TVMScript; give what IRModule.script() prints"


@dataclass(frozen=True)
class Source:
    """The part of a text that is TVMScript."""

    program: str
    "text made from the accepted tree, for TVM's parser"
    metadata: str | None
    "the JSON with the values of constants, if the text has one"
    left_out: int
    "number of statements left out, except imports and comments"
    tree: ast.Module
    "the accepted tree, with the lines of the original text"

    def original_line(self, line: int) -> int:
        """Return the line of the original text for a line of `program`."""
        pairs = zip(_statements(tree_of(self.program)), _statements(self.tree), strict=True)
        return max(((made.lineno, old.lineno) for made, old in pairs if made.lineno <= line), default=(0, line))[1]


def find_program(text: str, words: Vocabulary) -> Source:
    """Return the one module or function that a text holds.

    Raises
    ------
    LoadError
        The text is not valid Python, holds no TVMScript module or several, or holds something that TVM never prints.
    """
    # Python ends a line only at these, and a ParseError counts the same lines
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    body = _parsed(text).body
    program = _only_program(body)
    longest = next(filter(is_too_long, ast.walk(program)), None)
    if longest is not None:
        raise _error(text, Refused(longest, f"a number of more than {DIGITS} digits"), has_metadata=True)
    dimensions = [s for s in body if declared_dimension(s) is not None]
    metadata = [data for s in body if (data := _metadata(s)) is not None]
    try:
        names = [name for s in dimensions for name in _assigned(s)]
        Grammar(words, program, names, metadata=bool(metadata)).check()
        tree = ast.Module([*dimensions, program], [])
        made = _text_of(tree)
    except Refused as refused:
        raise _error(text, refused, has_metadata=bool(metadata)) from None
    except RecursionError:
        raise LoadError(TOO_DEEP) from None
    others = [s for s in body if s not in tree.body and not isinstance(s, (ast.Import, ast.ImportFrom))]
    return Source(made, metadata[-1] if metadata else None, len(others) - len(metadata), tree)


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
    programs = [s for s in body if isinstance(s, (ast.ClassDef, ast.FunctionDef)) and _is_script(s)]
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


def _error(text: str, refused: Refused, has_metadata: bool) -> LoadError:
    if not has_metadata and refused.reason == "the name metadata":
        return LoadError(
            "this text has constants and not their values; print it with script(show_meta=True), which keeps the constants"
        )
    start = _start_of_line(text, getattr(refused.node, "lineno", 1))
    # Python counts columns in bytes
    before = text[start:].split("\n", 1)[0].encode()[: getattr(refused.node, "col_offset", 0)]
    expected = f"TVMScript as TVM prints it, not {refused.reason}"
    return ParseError(expected, text, start + len(before.decode(errors="ignore")))


def _is_script(statement: ast.ClassDef | ast.FunctionDef) -> bool:
    decorators = (d.func if isinstance(d, ast.Call) else d for d in statement.decorator_list)
    return any(
        isinstance(d, ast.Attribute) and isinstance(d.value, ast.Name) and f"{d.value.id}.{d.attr}" in PROGRAMS
        for d in decorators
    )


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
