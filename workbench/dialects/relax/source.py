"""TVMScript in a text or a .py file, looked through before TVM's parser sees it.

TVM's parser hands the expressions of a script, and the strings in its shapes, to Python's `eval`: a text that says
`R.shape([__import__("os").system("...")])` runs a program when it is read. A graph is data. So what is not the language
that TVM prints is refused here, by what it is rather than by what it might do, and Python around the script (imports,
prints, a `main`) is left out, never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from workbench.errors import LoadError, ParseError

PROGRAMS = ("I.ir_module", "R.function", "T.prim_func")
_PLAIN_PYTHON = frozenset({"bool", "float", "int", "len", "max", "min", "range", "TypeVar", "Axis", "metadata"})
_OPERATORS = ("tvm.relax.op", "tvm.relax.script.parser.dist")
_STATEMENTS = (
    ast.ClassDef, ast.FunctionDef, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.With, ast.For,
    ast.While, ast.If, ast.Assert, ast.Pass, ast.Break, ast.Continue,
)  # fmt: skip
_EXPRESSIONS = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict, ast.IfExp, ast.Lambda, ast.List,
    ast.Name, ast.Slice, ast.Starred, ast.Subscript, ast.Tuple, ast.UnaryOp,
)  # fmt: skip


@dataclass(frozen=True)
class Language:
    """What a script may look up."""

    namespaces: Mapping[str, Any]
    "`I`, `R`, `T` and what they stand for"
    methods: frozenset[str]
    "the attributes that a script may ask of its own values (`A.access_ptr`)"


@dataclass(frozen=True)
class Source:
    """The part of a text that is TVMScript."""

    program: str
    "the text with everything else blanked out, so that lines keep their numbers"
    left_out: int
    "how many statements were blanked out, imports and comments not counted"


def find_program(text: str, language: Language) -> Source:
    """The one module or function that a text holds.

    Raises
    ------
    LoadError
        The text is not Python's grammar, holds no TVMScript or more than one, or holds something that TVM never prints.
    """
    body = _parsed(text).body
    programs = [s for s in body if isinstance(s, (ast.ClassDef, ast.FunctionDef)) and _is_script(s)]
    if not programs:
        raise LoadError(
            "this text holds no TVMScript; give what IRModule.script() prints: a class under @I.ir_module or a function under @R.function"
        )
    if len(programs) > 1:
        names = ", ".join(program.name for program in programs)
        raise LoadError(f"this text holds {len(programs)} programs ({names}), and a workload is one; leave one of them")
    dimensions = [s for s in body if _is_type_variable(s)]
    metadata = [s for s in body if _is_metadata(s)]
    _Check(text, language, programs[0].name, [*dimensions, programs[0]]).run()
    kept = [*dimensions, *metadata, programs[0]]
    others = [s for s in body if s not in kept and not isinstance(s, (ast.Import, ast.ImportFrom))]
    return Source(_only(text, kept), len(others))


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        lines = text.splitlines(keepends=True)[: max(0, (error.lineno or 1) - 1)]
        raise ParseError(
            f"Python's grammar ({error.msg})", text, sum(map(len, lines)) + max(0, (error.offset or 1) - 1)
        ) from None
    except (ValueError, RecursionError, MemoryError):
        raise LoadError(
            "this text nests too deeply to be read as TVMScript; give what IRModule.script() prints"
        ) from None


def _is_script(statement: ast.ClassDef | ast.FunctionDef) -> bool:
    return any(_decorator(d) in PROGRAMS for d in statement.decorator_list)


def _decorator(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _is_metadata(statement: ast.stmt) -> bool:
    """`metadata = tvm.ir.load_json("...")`, which holds the values of constants."""
    return (
        isinstance(statement, ast.Assign)
        and [ast.unparse(target) for target in statement.targets] == ["metadata"]
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == "tvm.ir.load_json"
        and [type(argument) for argument in statement.value.args] == [ast.Constant]
        and not statement.value.keywords
    )


def _is_type_variable(statement: ast.stmt) -> bool:
    """`n = TypeVar("n")`, which declares a symbolic dimension."""
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) == "TypeVar"
    )


class _Check:
    """Refuses what is not TVMScript."""

    def __init__(self, text: str, language: Language, program: str, statements: list[ast.stmt]) -> None:
        self.text = text
        self.language = language
        self.modules = {"cls", program}
        self.nodes = [node for statement in statements for node in ast.walk(statement)]
        self.functions = {node.name for node in self.nodes if isinstance(node, ast.FunctionDef)}
        self.bound = {*_bound(self.nodes), "cls"}

    def run(self) -> None:
        if taken := self.bound & {*self.language.namespaces, *_PLAIN_PYTHON}:
            raise LoadError(f"this text binds {', '.join(sorted(taken))}, which TVMScript needs for itself; rename it")
        # a namespace that is only ever looked into can not be passed on and looked into elsewhere
        roots = {id(node.value) for node in self.nodes if isinstance(node, ast.Attribute)}
        for node in self.nodes:
            if not self.is_sound(node, roots):
                raise self.refused(node)

    def is_sound(self, node: ast.AST, roots: set[int]) -> bool:
        if isinstance(node, ast.stmt) and not isinstance(node, _STATEMENTS):
            return False
        if isinstance(node, ast.expr) and not isinstance(node, _EXPRESSIONS):
            return False
        if isinstance(node, ast.Name):
            if node.id in self.language.namespaces:
                return id(node) in roots
            return node.id in self.bound or node.id in _PLAIN_PYTHON
        if isinstance(node, ast.Attribute):
            return self.may_look_up(node, roots)
        if isinstance(node, ast.Constant):
            return not isinstance(node.value, str) or _is_only_text(node.value)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            return all(_decorator(decorator) in PROGRAMS for decorator in node.decorator_list)
        if isinstance(node, ast.arguments):
            return not (node.defaults or node.kw_defaults)
        if isinstance(node, ast.BinOp):
            # a string that is put together could not be looked at
            return not _mentions_text(node)
        if isinstance(node, (ast.List, ast.Tuple)):
            # TVM prints no list with a hole, and a shape with one ends the process
            return not any(isinstance(item, ast.Constant) and item.value is None for item in node.elts)
        if isinstance(node, ast.Call):
            return isinstance(node.func, (ast.Name, ast.Attribute))
        if isinstance(node, ast.Assign):
            return self.is_sound_assignment(node)
        return True

    def is_sound_assignment(self, node: ast.Assign) -> bool:
        if isinstance(node.value, ast.Lambda) or (
            isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        ):
            return False
        to_module = any(isinstance(target, ast.Name) and target.id in self.modules for target in node.targets)
        return not to_module or (isinstance(node.value, ast.Name) and node.value.id in self.modules)

    def may_look_up(self, node: ast.Attribute, roots: set[int]) -> bool:
        steps, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            steps.append(root.attr)
            root = root.value
        if any(step.startswith("_") for step in steps):
            return False
        if isinstance(root, ast.Name) and root.id in self.modules and node.value is root:
            return node.attr in self.functions
        if not (isinstance(root, ast.Name) and root.id in self.language.namespaces):
            return node.attr in self.language.methods
        found = self.language.namespaces[root.id]
        for step in reversed(steps):
            found = getattr(found, step, None)
            # `R.nn` is a module of operators; other modules are what TVM happens to import, `os` among them
            if isinstance(found, ModuleType) and not (
                found.__name__.startswith(_OPERATORS) and (step != node.attr or id(node) in roots)
            ):
                return False
        # compiles CUDA and Triton sources where it stands
        return "external_kernel" not in str(getattr(found, "__module__", ""))

    def refused(self, node: ast.AST) -> ParseError:
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        lines = self.text.splitlines(keepends=True)
        # Python counts columns in bytes
        before = lines[line - 1].encode()[:column].decode(errors="ignore")
        return ParseError(
            "TVMScript, which is read and never run", self.text, sum(map(len, lines[: line - 1])) + len(before)
        )


def _bound(nodes: list[ast.AST]) -> Iterator[str]:
    """Every name that something in the script binds."""
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name


def _mentions_text(node: ast.AST) -> bool:
    """Whether a string stands in an expression, other than as an argument of TVM's own functions: those give no string."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, ast.Constant) and isinstance(current.value, str):
            return True
        if not (isinstance(current, ast.Call) and isinstance(current.func, ast.Attribute)):
            stack.extend(ast.iter_child_nodes(current))
    return False


def _is_only_text(value: str) -> bool:
    """Whether a string would do nothing if it were evaluated: a shape's strings are."""
    try:
        parsed = ast.parse(value.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return not any(isinstance(node, (ast.Call, ast.Lambda, ast.Await, ast.comprehension)) for node in ast.walk(parsed))


def _only(text: str, kept: list[ast.stmt]) -> str:
    lines = text.splitlines()
    wanted: set[int] = set()
    for statement in kept:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        wanted.update(range(first - 1, statement.end_lineno or first))
    return "\n".join(line if i in wanted else "" for i, line in enumerate(lines)) + "\n"
