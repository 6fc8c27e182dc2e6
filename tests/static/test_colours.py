"""A colour that several files declare is the same in each: style.css, the page's painter, plots and Graphviz pictures."""

from __future__ import annotations

import re
from pathlib import Path

from workbench import colours
from workbench.graph import export

JS = Path(__file__).parents[2] / "js"
MARKS = ("changed", "removed", "added", "merged")


def variables(selector: str) -> dict[str, str]:
    """The colour variables of style.css under a selector; a theme's own value stands behind the comma of `var(...)`."""
    block = re.search(re.escape(selector) + r" \{(.*?)\n\}", (JS / "style.css").read_text(), re.DOTALL)
    assert block is not None
    found = re.findall(r"--wb-([\w-]+): (?:var\([^,]+, )?(#\w+)", block[1])
    return {name: value.lower() for name, value in found}


def table(file: str, name: str) -> dict[str, str]:
    """The strings of a constant object in a TypeScript file."""
    block = re.search(rf"{name}[^=]*= \{{(.*?)\}};", (JS / file).read_text(), re.DOTALL)
    assert block is not None
    return {key: value.lower() for key, value in re.findall(r'(\w+): "(#\w+)"', block[1])}


def test_paper_has_the_light_colours_of_the_page() -> None:
    css, paper = variables(".wb"), table("render/paper.ts", "PAPER")
    names = {"background": "background", "surface": "surface", "box": "box", "boxLine": "box-line", "ink": "ink", "dim": "dim",
             "edge": "edge", "groupLine": "group-line", "kernelLine": "kernel-line", "accent": "accent", "orange": "orange", "sky": "sky"}  # fmt: skip
    assert {name: paper[name] for name in names} == {name: css[variable] for name, variable in names.items()}
    marks = re.search(r"mark: \[(.*?)\]", (JS / "render/paper.ts").read_text())
    assert marks is not None
    assert re.findall(r"#\w+", marks[1])[1:5] == [css[mark] for mark in MARKS]


def test_graphviz_marks_have_the_colours_of_the_page() -> None:
    css = variables(".wb")
    assert [export.MARKS[mark]["color"].lower() for mark in MARKS] == [css[mark] for mark in MARKS]


def test_data_types_have_the_colours_of_the_page() -> None:
    assert {name: value.lower() for name, value in colours.DTYPES.items()} == table("render/dtypes.ts", "LIGHT")
