"""The place at which a rule gave up: its functions are watched while they run, and their source is read.

Nothing here knows what is in a rule: a place is the text of the test that was false, with the values that it read.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import opcode
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from tvm.s_tir import Schedule

from workbench.dialects.compiler.results import Place
from workbench.wording import one_line

SHOWN = 100
"characters of a value"
_RETURNS = {opcode.opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in opcode.opmap}


@dataclass
class _Call:
    """A call of a function in a file that is watched."""

    frame: FrameType
    refused: list[tuple[str, tuple[Place, ...]]] = field(default_factory=list)
    "the functions that it called and that returned None or False, with the places that explain it"
    caught: tuple[int, str] = (0, "")
    "the line and the text of the last error that came to it"


class Watch:
    """Sees the functions of some files return. `files`: what the names of their files begin with."""

    def __init__(self, files: tuple[str, ...]) -> None:
        self.files = tuple(filter(None, files))
        self.open = [_Call(sys._getframe())]  # noqa: SLF001

    @contextmanager
    def on(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(before)

    def declined_at(self) -> tuple[Place, ...]:
        """The test that the rule ended at, and those of the helpers that it asked."""
        refused = self.open[0].refused
        return refused[-1][1] if refused else ()

    def raised_at(self, error: BaseException) -> tuple[Place, ...]:
        """The innermost line of the rule that an error came through."""
        at, found = error.__traceback__, ()
        while at is not None:
            code = at.tb_frame.f_code
            if code.co_filename.startswith(self.files):
                text = linecache.getline(code.co_filename, at.tb_lineno).strip()
                tests = [each.test for each in _path(_function(code), at.tb_lineno) if isinstance(each, ast.Assert)]
                values = {name: value for test in tests for name, value in _values(test, at.tb_frame).items()}
                found = (Place(_name(code), code.co_filename, at.tb_lineno, text, values),)
            at = at.tb_next
        return found

    def _called(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any] | None:
        if event != "call" or not frame.f_code.co_filename.startswith(self.files):
            return None
        frame.f_trace_lines = False
        self.open.append(_Call(frame))
        return self._returned

    def _returned(self, frame: FrameType, event: str, value: Any) -> Callable[..., Any]:
        if self.open[-1].frame is not frame:
            return self._returned
        if event == "exception":
            kind, said, _ = value
            self.open[-1].caught = frame.f_lineno, f"{kind.__name__}: {said}" if str(said) else kind.__name__
        elif event == "return":
            call, caller = self.open.pop(), self.open[-1]
            # an error that passes through a frame ends it as well
            returned = frame.f_code.co_code[frame.f_lasti] in _RETURNS
            if frame.f_code.co_name.startswith("<"):
                caller.refused += call.refused
            elif returned and (value is None or value is False):
                caller.refused.append((frame.f_code.co_name, _explained(call)))
        return self._returned


def _explained(call: _Call) -> tuple[Place, ...]:
    """The test at which a function returned, then that of the helper whose result the test read."""
    frame, code, line = call.frame, call.frame.f_code, call.frame.f_lineno
    path = _path(_function(code), line)
    if isinstance(path[-2:][0] if path else None, ast.ExceptHandler):
        # the statement that failed says why
        line, said = call.caught
        at = _path(_function(code), line)[-1:]
        tests = [(each.test, False) for each in at if isinstance(each, ast.Assert)]
        text = f"{linecache.getline(code.co_filename, line).strip()} ({one_line(said, SHOWN)})"
    else:
        tests = _tests(path)
        parts = [f"not ({ast.unparse(each)})" if otherwise else ast.unparse(each) for each, otherwise in tests]
        text = " and ".join(parts) or linecache.getline(code.co_filename, line).strip()
    values = {name: value for each, _ in tests for name, value in _values(each, frame).items()}
    asked = {name for each, _ in tests for name in _asked(_function(code), each, line)}
    helper = next((places for name, places in reversed(call.refused) if name in asked), ())
    return (Place(_name(code), code.co_filename, frame.f_lineno, text, values), *helper)


def _name(code: CodeType) -> str:
    return getattr(code, "co_qualname", code.co_name)


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse("".join(linecache.getlines(file)))


@cache
def _function(code: CodeType) -> ast.AST:
    """The definition of a function; an empty module if its source cannot be read."""
    with suppress(OSError, SyntaxError):
        for node in ast.walk(_tree(code.co_filename)):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                if first == code.co_firstlineno:
                    return node
    return ast.Module([], [])


def _path(function: ast.AST, line: int) -> list[ast.stmt | ast.ExceptHandler]:
    """The statements and handlers of errors around a line, from the outermost to the innermost."""
    found: list[ast.stmt | ast.ExceptHandler] = []
    inside = function
    while True:
        for each in ast.iter_child_nodes(inside):
            if isinstance(each, (ast.stmt, ast.ExceptHandler)) and each.lineno <= line <= (each.end_lineno or line):
                found.append(each)
                inside = each
                break
        else:
            return found


def _tests(path: Sequence[ast.AST]) -> list[tuple[ast.expr, bool]]:
    """The tests that lead to a return statement, and whether each is false there; or the expression that it returns."""
    if not path or not isinstance(path[-1], ast.Return):
        return []
    value = path[-1].value
    if not (value is None or isinstance(value, ast.Constant)):
        return [(value, False)]
    found: list[tuple[ast.expr, bool]] = []
    for outer, inner in zip(path[-2::-1], path[:0:-1], strict=False):
        if not isinstance(outer, ast.If):
            break
        otherwise = inner in outer.orelse
        found.insert(0, (outer.test, otherwise))
        # a test that is true is a reason; that it is reached by an else needs the tests before it
        if not otherwise:
            break
    return found


def _asked(function: ast.AST, test: ast.expr, line: int) -> set[str]:
    """The names of the functions that a test calls, or that gave the values which it reads."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    asked = _calls(test)
    given: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.NamedExpr)) and node.lineno < line:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in (each for one in targets for each in ast.walk(one) if isinstance(each, ast.Name)):
                if target.id in names:
                    given[target.id] = _calls(node.value)
    return asked.union(*given.values())


