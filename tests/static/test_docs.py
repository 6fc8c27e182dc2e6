"""Every public name has a page in the reference, and links between Markdown files lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from urllib.parse import unquote

import pytest

from workbench import cli

ROOT = Path(__file__).parents[2]
LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)\s]*)?\)|(?:src|srcset|href)="([^"#]+)')
CODE = re.compile(r"^(```+|::::*)(?:python|text|console).*?^\1$|`[^`\n]+`", re.M | re.S)


def markdown() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in listed.splitlines()]


def test_reference_lists_each_public_name_once() -> None:
    stub = (ROOT / "workbench/__init__.pyi").read_text(encoding="utf-8")
    public = sorted(re.findall(r"^from .* as (\w+)$", stub, re.M))
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference").glob("*.md")]
    listed = [
        name for page in pages for block in re.findall(r"autosummary::(.*?)```", page, re.S) for name in block.split()
    ]
    assert sorted(name for name in listed if name.isidentifier() and name != "made") == public


def test_each_hazard_has_a_test() -> None:
    page = (ROOT / "docs/explanation/hazards.md").read_text(encoding="utf-8")
    for dialect in ("Relay", "Relax"):
        sections = re.findall(rf"^## {dialect}, TVM.*?(?=^## )", page, re.M | re.S)
        rows = re.findall(r"^\| (?!pass |---).*\|$", "".join(sections), re.M)
        named = [re.search(r'["`]([^"`]+)["`] \|$', row) for row in rows]
        folders = (ROOT / "tests" / dialect.lower(), ROOT / "tests")
        tests = "".join(path.read_text(encoding="utf-8") for each in folders for path in each.glob("test_*.py"))
        assert len(rows) > 8
        assert [row for row, test in zip(rows, named, strict=True) if test is None or test[1] not in tests] == []


def links_of(path: Path) -> set[str]:
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    return {unquote(one or other) for one, other in LINK.findall(text)}


@pytest.mark.parametrize("path", markdown(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links(path: Path) -> None:
    inside = [link for link in links_of(path) if not re.match(r"[a-z]+:", link) and "made/" not in link]
    missing = [link for link in inside if not (path.parent / link).exists()]
    assert not missing, f"{path.name} links to {missing}"


def test_links_to_the_web_are_https() -> None:
    outside = [link for path in markdown() for link in links_of(path) if re.match(r"[a-z]+:", link)]
    assert outside
    assert [link for link in outside if not re.fullmatch(r"https://[\w-]+(\.[\w-]+)+(/\S*)?", link)] == []


def test_readme_is_short_and_links_the_citation() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 115
    assert "CITATION.cff" in links_of(ROOT / "README.md")


def commands() -> list[str]:
    """Return the commands of the console blocks and of the help's examples."""
    pages = [path.read_text(encoding="utf-8") for path in markdown()]
    help_text = cli._parser().format_help()
    found = re.findall(r"^\$ tvm-workbench (.*)$", "\n".join(pages), re.M)
    return found + [line.split("   ")[0] for line in re.findall(r"^  tvm-workbench (.*)$", help_text, re.M)]


@pytest.mark.parametrize("command", commands())
def test_documented_command_is_accepted(command: str) -> None:
    cli._parser().parse_args(shlex.split(command))


def test_documented_commands_make_a_wheelhouse_too() -> None:
    assert any(command.startswith("wheelhouse ") for command in commands())
    assert re.search(r"^wheelhouse:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert "`make wheelhouse " in (ROOT / "docs/start/install.md").read_text(encoding="utf-8")
