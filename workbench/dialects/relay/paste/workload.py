"""Workloads of pasted text: with a module where TVM makes one of it, and with a graph in any case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.dialects import registry
from workbench.dialects.base import Workload
from workbench.dialects.graph_only import GraphOnly
from workbench.dialects.relay.paste.reading import Reading, lacking, read_all

_RELAY = re.compile(
    r"^[ \t]*\#\[version|\bdef\s+@[\w.]+[^\S\n]*(?:/\*.*?\*/\s*)?[(\[]|\bfn\s*(?:\[\w+\]\s*)?\(\s*%|%\d+\s*=|\bfree_var\s+%|\blet\s+%",
    re.MULTILINE,
)
_SCRIPT = re.compile(r"@(?:I|tvm\.script)\.ir_module|@R\.function|@T\.prim_func|from tvm\.script")


def is_relay(text: str) -> bool:
    """Whether a text has something of Relay's grammar in it, and nothing of TVMScript."""
    return _RELAY.search(text) is not None and _SCRIPT.search(text) is None


class TextWorkload(GraphOnly):
    """A Workload that has the text of a Relay module, and so its graph, but no module."""

    def __init__(self, reading: Reading, name: str, reason: str) -> None:
        graph = reading.graph(name)
        super().__init__(
            graph, f"{name} has a graph and no module: {reason}", [*reading.repairs, *lacking(reading, graph)]
        )
        self.reading = reading

    def text(self) -> str:
        """The text, as far as it was repaired."""
        return self.reading.text

    def __repr__(self) -> str:
        noted = f", {len(self.notes)} in .notes" if self.notes else ""
        return f"Workload({self.name!r}, relay, text only{noted})"


def load_text(text: str, params: Mapping[str, Any] | None, name: str) -> list[Workload]:
    """A Workload of each module of a text; what was repaired and assumed is in their notes.

    Parameters
    ----------
    params
        Parameter name -> array. Where the text does not say a variable's type, its array does.

    Raises
    ------
    LoadError
        Nothing in the text is Relay, or something is and cannot be read; the message names the place.
    """
    readings = read_all(text)
    here = registry.installed()
    found: list[Workload] = []
    for number, reading in enumerate(readings):
        called = f"{name} {number + 1}" if len(readings) > 1 else name
        if here == "relay":
            from workbench.dialects.relay.dialect import DIALECT

            workload = DIALECT.from_reading(reading, params or {}, called)
        else:
            workload = TextWorkload(reading, called, _needs(here))
        if len(readings) > 1:
            workload.notes.append(
                f"the text holds {len(readings)} modules and this is number {number + 1}; wb.load_all(text) gives all"
            )
        found.append(workload)
    return found


def _needs(here: str | None) -> str:
    found = f"TVM here runs {here}" if here else "there is no TVM here"
    return f"making one takes a TVM with Relay, and {found}; use the Jupyter kernel `Relay (TVM 0.17)` (make one with `tvm-workbench install-relay`)"
