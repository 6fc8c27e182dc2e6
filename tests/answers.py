"""TVM's answers about random programs, recorded: replayed in CI, asked again for a slice that rotates with the commit, and for all in the sweep.

A record is a compressed JSON file with a row for each seed: the program's graph, and what TVM made of the program. Its key is a hash of TVM's wheel and
of the source that makes programs and rows. A test that finds another key fails, and gives the command that records again.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from breadth import commit

from workbench.environments import repack

TESTS = Path(__file__).parent
FIRST = 1000
"the seed of a record's first row"
PART = 20
"a slice has one row of so many"
Row = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """TVM's answers about some random programs of a dialect."""

    dialect: str
    name: str
    sources: tuple[str, ...]
    "the files of tests/ that make programs and rows"

    @property
    def path(self) -> Path:
        return TESTS / "data" / f"{self.dialect}_{self.name}.json.xz"

    @property
    def key(self) -> str:
        wheels = {"relay": repack.WHEEL, "relax": _pinned()}
        parts = [wheels[self.dialect].encode(), *((TESTS / source).read_bytes() for source in self.sources)]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]

    def rows(self) -> list[Row]:
        """Return the rows, of which the first has the seed FIRST."""
        data = json.loads(lzma.decompress(self.path.read_bytes()))
        python = {"relay": ".venv-relay", "relax": ".venv"}[self.dialect] + "/bin/python"
        again = f"{python} -m pytest --lane={self.dialect} tests -k 'recorded_{self.name} and slice'"
        assert data["key"] == self.key, (
            f"{self.path.name} is of another TVM or of other programs; record again: TVM_WORKBENCH_RECORD=1 {again}"
        )
        return data["rows"]

    def asked_again(self, ask: Callable[[int], Row], part: str, count: int) -> str:
        """Ask TVM about programs and compare with their rows; with TVM_WORKBENCH_RECORD=1, write `count` rows.

        `part` is "all", or "slice" for one row of PART, which depends on the commit. Another TVM than the pinned one is not asked. Returns a sentence
        for the lane's output.
        """
        here = f"apache-tvm=={version('apache-tvm')}" if self.dialect == "relax" else ""
        if here not in ("", _pinned()):
            pytest.skip(f"the record is of {_pinned()}")
        if os.environ.get("TVM_WORKBENCH_RECORD"):
            made = [ask(FIRST + place) for place in range(count)]
            text = json.dumps({"key": self.key, "rows": made}, separators=(",", ":"), sort_keys=True)
            self.path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
        rows = self.rows()
        assert len(rows) == count
        chosen = range(count) if part == "all" else range(commit() % PART, count, PART)
        for place in chosen:
            now = json.loads(json.dumps(ask(FIRST + place)))
            assert now == rows[place], f"seed {FIRST + place} of {self.path.name}"
        return f"{self.path.name}: TVM asked again about {len(chosen)} of {count} programs, 0 answers differ"


PARTS = pytest.mark.parametrize("part", ["slice", pytest.param("all", marks=pytest.mark.sweep)])
"a test of each part: the slice is short, and the sweep has all"


def numbered(answers: list[Any]) -> Row:
    """Return answers with equal ones stored once: the different ones, and for each answer its place among them."""
    different: list[Any] = []
    for answer in answers:
        if answer not in different:
            different.append(answer)
    return {"different": different, "places": [different.index(answer) for answer in answers]}


def each(row: Row) -> list[Any]:
    """Return the answers that `numbered` was given."""
    return [row["different"][place] for place in row["places"]]


def _pinned() -> str:
    found = re.search(r'"(apache-tvm==[^"]+)"', (TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert found
    return found[1]
