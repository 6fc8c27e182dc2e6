"""Workloads of pasted text: with a module if TVM makes one of it, and with a graph in any case."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import installed
from workbench.dialects.relay.paste.characters import COLOURS
from workbench.dialects.relay.paste.reading import Reading, text_only

_RELAY = re.compile(
    r"^[ \t]*\#\[version|\bdef\s+@[\w.]+[^\S\n]*(?:/\*.*?\*/\s*)?[(\[]|\bfn\s*(?:\[\w+\]\s*)?\(\s*%|%\d+\s*=|\bfree_var\s+%|\blet\s+%",
    re.MULTILINE,
)
_SCRIPT = re.compile(r"@(?:I|tvm\.script)\.ir_module|@R\.function|@T\.prim_func|from tvm\.script")


def is_relay(text: str) -> bool:
    """Return whether a text has something of Relay's grammar in it, and nothing of TVMScript."""
    text = COLOURS.sub("", text)  # they are in front of the words that decide
    return _RELAY.search(text) is not None and not is_script(text)


def is_script(text: str) -> bool:
    """Return whether a text has the marks of TVMScript."""
    return _SCRIPT.search(text) is not None


def workloads_of(
    readings: Sequence[Reading], params: Mapping[str, Any], name: str, refused: Mapping[int, str] | None = None
) -> list[Workload]:
    """Return a Workload of each module of a text, with its repairs and assumptions as notes.

    Parameters
    ----------
    readings
        The result of `read_all` for the text.
    params
        Parameter name -> array. An array gives the type of a variable whose type the text does not state.
    refused
        Index of a reading -> the reason why TVM makes no module from it, if the child process found one.

    Raises
    ------
    LoadError
        TVM refuses a complete text.
    """
    here = installed()
    found: list[Workload] = []
    for number, reading in enumerate(readings):
        called = f"{name} {number + 1}" if len(readings) > 1 else name
        if here == "relay":
            from workbench.dialects.relay.frontend import from_reading

            workload = from_reading(reading, params, called, (refused or {}).get(number, ""))
        else:
            workload = text_only(reading, called, _needs(here))
        if len(readings) > 1:
            workload.notes.append(
                f"the text holds {len(readings)} modules and this is number {number + 1}; wb.load_all(text) gives all"
            )
        found.append(workload)
    return found


def _needs(here: str | None) -> str:
    found = f"TVM here runs {here}" if here else "there is no TVM here"
    instead = ", or wb.to_relax(...) for a module of Relax" if here == "relax" else ""
    return f"making one takes a TVM with Relay, and {found}; use the Jupyter kernel `Relay (TVM 0.17)` (make one with `tvm-workbench install-relay`){instead}"
