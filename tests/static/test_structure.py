"""Rules about the source that keep it easy to find one's way in: each import resolves, each dispatch is a table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("workbench", "tests", "benchmarks")


def sources(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "node_modules" not in path.parts:
                yield path.relative_to(ROOT), parse(path)


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def file_of(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)


@cache
def names_in(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
    return names


def unresolved(node: ast.AST) -> Iterator[str]:
    """Names of ours that an import asks for and no file has; the package's own names are lazy."""
    if isinstance(node, ast.Import):
        wanted = [alias.name for alias in node.names if alias.name.startswith("workbench.")]
        yield from (name for name in wanted if file_of(name) is None)
    elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("workbench."):
        home = file_of(node.module or "")
        for alias in node.names:
            whole = f"{node.module}.{alias.name}"
            # a package whose names are lazy has them in its stub
            stub = None if home is None else home.with_suffix(".pyi")
            known = set() if home is None else names_in(stub if stub is not None and stub.is_file() else home)
            if alias.name not in known and file_of(whole) is None:
                yield whole


def test_every_import_of_ours_resolves() -> None:
    """Pyright does not report a missing import, because one environment never has both TVMs."""
    missing = [f"{path}: {name}" for path, tree in sources(*FOLDERS) for n in ast.walk(tree) for name in unresolved(n)]
    assert missing == []


def is_composed(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) and any(isinstance(part, ast.Constant) for part in node.values)


def composes_a_name(node: ast.AST) -> bool:
    """Return whether a method or a global is looked up by a name made of parts, which no editor can follow."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        return is_composed(node.args[1]) and isinstance(node.args[0], ast.Name) and node.args[0].id in ("self", "cls")
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        return isinstance(node.value.func, ast.Name) and node.value.func.id == "globals" and is_composed(node.slice)
    return False


def test_no_method_is_found_by_a_composed_name() -> None:
    found = [f"{p}:{n.lineno}" for p, tree in sources("workbench") for n in ast.walk(tree) if composes_a_name(n)]
    assert found == []


def test_a_composed_name_is_recognized() -> None:
    assert composes_a_name(ast.parse('getattr(self, f"_on_{kind}")', mode="eval").body)
    assert composes_a_name(ast.parse('globals()[f"_{code}"]', mode="eval").body)
    assert not composes_a_name(ast.parse("getattr(self, name)", mode="eval").body)


def test_no_workload_is_trusted_by_default() -> None:
    """A Workload that a user makes of an own module is trusted; one that the package makes says whether it is."""
    made = [
        f"{path}:{node.lineno}"
        for path, tree in sources("workbench")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Workload", "base.Workload")
        if "trusted" not in {keyword.arg for keyword in node.keywords}
    ]
    assert made == []


STARTS = ("subprocess.run", "subprocess.Popen")
TEMPORARY = ("tempfile.mkdtemp", "tempfile.TemporaryDirectory")


def calls(tree: ast.Module, *names: str) -> Iterator[tuple[ast.FunctionDef, set[str | None]]]:
    """Yield the function around each call of one of these, and the call's keywords."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func) in names:
                yield function, {keyword.arg for keyword in node.keywords}


def test_no_program_starts_in_the_working_folder() -> None:
    """Python imports from it, and other programs read settings there; `python -I` does not."""
    found = [(path, *call) for path, tree in sources("workbench") for call in calls(tree, *STARTS)]
    assert len(found) > 6
    assert [
        f"{p}: {f.name}" for p, f, keywords in found if "cwd" not in keywords and "'-I'" not in ast.unparse(f)
    ] == []


def test_temporary_folders_are_removed_after_a_kill() -> None:
    """`workbench.temporary` makes them; the child process's own are in a folder that its notebook removes."""
    found = [(path, *call) for path, tree in sources("workbench") for call in calls(tree, *TEMPORARY)]
    in_child = ("workbench/jobs", "workbench/dialects", "workbench/temporary.py")
    assert [f"{p}: {f.name}" for p, f, keys in found if "dir" not in keys and not str(p).startswith(in_child)] == []


QUOTED = {
    "shell": r"(?:tvm-workbench (?:trace|show|kernels|measure|remarks|migrate|export)|python3? -m|`--?[a-z]+| --?[a-z]{2,}) [^`]*\0",
    "comment": r"# \0",
}
"function of workbench.quoting -> a text in whose language it quotes; a field of an f-string is a NUL"
BY_HAND = re.compile(r"""[(\[,{ ](['"])\0\1[)\],}]""")


def unquoted(node: ast.AST) -> Iterator[str]:
    """Yield the fields of an f-string that are in another language and not quoted for it."""
    if not isinstance(node, ast.JoinedStr):
        return
    text = "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
    fields = [ast.unparse(part.value) for part in node.values if isinstance(part, ast.FormattedValue)]
    if BY_HAND.search(text):
        yield text
    for quote, language in QUOTED.items():
        for found in re.finditer(language, text):
            for place in range(text.count("\0", 0, found.start()), text.count("\0", 0, found.end())):
                if not fields[place].startswith(quote):
                    yield f"{quote}: {fields[place]}"


def test_names_in_commands_and_code_are_quoted() -> None:
    found = [
        (f"{path}:{n.lineno}", *unquoted(n))
        for path, tree in sources("workbench")
        for n in ast.walk(tree)
        if isinstance(n, ast.JoinedStr)
    ]
    assert [each for each in found if len(each) > 1] == []
    assert len(found) > 1000


@pytest.mark.parametrize(
    "text",
    ["tvm-workbench migrate {shell(a)} -o {b}", "run `--input {a}`", "python -m x --key {a}", "x  # {a}", "f('{a}')"],
)
def test_a_name_that_is_not_quoted_is_recognized(text: str) -> None:
    assert len(list(unquoted(ast.parse(f"f{text!r}", mode="eval").body))) == 1


def test_tables_become_csv_in_one_place() -> None:
    writers = [str(path) for path, _ in sources("workbench") if ".to_csv(" in (ROOT / path).read_text()]
    assert writers == ["workbench/quoting.py"]


def test_files_named_by_ci_are_there() -> None:
    script = (ROOT / ".ci/lanes").read_text()
    named = [ROOT / name for name in re.findall(r"tests/[\w/]+\.py", script)]
    named += [ROOT / "tests/relax" / name for name in re.findall(r"\$at/(\w+\.py)", script)]
    assert len(named) > 5
    assert [path for path in named if not path.is_file()] == []


def test_module_constants_are_assigned_once() -> None:
    """A second assignment of a name changes what the functions above it read."""
    twice = []
    for path, tree in sources("workbench"):
        assigned = (node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign)))
        targets = [
            each for node in assigned for each in (node.targets if isinstance(node, ast.Assign) else [node.target])
        ]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        twice += [(str(path), name) for name in sorted({*names}) if names.count(name) > 1]
    assert twice == []


def test_files_that_lanes_depend_on_exist() -> None:
    lanes = (ROOT / ".ci/lanes").read_text()
    named = re.findall(r'^  \[(\w+)\]="(.+)"$', lanes, re.MULTILINE)
    assert {lane for lane, _ in named} == {line.split()[0] for line in (ROOT / ".ci/passed").read_text().splitlines()}
    assert [path for _, paths in named for path in paths.split() if not (ROOT / path).exists()] == []
