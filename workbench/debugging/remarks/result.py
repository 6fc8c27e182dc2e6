"""The remarks of a program: a sequence, its table, its comparison with earlier remarks, and its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from workbench.debugging.remarks import files
from workbench.debugging.remarks.remark import KINDS, MISSED, PASSED, Remark
from workbench.terminal import html_table, visible
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 20
"missed remarks in the text form"
_COLUMNS = {"pass_name": "pass"}
"the column of a field that has another name"


@dataclass(frozen=True)
class Remarks(Sequence[Remark]):
    """Remarks in the order of the passes; the remarks of one pass are in the order of its decisions."""

    remarks: tuple[Remark, ...] = ()

    def __len__(self) -> int:
        return len(self.remarks)

    @overload
    def __getitem__(self, place: int) -> Remark: ...
    @overload
    def __getitem__(self, place: slice) -> Remarks: ...
    def __getitem__(self, place: int | slice) -> Remark | Remarks:
        return Remarks(self.remarks[place]) if isinstance(place, slice) else self.remarks[place]

    def find(self, kind: str = "", pass_name: str = "", name: str = "") -> Remarks:
        """Return the remarks of this kind, pass and reason code; an empty text stands for any."""
        wanted = {"kind": kind, "pass_name": pass_name, "name": name}
        given = {field: value for field, value in wanted.items() if value}
        return Remarks(tuple(r for r in self if all(getattr(r, field) == value for field, value in given.items())))

    @cached_property
    def dearest(self) -> Remarks:
        """The missed remarks, those with the most bytes first."""
        return _by_bytes(self.find(MISSED))

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each remark, with its fields as columns."""
        import pandas as pd

        names = [each.name for each in fields(Remark)]
        rows = [[getattr(remark, name) for name in names] for remark in self]
        frame = pd.DataFrame(rows, columns=[_COLUMNS.get(name, name) for name in names], dtype=object)
        return frame.astype({"bytes": "Int64"})

    def lost(self, since: Remarks) -> Remarks:
        """Return the passed remarks of an earlier program that have no counterpart here, those with the most bytes first.

        A counterpart has the same pass, function and operators, and the same layer if there is one; node ids do not count.

        Parameters
        ----------
        since
            The remarks of the earlier program, such as those of the main branch.
        """
        gone = list(since.find(PASSED))
        here = list(self.find(PASSED))
        for identity in (_exactly, _in_any_layer):
            gone, here = _unmatched(gone, here, identity)
        return _by_bytes(gone)

    def write(self, path: str | Path, format: str | None = None) -> Path:
        """Write the remarks to a file, and return its path.

        Parameters
        ----------
        format
            `yaml` for LLVM's optimisation remarks, `jsonl` for one JSON object a line; by default by the suffix.

        Raises
        ------
        WorkbenchError
            The file cannot be written, or there is no such format.
        """
        return files.write(self.remarks, Path(path), format)

    @classmethod
    def open(cls, path: str | Path) -> Remarks:
        """Read a file that `write` wrote, in either format.

        Raises
        ------
        LoadError
            The file is not such a file, or it is damaged or too large.
        """
        return cls(files.read(Path(path)))

    @property
    def headline(self) -> str:
        """The number of remarks of each kind."""
        count = Counter(remark.kind for remark in self)
        return f"{counted(len(self), 'remark')}: " + ", ".join(f"{count[kind]:,} {kind}" for kind in KINDS)

    def __str__(self) -> str:
        lines = [self.headline, *(f"  {line(remark)}" for remark in self.dearest[:SHOWN])]
        if len(self.dearest) > SHOWN:
            lines.append(f"  and {len(self.dearest) - SHOWN} more missed")
        return visible("\n".join(lines))

    def _repr_html_(self) -> str:
        rows = (
            {"bytes": each.bytes, "pass": each.pass_name, "reason": each.name, "layer": each.layer, "": each.text}
            for each in self.dearest
        )
        return html_table(self.headline, rows)


def line(remark: Remark) -> str:
    """Return one line: the bytes, the pass with the reason code, and the text."""
    size = "unknown bytes" if remark.bytes is None else counted(remark.bytes, "byte")
    layer = f" in {remark.layer}" if remark.layer else ""
    return f"{size}{layer}, {remark.pass_name}, {remark.name}: {remark.text}"


def _by_bytes(found: Iterable[Remark]) -> Remarks:
    return Remarks(tuple(sorted(found, key=lambda remark: -1 if remark.bytes is None else remark.bytes, reverse=True)))


def _exactly(remark: Remark) -> Hashable:
    return remark.key


def _in_any_layer(remark: Remark) -> Hashable:
    """Return the identity of a remark whose layer has another name, or is not known."""
    return remark.pass_name, remark.function, remark.operators


def _unmatched(
    gone: list[Remark], here: list[Remark], identity: Callable[[Remark], Hashable]
) -> tuple[list[Remark], list[Remark]]:
    """Return the remarks of either list without a partner of the same identity in the other."""
    return list(_beyond(gone, here, identity)), list(_beyond(here, gone, identity))


def _beyond(some: list[Remark], others: list[Remark], identity: Callable[[Remark], Hashable]) -> Iterator[Remark]:
    left = Counter(map(identity, others))
    for remark in some:
        left[identity(remark)] -= 1
        if left[identity(remark)] < 0:
            yield remark