def _calls(expression: ast.expr) -> set[str]:
    called = [node.func for node in ast.walk(expression) if isinstance(node, ast.Call)]
    return {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in called
        if isinstance(each, (ast.Name, ast.Attribute))
    }


def _values(test: ast.expr, frame: FrameType) -> Mapping[str, str]:
    """The values of what a test reads: names, attributes, elements and lengths. Nothing else is evaluated."""
    found: dict[str, str] = {}
    known = {**vars(builtins), **frame.f_globals, **frame.f_locals}

    def visit(node: ast.AST) -> None:
        function = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if _is_read(node) or (function == "len" and isinstance(node, ast.Call) and all(map(_is_read, node.args))):
            with suppress(Exception):  # a value that cannot be read is left out
                root = next(each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id != "len")
                if root != "self" and not isinstance(known[root], _SAY_NOTHING):
                    value = eval(compile(ast.Expression(node), "<test>", "eval"), known)  # type: ignore[arg-type]
                    found[ast.unparse(node)] = one_line(_text(value), SHOWN)
        elif not isinstance(node, ast.Call) or function in dir(builtins):
            # what a helper is given says little; its own test is shown
            for child in ast.iter_child_nodes(node):
                visit(child)
        elif isinstance(node.func, ast.Attribute):
            visit(node.func.value)

    visit(test)
    return found


_SAY_NOTHING = (type, ModuleType, BuiltinFunctionType, FunctionType, Schedule)


def _text(value: object) -> str:
    """A value as text; a set in an order that is the same in every process."""
    return f"{{{', '.join(sorted(map(str, value)))}}}" if isinstance(value, (set, frozenset)) else str(value)


def _is_read(node: ast.AST) -> bool:
    """Return whether an expression only reads a name, an attribute or an element."""
    if isinstance(node, ast.Subscript):
        return _is_read(node.value) and isinstance(node.slice, (ast.Constant, ast.Name, ast.UnaryOp))
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_read(node.value))
