"""Analyses of graphs that TVM would not accept: each answers, or raises a WorkbenchError."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable

import pytest

import workbench as wb
from workbench.analysis.chains.rules import Step, transposes_left
from workbench.graph.layers import layered
from workbench.graph.model import Graph, GraphBuilder
from workbench.graph.nodes import KINDS

OPS = {
    "relay": "add multiply nn.conv2d nn.dense nn.batch_matmul nn.relu nn.pad nn.bias_add transpose cast clip repeat",
    "relax": "add multiply nn.conv2d matmul nn.relu nn.gelu nn.pad permute_dims astype clip layout_transform",
}
TYPES = {
    "relay": ("Tensor[(8, 8), float32]", "Tensor[(1, 3, 8, 8), float32]", "(Tensor[(4), float32],)", "Tensor[(4"),
    "relax": ("R.Tensor((8, 8), dtype='float32')", "R.Tensor((1, 3, 8, 8), dtype='float32')", "R.Tensor((", "R.Tensor"),
}
USUAL = {"relax.nn.relu": 1, "relax.nn.gelu": 1, "relax.permute_dims": 1, "relax.nn.pad": 1, "relax.astype": 1}
USUAL |= dict.fromkeys(["nn.relu", "transpose", "cast", "clip"], 1)
NAMES = [
    "axis", "axes", "strides", "padding", "groups", "data_layout", "kernel_layout", "out_layout", "out_dtype",
    "dtype", "index", "a_min",
]  # fmt: skip
VALUES = (None, "x", -1, 99, 1 << 62, [], ["a"], [None], [-5, 7], {}, True, 1.5, "NCHW4c", "C", float("nan"))


def odd_graph(seed: int) -> Graph:
    """Few operators on few values; some with more or fewer inputs, wrong attributes, or a type that does not parse."""
    rng = random.Random(seed)
    dialect, strict = rng.choice(["relay", "relax"]), rng.random() < 0.7
    builder = GraphBuilder("odd", dialect)
    for place in range(rng.randint(0, 3)):
        parent = rng.randrange(place) if place else None
        builder.group(rng.choice(["function", "primitive", "branch"]), "f", parent)
    names = [f"relax.{op}" if dialect == "relax" else op for op in rng.sample(OPS[dialect].split(), 3)]
    for place in range(rng.randint(2, 12)):
        kind = rng.choice(["op"] * 5 + list(KINDS)) if place > 1 else rng.choice(["param", "constant"])
        op = rng.choice(names) if kind == "op" else "@f"
        count = USUAL.get(op, 2) if strict else rng.choice([0, 1, 2, 3, 5])
        builder.node(
            kind,
            op,
            [rng.choice([0, 1, place - 1]) for _ in range(count if place > 1 else 0)],
            type=rng.choices(TYPES[dialect], [6, 6, 1, 1])[0],
            attrs={rng.choice(NAMES): rng.choice(VALUES) for _ in range(rng.choice([0, 0, 1, 2]))},
            group=rng.randrange(len(builder.groups)) if builder.groups else None,
            pattern=rng.choice([None, 0, 1, 2, 4, 8]),
        )
    for group in builder.groups:
        builder.returns(group.id, rng.randrange(len(builder.nodes)))
    builder.outputs = [len(builder.nodes) - 1]
    return Graph.from_json(builder.build().to_json())


ANALYSES: dict[str, Callable[[Graph], object]] = {
    "regions": lambda graph: list(wb.regions(graph)),
    "dominators": lambda graph: (graph.dominators(), graph.post_dominators()),
    "parallel_branches": lambda graph: [(str(group), group.change) for group in wb.parallel_branches(graph)],
    "constant_chains": lambda graph: list(map(str, wb.constant_chains(graph))),
    "explain_fusion": lambda graph: [
        wb.explain_fusion(graph).why(edge.source, edge.target) for edge in graph.edges[:3]
    ],
    "match": lambda graph: str(wb.match(graph, "is_op('nn.relu')(is_op('add')(wildcard(), wildcard()))")),
    "pattern_for": lambda graph: wb.pattern_for(graph, [len(graph.nodes) - 1]),
    "diff": lambda graph: wb.diff(graph, odd_graph(len(graph.nodes))),
    "layered": lambda graph: layered(graph),
    "GraphView": wb.GraphView,
}


@pytest.mark.parametrize("name", ANALYSES)
def test_odd_graph_is_analysed_or_refused(name: str) -> None:
    for seed in range(40 if name == "GraphView" else 300):
        with contextlib.suppress(wb.WorkbenchError):
            ANALYSES[name](odd_graph(seed))


@pytest.mark.parametrize("count", [0, 1, 3, 20_000])
@pytest.mark.parametrize(("dialect", "op"), [("relax", "relax.add"), ("relax", "relax.matmul"), ("relay", "nn.dense")])
def test_wrong_number_of_inputs_is_named(dialect: str, op: str, count: int) -> None:
    builder = GraphBuilder("odd", dialect)
    data = builder.node("param", "x", type=TYPES[dialect][0])
    builder.node("op", op, [data] * count, type=TYPES[dialect][0])
    for analysis in (wb.parallel_branches, wb.constant_chains):
        with pytest.raises(wb.WorkbenchError, match=rf"{op} \(node 1\) has {count:,} inputs? and takes 2"):
            analysis(builder.build())


def test_transposes_of_different_ranks_do_not_fold() -> None:
    steps = [Step("transpose", "", axes=(1, 0)), Step("transpose", "", axes=(2, 1, 0))]
    assert transposes_left(steps) == 2
