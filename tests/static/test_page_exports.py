"""The page exports only names that another file imports, and does not depend on the marks of its tests."""

from __future__ import annotations

import re
from pathlib import Path

JS = Path(__file__).parents[2] / "js"
EXPORT = re.compile(
    r"^export (?:async |abstract )*(?:const|let|function\*?|class|interface|type|enum) (\w+)", re.MULTILINE
)
IMPORT = re.compile(r'^(?:import|export)\b(?: type)? (\{[^}]*\}|\* as \w+)[^;]*?"(\.[^"?]*)"', re.MULTILINE)
NAME = re.compile(r"(?:type )?(\w+)(?: as \w+)?")
ENTRIES = {"index.ts", "pictures.ts", "testing/probed.ts"}
"what build.mjs bundles"
WRITTEN = {"model/messages.ts"}
"by write_messages.py, every type of Python's table"


def sources() -> dict[Path, str]:
    """The text of each file, of tests too."""
    files = [path for path in JS.rglob("*.ts*") if not {"node_modules", ".types", ".test"} & {*path.parts}]
    return {path: path.read_text(encoding="utf-8") for path in files if path.suffix in (".ts", ".tsx")}


def imported(texts: dict[Path, str]) -> set[tuple[Path, str]]:
    """The names that files import, each with the file that has it; all of them for `* as`."""
    found = set()
    for path, text in texts.items():
        for names, source in IMPORT.findall(text):
            file = (path.parent / source).resolve()
            every = EXPORT.findall(texts.get(file, "")) if names.startswith("*") else NAME.findall(names)
            found |= {(file, name) for name in every}
    return found


def test_exports_are_imported() -> None:
    texts = sources()
    used = imported(texts)
    assert len(used) > 300
    needless = [
        f"{path.relative_to(JS)}: {name}"
        for path, text in texts.items()
        if str(path.relative_to(JS)) not in ENTRIES | WRITTEN
        for name in EXPORT.findall(text)
        if (path, name) not in used
    ]
    assert needless == []


def test_test_ids_are_for_tests() -> None:
    texts = {**sources(), JS / "style.css": (JS / "style.css").read_text(encoding="utf-8")}
    product = {path: text for path, text in texts.items() if ".test." not in path.name}
    assert [path.name for path, text in product.items() if "[data-testid" in text] == []
