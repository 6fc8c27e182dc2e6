"""The TypeScript of the page has layers; its imports and those of its benchmarks resolve, without circles."""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[2]
JS, LAYOUT = ROOT / "js", ROOT / "benchmarks/layout"
IMPORT = re.compile(r'^(?:import|export)\b[^;"(]*?"(\.[^"?]*)', re.MULTILINE)

LAYERS = ("text", "graph", "layout", "render", "model", "components", "pane", "panels", "widgets", "")
"a file imports from its own folder or from those before; the entries are in no folder"
LOWEST = {"model/messages.ts", "style.css"}
"types from Python, a text: every layer may import them"


def imports() -> nx.DiGraph:
    """The imports between the files, those of types too."""
    files = [path for path in JS.rglob("*.ts*") if not {"node_modules", ".types", ".test"} & {*path.parts}]
    files += LAYOUT.glob("*.ts")
    graph = nx.DiGraph()
    for path in files:
        if path.suffix in (".ts", ".tsx") and ".test." not in path.name:
            names = IMPORT.findall(path.read_text(encoding="utf-8"))
            graph.add_edges_from((path, (path.parent / name).resolve()) for name in names)
    return graph


def test_imports_are_read() -> None:
    graph = imports()
    assert graph.has_edge(JS / "layout/seeds.ts", JS / "layout/level.ts")
    assert graph.has_edge(JS / "index.ts", JS / "model/model.ts")
    assert graph.has_edge(LAYOUT / "stage_parts.ts", JS / "render/stage.ts")
    assert all(path.exists() for path in graph)


def test_no_import_circles() -> None:
    circles = [
        sorted(str(path.relative_to(ROOT)) for path in circle)
        for circle in nx.strongly_connected_components(imports())
        if len(circle) > 1
    ]
    assert circles == []


def test_layers() -> None:
    edges = [(a, b) for a, b in imports().edges if a.is_relative_to(JS)]
    pairs = [(str(a.relative_to(JS)), str(b.relative_to(JS))) for a, b in edges]
    layer = {
        name: LAYERS.index(name.rpartition("/")[0].split("/")[0])
        for pair in pairs
        for name in pair
        if "testing" not in name
    }
    upward = [
        f"{name} imports {other}"
        for name, other in pairs
        if name in layer and other in layer and other not in LOWEST and layer[name] < layer[other]
    ]
    assert upward == []
