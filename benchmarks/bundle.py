"""The bytes that a browser loads before it shows a graph, compressed with gzip; the same of Netron and Model Explorer."""

from __future__ import annotations

import gzip
from pathlib import Path

from browser.lab import running_browser

from benchmarks.bar import Bar, show
from benchmarks.peer_pages import served, unpacked

ROOT = Path(__file__).parents[1]

MOST = 130e3
# The folder of the page within the wheel.
PEERS = {"netron": "netron", "ai-edge-model-explorer": "model_explorer/web_app"}


def main() -> None:
    text = (ROOT / "workbench/widgets/static/workbench.js").read_bytes()
    ours = len(gzip.compress(text, 9))
    what = "what a browser loads, with gzip"
    rows = [Bar(what, ours / 1e3, "kB", bar="under 130 kB", met=ours < MOST, note=f"{len(text):,} bytes minified")]
    for package, folder in PEERS.items():
        try:
            rows.append(Bar(what, ours / 1e3, "kB", package, loaded(unpacked(package) / folder) / 1e3))
        except Exception as error:  # noqa: BLE001  a peer that fails is a row
            rows.append(Bar(what, ours / 1e3, "kB", note=f"{package}: {str(error).splitlines()[0][:200]}"))
    show(rows)


def loaded(folder: Path) -> int:
    """Bytes of a page's scripts, style sheets and HTML until nothing more is asked for; no model is open."""
    with served(folder) as (address, sent), running_browser() as browser:
        page = browser.new_page()
        page.goto(f"{address}/index.html")
        page.wait_for_load_state("networkidle")
        return sum(sent.values())


if __name__ == "__main__":
    main()
