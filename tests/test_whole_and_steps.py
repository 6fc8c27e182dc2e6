"""A whole pipeline and its steps are one story: the diffs, the layers and the numbers, in both dialects.

Each sample and a few models from ONNX go through the default pipeline, which drops names, spans and variables on the way.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest
from breadth import breadth
from small_samples import TWO_LAYERS

import workbench as wb
from workbench.graph.changes import GraphDiff, compose
from workbench.graph.layers import layered
from workbench.graph.model import Graph
from workbench.widgets.payload import encode_graph
from workbench.widgets.stepper.trace_states import States

sys.path.insert(0, str(Path(__file__).parent))
from onnx_models import attention, bert, blocks

MODELS = {"blocks": blocks, "onnx_attention": attention, "onnx_bert": functools.partial(bert, 2)}
LARGE = ("bert", "resnet18", "onnx_bert")
NAMES = breadth([*TWO_LAYERS, *MODELS], *({*TWO_LAYERS, *MODELS} - set(LARGE)))


@functools.cache
def traced(dialect: str, name: str) -> wb.Trace:
    """The default pipeline of one program."""
    if name in MODELS:
        return wb.trace(wb.load(MODELS[name]()))
    return wb.trace(wb.samples.load(name, dialect=dialect, **TWO_LAYERS[name]))


def layers(graph: Graph) -> list[list[str]]:
    """The layers around each node as drawn, outermost first."""
    found = layered(graph)
    return [
        [group.name for group in found.ancestors(node.group) if group.kind == "scope"][::-1] for node in found.nodes
    ]


def computed(graph: Graph, diff: GraphDiff) -> list[tuple[int, int]]:
    """The pairs of nodes that compute something."""
    return [(b, a) for b, images in diff.mapping.items() if graph.inputs[b] for a in images]


@pytest.mark.parametrize("name", NAMES)
def test_whole_diff_is_the_composition_of_the_steps(dialect, name, tmp_path):
    trace = traced(dialect, name)
    graphs = [trace.start.graph, *(step.after for step in trace.steps if step.changed)]
    steps = [step.diff for step in trace.steps if step.changed]
    assert trace.diff == compose(steps, graphs[0], graphs[-1])
    assert wb.diff(trace.start, trace.end) == wb.diff(trace.start.graph, trace.end.graph) == trace.diff
    assert wb.CompareView(trace.start.graph, trace.end.graph).changes == trace.diff
    for place in range(1, len(graphs)):
        assert wb.diff(graphs[0], graphs[place]) == compose(steps[:place], graphs[0], graphs[place])
        assert wb.diff(graphs[place], graphs[-1]) == compose(steps[place:], graphs[place], graphs[-1])
    assert wb.Trace.open(trace.save(tmp_path / "t.wbtrace")).diff == trace.diff


@pytest.mark.parametrize("name", NAMES)
def test_a_node_is_in_the_layer_of_its_counterpart_or_in_one_around_it(dialect, name):
    trace = traced(dialect, name)
    pairs = [(step.before, step.after, step.diff) for step in trace.steps if step.changed]
    for before, after, diff in [*pairs, (trace.start.graph, trace.end.graph, trace.diff)]:
        was, now = layers(before), layers(after)
        assert [(was[b], now[a]) for b, a in computed(before, diff) if was[b][: len(now[a])] != now[a]] == []


def test_steps_that_only_regroup_add_nothing_to_the_whole(dialect):
    trace = traced(dialect, "onnx_attention")
    *before, fused = [step for step in trace.steps if step.changed]
    assert fused.diff.empty
    assert trace.diff.counts == wb.diff(trace.start.graph, before[-1].after).counts


def test_layers_of_a_network_whose_convolutions_lost_their_spans(dialect):
    graph = traced(dialect, "blocks").end.graph
    found = layers(graph)
    convolutions = [path[0] for node, path in zip(graph.nodes, found, strict=True) if "conv2d" in node.op]
    assert convolutions == ["stem", "b0", "b0", "b1", "b1", "head", "head", "head"]
    computed_in = (path[0] for node, path in zip(graph.nodes, found, strict=True) if path and graph.inputs[node.id])
    assert list(dict.fromkeys(computed_in)) == ["stem", "b0", "b1", "head"]


@pytest.mark.one_dialect
def test_every_view_of_a_trace_draws_its_layers(dialect):
    bench = wb.Workbench(wb.load(blocks()), auto_measure=False)
    assert bench.wait()
    trace = bench.trace
    drawn = [encode_graph(layered(graph)) for graph in (trace.start.graph, trace.end.graph)]
    assert [bench.before, bench.after] == drawn, "in the first picture"
    compared = wb.CompareView(trace.start.graph, trace.end.graph)
    assert [compared.before, compared.after] == drawn
    states = States(trace)
    assert states.message(("state", len(states) - 1))["graph"] == drawn[1], "also in a saved page"
    assert wb.GraphView(trace.end.graph).graph == drawn[1]
    assert bench.state["counts"]["changed"] == states.message(("counts", 0, len(states) - 1))["counts"]["changed"]
    bench.close()
