"""The same ONNX models from disk to a picture: a saved page of ours, all groups open, Netron's and Model Explorer's.

Netron reads the ONNX file. Model Explorer reads none, so it is given the operators and edges in its own JSON, without
weights and attributes. Its nodes are pixels of a canvas: the time ends when the canvas appears, which is early.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import onnx_models
from browser.lab import running_browser

import workbench as wb
from benchmarks.bar import Bar, show
from benchmarks.peer_pages import served, unpacked

MODELS = {"bert, 12 layers": lambda: onnx_models.bert(12), "a chain of 1,000": lambda: onnx_models.chain(1000)}
SECONDS = 120
OURS, NETRON, EXPLORER = ".wb[data-scenes]", "g.node", "canvas.main"
# The package, the folder of its page, the address of a model there, an element that is there when nodes are.
# Model Explorer shows nothing at the address `index.html`.
PEERS = {
    "netron": ("netron", "netron", "index.html?url=ADDRESS/model.onnx", NETRON),
    "model explorer": (
        "ai-edge-model-explorer",
        "model_explorer/web_app",
        '?data={"models": [{"url": "graphs://model/0"}]}',
        EXPLORER,
    ),
}
ONLY_JSON = [{"type": "adapter", "id": "builtin_json", "name": "JSON", "description": "", "fileExts": ["json"]}]


def rows(sizes: int | None = None) -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as made, running_browser() as browser:
        folder = Path(made)
        for name, make in list(MODELS.items())[:sizes]:
            model = make()
            onnx.save(model, folder / "model.onnx")
            graph = wb.load(folder / "model.onnx").graph
            wb.GraphView(graph, collapsed=[]).save(folder / "ours.html")
            write_for_explorer(model, folder / "api/v1")
            yield from beside(browser, folder, f"{name} ({len(graph.nodes):,} nodes): page opened to nodes on it")


def beside(browser: Any, folder: Path, what: str) -> Iterator[Bar]:
    """Yield one row a peer; a peer that fails is a row with the reason."""
    with served(folder) as (address, _):
        ours = opened(browser, f"{address}/ours.html", OURS)
    for peer, (package, page, asked, shown) in PEERS.items():
        try:
            with served(unpacked(package) / page, folder) as (address, _):
                theirs = opened(browser, f"{address}/{asked.replace('ADDRESS', address)}", shown)
        except Exception as error:  # noqa: BLE001
            yield Bar(what, ours, "ms", note=f"{peer}: {str(error).splitlines()[0][:200]}")
        else:
            note = "its WebGL is drawn by the processor" if shown == EXPLORER else ""
            yield Bar(what, ours, "ms", peer, theirs, note=note)


def write_for_explorer(model: Any, folder: Path) -> None:
    """Write the answers that Model Explorer's page asks of its server, with the model's operators and edges."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "get_extensions").write_text(json.dumps(ONLY_JSON))
    (folder / "check_new_version").write_text("{}")
    sources = {value.name: (value.name, 0) for value in model.graph.input}
    nodes = [{"id": name, "label": "input", "namespace": "", "incomingEdges": []} for name in sources]
    for place, node in enumerate(model.graph.node):
        edges = [(*sources[name], index) for index, name in enumerate(node.input) if name in sources]
        nodes.append(
            {
                "id": f"n{place}",
                "label": node.op_type,
                "namespace": "",
                "incomingEdges": [
                    {"sourceNodeId": source, "sourceNodeOutputId": str(out), "targetNodeInputId": str(index)}
                    for source, out, index in edges
                ],
            }
        )
        sources |= {name: (f"n{place}", index) for index, name in enumerate(node.output)}
    (folder / "load_graphs_json").write_text(json.dumps({"graphs": [{"id": "main", "nodes": nodes}]}))


def opened(browser: Any, url: str, shown: str) -> float:
    """Milliseconds from the request until the first element of a selector, in a page of its own; the second of two visits."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    # fonts of other hosts are refused at once, so that no page waits for the network
    context.route(lambda address: not address.startswith("http://127.0.0.1"), lambda route: route.abort())
    spent = 0.0
    try:
        for _ in range(2):
            page = context.new_page()
            started = time.perf_counter()
            page.goto(url)
            while page.locator(shown).count() == 0:
                # Netron asks once for consent.
                accept = page.get_by_role("button", name="Accept")
                if accept.count() and accept.is_visible():
                    accept.click()
                if time.perf_counter() - started > SECONDS:
                    raise TimeoutError(f"nothing on the page after {SECONDS} s")
                page.wait_for_timeout(10)
            spent = 1000 * (time.perf_counter() - started)
            page.close()
        return spent
    finally:
        context.close()


if __name__ == "__main__":
    show(rows(int(sys.argv[1]) if sys.argv[1:] else None))
