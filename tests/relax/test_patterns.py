"""Patterns on Relax, which has no `dominates`: the same rules on what the graph says."""

from __future__ import annotations

import workbench as wb

ANY_PATH = 'dominates(is_op("relax.split")(None), wildcard(), is_op("relax.permute_dims")(None))'


def test_seed_002_has_the_same_answer_as_in_relay():
    workload = wb.samples.load("attention")
    graph = workload.graph()
    found = wb.match(workload, ANY_PATH)
    assert not found.matches
    reasons = [miss.reason for miss in sorted(found.near_misses, key=lambda miss: miss.root)]
    assert reasons == ["leaves-the-region"] * 4 + ["enters-from-outside"]
    told = max(found.near_misses, key=lambda miss: miss.root).domination
    (mask,) = [escape for escape in told.escapes if escape.kind == "enters"]
    assert graph.nodes[mask.path[0]].op == "input_mask"
    assert [(edge.source, edge.target) for edge in told.region.inputs] == [(mask.path[-2], mask.through)]
    assert told.would_match


def test_a_suggestion_can_be_made_with_relaxs_own_language():
    workload = wb.samples.load("attention")
    graph = workload.graph()
    split = next(node.id for node in graph.ops() if node.op == "relax.split")
    chosen = [*graph.inputs[split], split]
    suggested = wb.pattern_for(workload, chosen)
    names: dict = {}
    exec(suggested.script, names)  # what a person would paste
    from tvm.relax.dpl import DFPattern

    assert isinstance(names["pattern"], DFPattern)
    assert {"relax.add", "relax.split"} <= {graph.nodes[n].op for n in suggested.nodes}
