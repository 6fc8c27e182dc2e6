"""Progress in a notebook's cell, in a real kernel."""

from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from workbench.worker.progress import OUTPUT

SHORT = """
import time
from workbench.worker import progress as bar
bar.DELAY = bar.EVERY = 0.05
with bar.showing_progress(None, "Measuring <b>m</b>") as progress:
    progress("opt 3", 0.5)
    time.sleep(1)
"""


class Recorder(NotebookClient):
    """A client that keeps what the kernel displays."""

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
        if msg["msg_type"] in ("display_data", "update_display_data"):
            self.shown = [*getattr(self, "shown", []), msg["content"]]
        return super().process_message(msg, cell, cell_index)


def executed(source: str, **how: Any) -> tuple[list[Any], list[Any]]:
    """All that was displayed, and the outputs that stay."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    client = Recorder(notebook, timeout=60, **how)
    client.execute()
    return client.shown, notebook.cells[0].outputs


def test_bar_is_shown_and_then_removed() -> None:
    shown, (kept,) = executed(SHORT)
    first = shown[0]["data"]["text/html"]
    assert first == '<progress value="0.500"></progress> 0 s  Measuring &lt;b&gt;m&lt;/b&gt;: opt 3'
    assert len(shown) > 2, "the time goes on while the step lasts"
    assert all(list(each["data"]) == ["text/html"] for each in shown), "a widget would be an error in a saved notebook"
    assert kept["data"]["text/html"] == ""
    assert kept["metadata"] == {OUTPUT: True}


@pytest.mark.parametrize("seconds", [0, 1])
def test_interrupt_leaves_a_note(seconds: int) -> None:
    source = SHORT.replace("time.sleep(1)", f"time.sleep({seconds})\n    raise KeyboardInterrupt")
    _, (note, error) = executed(source, allow_errors=True)
    words = r"Measuring &lt;b&gt;m&lt;/b&gt;: interrupted after \d+ s \(opt 3\)"
    assert re.fullmatch(words, note["data"]["text/html"])
    assert error["ename"] == "KeyboardInterrupt"
