"""workbench/colours.py is the one source of the page's colours; test_page_types.py holds the generated file to it."""

from __future__ import annotations

import re
from pathlib import Path

from workbench import colours

ROOT = Path(__file__).parents[2]
SOURCES = {"workbench/colours.py", "js/render/colours.ts"}
KINDS = {".ts", ".tsx", ".css", ".mjs", ".py"}
BUILT = {"node_modules", "static", ".test", ".types"}


def copies(file: Path) -> set[str]:
    """Return the colours of the page that a file has as literals."""
    values = {shade.lower() for table in (colours.PAGE, colours.DTYPES) for pair in table.values() for shade in pair}
    return values & set(re.findall(r"#[0-9a-f]{6}", file.read_text().lower()))


def test_no_other_file_repeats_a_colour() -> None:
    files = [file.relative_to(ROOT) for folder in ("js", "workbench") for file in (ROOT / folder).rglob("*")]
    sources = [file for file in files if file.suffix in KINDS and BUILT.isdisjoint(file.parts)]
    assert {str(file) for file in sources if copies(ROOT / file)} == SOURCES
