"""The examples of the docstrings and the code of the documentation's pages run, and give the outputs shown."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import os
import re
import shutil
from pathlib import Path

import pytest
from ipywidgets import Widget

import workbench as wb

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.M | re.S)
"a block of code, and the output that is shown right after it"
NEEDS = re.compile(r"^\*Needs (no TVM|TVM with Relax)\b", re.M)
"a page with code begins with this line"


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


PORT = "9190"
TRACKER = f'wb.Tracker("127.0.0.1", {PORT}'
"a page with it gets TVM's tracker and a server"
README = DOCS.parent / "README.md"
PAGES = {path.relative_to(DOCS.parent).as_posix(): path for path in [README, *sorted(DOCS.rglob("*.md"))]}
PAGES = {name: path for name, path in PAGES.items() if "made" not in path.parts and BLOCK.search(text_of(path))}
WRITE = os.environ.get("TVM_WORKBENCH_WRITE_DOCS")
"set it to write today's outputs into the pages"
NAMES = [name for name in wb.__all__ if not name.startswith("__")]
NO_TVM = {
    "Config", "Graph", "Pipeline", "Predict", "Space", "Tracker", "Workload", "WorkbenchError", "assert_fused",
    "bandwidth", "ceilings", "constant_chains", "diff", "explain_fusion", "load", "load_all", "match",
    "parallel_branches", "pattern_for", "regions",
}  # fmt: skip
SLOW = {"tune_schedules", "docs/howto/measure-on-a-remote-board.md"}


def example(name: str) -> doctest.DocTest:
    """The example in a public name's docstring; a skipped line is none."""
    value = inspect.unwrap(getattr(wb, name))
    names = vars(inspect.getmodule(value) or value) | {"wb": wb}
    found = doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", names, name, None, 0)
    found.examples = [each for each in found.examples if doctest.SKIP not in each.options]
    return found


EXAMPLES = [name for name in NAMES if example(name).examples]


def marked(name: str, needs_tvm: bool) -> object:
    marks = [pytest.mark.relax] if needs_tvm else []
    return pytest.param(name, marks=[*marks, pytest.mark.long] if name in SLOW else marks)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the recorded traces, where pages write their files."""
    for path in (DOCS / "recorded").iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.mark.parametrize("name", [marked(name, name not in NO_TVM) for name in EXAMPLES])
def test_docstring_example(name: str) -> None:
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(example(name), out=said.append).failed == 0, "".join(said)


def needs(path: Path) -> str:
    """The text of the page's line about TVM; empty where it lacks one."""
    found = NEEDS.search(text_of(path))
    return found[1] if found else "TVM with Relax" if path == README else ""


def run_cell(code: str, name: str, names: dict[str, object]) -> object:
    """Run code as a notebook's cell; return the value of its last expression, which a notebook shows."""
    *before, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        exec(compile(code, name, "exec"), names)
        return None
    exec(compile(ast.Module(before, []), name, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names)


@pytest.mark.parametrize("name", [marked(name, needs(path) == "TVM with Relax") for name, path in PAGES.items()])
def test_page_code(name: str, request: pytest.FixtureRequest) -> None:
    path, names, port = PAGES[name], {"__name__": "page"}, PORT
    lasts: list[object] = []
    assert needs(path), f"{name} has code, so it needs a line `*Needs no TVM.*` or `*Needs TVM with Relax.*`"
    if TRACKER in text_of(path):
        park = request.getfixturevalue("park")
        park.with_servers(1)
        port = str(park.tracker.port)

    def run(block: re.Match[str]) -> str:
        known = {id(value) for value in names.values()}
        with contextlib.redirect_stdout(io.StringIO()) as output:
            last = run_cell(block[1].replace(TRACKER, TRACKER.replace(PORT, port)), name, names)
        made = [value for value in names.values() if isinstance(value, Widget) and id(value) not in known]
        lasts.append(last)
        assert not made or isinstance(last, Widget), f"a notebook shows no widget after\n{block[1]}"
        shown = block[2]
        if WRITE and shown is not None:
            return block[0].replace(f"```text\n{shown}```", f"```text\n{output.getvalue()}```")
        assert not shown or output.getvalue().split() == shown.split(), f"after\n{block[1]}\n{output.getvalue()}"
        return block[0]

    after = BLOCK.sub(run, text_of(path))
    if WRITE:
        path.write_text(after, encoding="utf-8")
    for view in [*names.values(), *lasts]:
        if isinstance(view, Widget) and hasattr(view, "wait"):
            view.wait()


@pytest.mark.parametrize("name", NAMES)
def test_public_name_has_an_example(name: str) -> None:
    on_a_page = any(f"wb.{name}" in code for path in PAGES.values() for code, _ in BLOCK.findall(text_of(path)))
    assert name in EXAMPLES or on_a_page, f"give {name} an example in its docstring, or code on a page of docs/"
