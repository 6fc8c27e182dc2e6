"""Contract tests, those of the `dialect` fixture, name no dialect: what differs is in tests/dialect_facts.py, with its reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NAMES = re.compile(r"\b(relay|relax)\b", re.IGNORECASE)
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("workbench_widget/test_exploring.py", "module"): "a program of two operators, in each dialect's own text",
    ("workbench_widget/test_editing.py", "module"): "an entry of a damaged file of presets is of some dialect",
}
"(file, the function or `module`) -> why it may name one"


def takes_dialect(function: ast.FunctionDef | ast.Lambda) -> bool:
    return any(argument.arg == "dialect" for argument in (*function.args.args, *function.args.kwonlyargs))


def is_contract(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDef) and takes_dialect(node) for node in ast.walk(tree))


def said(node: ast.AST) -> list[str]:
    """What a node spells out: its text, its name, or what it imports."""
    match node:
        case ast.Constant(value=str(text)) | ast.Name(id=text) | ast.Attribute(attr=text):
            return [text]
        case ast.Import(names=names):
            return [name.name for name in names]
        case ast.ImportFrom(module=module, names=names):
            return [module or "", *(name.name for name in names)]
        case ast.Call(func=ast.Name(id="hasattr" | "getattr"), args=[ast.Name(id="tvm"), *_]):
            return ["relay or relax: what this TVM has is asked"]
    return []


def docstrings(tree: ast.Module) -> set[int]:
    """The ids of texts that nothing reads."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def named(tree: ast.Module) -> list[tuple[str, str]]:
    """(the function or `module`, what it says) wherever a dialect is named."""
    silent = docstrings(tree)
    return [
        (top.name if isinstance(top, ast.FunctionDef) else "module", text)
        for top in tree.body
        for node in ast.walk(top)
        if id(node) not in silent
        for text in said(node)
        if NAMES.search(text)
    ]


CONTRACTS = {
    path.relative_to(TESTS).as_posix(): tree
    for path in sorted((*TESTS.glob("test_*.py"), *TESTS.glob("workbench_widget/test_*.py")))
    if is_contract(tree := ast.parse(path.read_text("utf-8")))
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_no_dialect_is_named(name: str) -> None:
    found = [(where, text) for where, text in named(CONTRACTS[name]) if (name, where) not in EXCEPTIONS]
    assert found == [], "ask the dialect, or tests/dialect_facts.py"


def test_exceptions_are_of_use() -> None:
    for (file, where), reason in EXCEPTIONS.items():
        assert reason
        assert where in {place for place, _ in named(CONTRACTS[file])}


def test_contracts_are_found() -> None:
    assert {"test_dialect_contract.py", "test_build_contract.py", "test_tune.py"} < CONTRACTS.keys()


@pytest.mark.parametrize(
    "source",
    [
        "TABLE = {'relay': 1}",
        "def test_a(dialect):\n    assert dialect != 'relax'",
        "def test_a(dialect):\n    import tvm\n    tvm.relay.var('x')",
        "def test_a(dialect):\n    from tvm import relax",
        "def test_a(dialect):\n    import workbench.dialects.relay.graph",
        "def test_a(dialect):\n    assert hasattr(tvm, 'nd')",
        "def test_a(dialect):\n    assert op == 'relax.reshape'",
    ],
)
def test_a_name_is_seen(source: str) -> None:
    assert named(ast.parse(source))


def test_a_docstring_may_name_one() -> None:
    tree = ast.parse('"""Relay and Relax."""\ndef test_a(dialect):\n    "Relax too."\n    assert dialect')
    assert is_contract(tree)
    assert named(tree) == []
