"""Workloads of pasted text: with a module if TVM makes one of it, and with a graph in any case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import installed
from workbench.dialects.relay.paste.reading import Reading, text_only
from workbench.errors import LoadError


def workloads_of(
    readings: Sequence[Reading], params: Mapping[str, Any], name: str, refused: Mapping[int, LoadError] | None = None
) -> list[Workload]:
    """Return a Workload of each module of a text, with its repairs and assumptions as notes.

    An array in `params` gives the type of a variable whose type the text does not state. `refused`: for the index of a
    reading, TVM's error, if the child process found that TVM makes no module of it. Raises LoadError: TVM refuses a
    complete text.
    """
    here = installed()
    found: list[Workload] = []
    for number, reading in enumerate(readings):
        called = f"{name} {number + 1}" if len(readings) > 1 else name
        if here == "relay":
            from workbench.dialects.relay.frontend import from_reading

            workload = from_reading(reading, params, called, (refused or {}).get(number))
        else:
            runs = f"TVM here runs {here}" if here else "there is no TVM here"
            instead = ", or wb.to_relax(...) for a module of Relax" if here == "relax" else ""
            why = f"making one takes a TVM with Relay, and {runs}; use the Jupyter kernel `Relay (TVM 0.17)` (make one with `tvm-workbench install-relay`){instead}"
            workload = text_only(reading, called, why)
        found.append(workload)
    return numbered(found)


def numbered(found: list[Workload]) -> list[Workload]:
    """Note in each workload of a text with several that there are others."""
    for number, workload in enumerate(found, 1):
        if len(found) > 1:
            workload.notes.append(
                f"the text holds {len(found)} modules and this is number {number}; wb.load_all(text) gives all"
            )
    return found
