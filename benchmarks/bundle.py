"""The bytes that a browser loads before it shows a graph, with gzip as a web server sends them; the same of Netron and Model Explorer.

A notebook sends it uncompressed, unless `ServerApp.websocket_compression_options` is set, but once a page: the script that anywidget gives
to each widget as a trait only loads it. The second row has the bytes of that one.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from browser.lab import running_browser

import workbench as wb
from benchmarks.bar import Bar, show
from benchmarks.peer_pages import served, unpacked
from benchmarks.synthetic import transformer

ROOT = Path(__file__).parents[1]
BUNDLE = ROOT / "workbench/widgets/static/workbench.js"

MOST = 130_000
# The folder of the page within the wheel.
PEERS = {"netron": "netron", "ai-edge-model-explorer": "model_explorer/web_app"}


def compressed(text: bytes) -> int:
    """Bytes of a text with gzip."""
    return len(gzip.compress(text, 9))


def rows() -> Iterator[Bar]:
    text = BUNDLE.read_bytes()
    ours = compressed(text)
    what = "what a browser loads, with gzip"
    yield Bar(what, ours / 1e3, "kB", bar="under 130 kB", met=ours < MOST, note=f"{len(text):,} bytes minified")
    sent = len(json.dumps(wb.GraphView(transformer(100)).get_state("_esm")))
    note = "not compressed, as Jupyter is set by default"
    yield Bar(
        "the script in a notebook's message to each widget",
        sent / 1e3,
        "kB",
        bar="under 1.5 kB",
        met=sent < 1500,
        note=note,
    )
    for package, folder in PEERS.items():
        try:
            yield Bar(what, ours / 1e3, "kB", package, loaded(unpacked(package) / folder) / 1e3)
        except Exception as error:  # noqa: BLE001  a peer that fails is a row
            yield Bar(what, ours / 1e3, "kB", note=f"{package}: {str(error).splitlines()[0][:200]}")


def loaded(folder: Path) -> int:
    """Bytes of a page's scripts, style sheets and HTML until nothing more is asked for; no model is open."""
    with served(folder) as (address, sent), running_browser() as browser:
        page = browser.new_page()
        page.goto(f"{address}/index.html")
        page.wait_for_load_state("networkidle")
        return sum(sent.values())


if __name__ == "__main__":
    show(rows())
