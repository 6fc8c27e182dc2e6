"""Phrases that plain technical English avoids: documents, notebooks, docstrings, messages, comments and the page."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from stored_notebooks import PATHS

ROOT = Path(__file__).parents[2]
BANNED = {
    r"\bforet(?:old|ells?)\b": "predicted, predicts",
    r"(?<!can't )(?<!cannot )\b(?:told|tells)\b": "reports, returns, raises, describes",
    r"\bhangs? on\b": "depends on",
    r"\bbeside the notebook\b": "in a background thread; in a child process",
    r"\b(?:whoever|somebody|nobody)\b": "the user, the caller; no operator, no pass",
    r"(?<!\bthere )\bis no (?!longer\b|more\b|less\b)\w": "is not a",
    r"\bgiv(?:en|es|ing) up\b": "cancelled, timed out",
    r"\bWhatever is\b": "name the subject",
    r"\bwhat you get\b": "the result",
    r"\b(?:is|are) ill\b": "invalid, faulty",
    r"\bget alike\b": "both receive",
}
"a phrase -> what to write instead"
PAGE = (".ts", ".tsx", ".css")
BUILT = {"node_modules", "static", ".test", ".types"}


def texts() -> Iterator[tuple[str, str]]:
    """Yield each text with its place."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.md")]:
        if "made" not in path.parts:  # copies, which `make docs` writes
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    for path in PATHS:
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            if cell["cell_type"] == "markdown":
                yield f"{path.name}, cell {number}", "".join(cell["source"])
    for path in sorted((ROOT / "workbench").rglob("*.py")):
        for line, text in in_python(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}:{line}", text
    for path in sorted((ROOT / "js").rglob("*")):
        if path.suffix in PAGE and BUILT.isdisjoint(path.parts):
            for line, text in on_page(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(ROOT)}:{line}", text


TEXT = re.compile(
    r"""/\*.*?\*/|(?<![:\w])//[^\n]*|"(?:[^"\\\n]|\\.)* (?:[^"\\\n]|\\.)*"|`[^`]* [^`]*`|(?<=>)[^<>{}=;]* [^<>{}=;]*(?=[<{])""",
    re.S,
)
"a comment, a string with a space, or the text between two tags"


def on_page(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments, strings and tags' texts of a file of the page with their lines."""
    for found in TEXT.finditer(source):
        yield source.count("\n", 0, found.start()) + 1, found[0]


def in_python(source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings and the comments of a program with their lines; names stay out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@cache
def all_texts() -> list[tuple[str, str]]:
    return list(texts())


@pytest.mark.parametrize("phrase", BANNED)
def test_no_banned_phrase(phrase: str) -> None:
    pattern = re.compile(re.sub(" ", r"\\s+", phrase) if "(?<" not in phrase else phrase, re.IGNORECASE)
    found = [f"{place}: {match[0]!r}" for place, text in all_texts() for match in pattern.finditer(text)]
    assert found == [], f"write instead: {BANNED[phrase]}"


def test_texts_of_each_kind_are_read() -> None:
    places = [place for place, _ in all_texts()]
    assert sum(place.endswith(".md") for place in places) >= 4
    assert sum(".ipynb, cell" in place for place in places) > 100
    assert sum(place.startswith("workbench/") for place in places) > 3000
    assert sum(place.startswith("workbench/widgets/") for place in places) > 500
    assert sum(place.startswith("js/") for place in places) > 2000


def test_strings_and_comments_are_found() -> None:
    source = 'def told():\n    "It is told."\n    return f"{told} hangs on"  # somebody\n'
    assert [text for _, text in in_python(source)] == ["It is told.", " hangs on", "# somebody"]


def test_texts_of_the_page_are_found() -> None:
    source = '/* told */ const told = "is told"; // somebody\n`${told} hangs`; <b class="told">hangs on {told}</b>'
    assert [text for _, text in on_page(source)] == [
        "/* told */",
        '"is told"',
        "// somebody",
        "`${told} hangs`",
        "hangs on ",
    ]
