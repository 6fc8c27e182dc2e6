"""Patterns on Relax, which has no `dominates`: the same rules on what the graph says."""

from __future__ import annotations

from typing import Any

import pytest
from tvm import relax
from tvm.relax import dpl

import workbench as wb
from workbench.analysis.patterns import matcher
from workbench.analysis.patterns.pattern import PatternError, code
from workbench.analysis.patterns.text import parse
from workbench.dialects.relax.patterns.match import paired
from workbench.errors import UnknownName

ANY_PATH = 'dominates(is_op("relax.split")(None), wildcard(), is_op("relax.permute_dims")(None))'


def test_seed_002_has_the_same_answer_as_in_relay():
    workload = wb.samples.load("attention")
    graph = workload.graph
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
    graph = workload.graph
    split = next(node.id for node in graph.ops if node.op == "relax.split")
    chosen = [*graph.inputs[split], split]
    suggested = wb.pattern_for(workload, chosen)
    names: dict = {}
    exec(suggested.script, names)  # what a person would paste
    from tvm.relax.dpl import DFPattern

    assert isinstance(names["pattern"], DFPattern)
    assert {"relax.add", "relax.split"} <= {graph.nodes[n].op for n in suggested.nodes}


def legal(name: str) -> wb.Workload:
    return wb.load(wb.trace(wb.samples.load(name), "LegalizeOps,AnnotateTIROpPattern").result, name=name)


TEXTS = {
    'is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())': (3, "mlp"),
    'is_op("relax.matmul")(varg_default_wildcard=True)': (3, "mlp"),
    'is_op("relax.add")(wildcard(), varg_default_wildcard=True)': (3, "mlp"),
    'is_op("relax.matmul")(wildcard(), is_var("fc0_weight"))': (0, "mlp"),
    'is_op("relax.permute_dims")(is_var("fc0_weight"))': (1, "mlp"),
    'is_op("relax.split")(wildcard())[1]': (0, ""),
    'is_tuple_get_item(is_op("relax.split")(wildcard()), 1)': (1, "attention"),
    'is_op("relax.add")(is_const(), is_const())': (0, "attention"),
    'is_op("relax.add")(wildcard(), is_const())': (1, "attention"),
    'is_op("relax.nn.relu")(~is_op("relax.add")(wildcard(), wildcard()))': (0, "mlp"),
    'is_op("relax.nn.relu")(is_op("relax.add")(wildcard(), wildcard()) & wildcard().has_dtype("float32"))': (3, "mlp"),
    'is_op("relax.nn.relu")(wildcard().has_shape([1, 32]))': (3, "mlp"),
    'is_op("relax.nn.relu")(wildcard()) | is_op("relax.matmul")(wildcard(), wildcard())': (6, "mlp"),
    'has_attr({"axis": 0}, is_op("relax.split")(wildcard()))': (1, "attention"),
    'is_op("relax.matmul")(wildcard(), wildcard()) >> is_op("relax.add")(wildcard(), wildcard())': (3, "mlp"),
    'is_op("relax.matmul")(wildcard(), wildcard()).only_used_by(is_op("relax.add")(wildcard(), wildcard()), 1)': (
        0,
        "mlp",
    ),
    'is_op("relax.split")(wildcard()) ^ is_tuple_get_item(wildcard(), 1)': (1, "attention"),
    'is_op("relax.split")(wildcard()) >> is_tuple_get_item(wildcard(), 1)': (0, "attention"),
    'is_call_tir("relu")': (3, "mlp legal"),
    'is_call_tir("relu", [is_call_tir("add", [wildcard(), wildcard()])])': (3, "mlp legal"),
    'is_call_tir("relu", is_tuple([wildcard()], unordered=True))': (0, ""),
    'is_op("relax.call_tir")(is_gv("relu"), is_tuple([wildcard()], unordered=True))': (3, "mlp legal"),
    'is_call_dps_packed("my.kernel")': (0, "mlp legal"),
}


@pytest.mark.parametrize("text", [text for text, (_, sample) in TEXTS.items() if sample])
def test_what_can_be_said_is_matched_as_tvm_matches_it(text: str) -> None:
    count, sample = TEXTS[text]
    workload = legal("mlp") if sample == "mlp legal" else wb.samples.load(sample)
    told = wb.match(workload, text)
    assert len(told.matches) == count, told
    assert told.matches or told.near_misses or "dps_packed" in text, "where nothing matches, what nearly does is told"


@pytest.mark.parametrize("text", TEXTS)
def test_a_pattern_written_is_read_again(text: str) -> None:
    try:
        pattern = parse(text)
    except PatternError:
        assert not TEXTS[text][1]
        return
    assert code(parse(code(pattern))) == code(pattern)


@pytest.mark.parametrize(
    "text",
    [text for text in TEXTS if TEXTS[text][1] and ">>" not in text and "^" not in text and "used_by" not in text],
)
def test_an_object_of_dpl_is_read_as_the_text_is(text: str) -> None:
    both = paired(text)
    again = paired(both.root)
    names = {name: getattr(dpl.pattern, name) for name in dir(dpl.pattern)}
    theirs: Any = eval(text, names)  # what a person would write
    assert [node.label for node in paired(theirs).pattern.nodes] == [node.label for node in again.pattern.nodes]
    assert sorted(node.label for node in again.pattern.nodes) == sorted(
        {n.id: n.label for n in both.pattern.nodes}.values()
    )


def test_a_near_miss_says_which_node_and_why() -> None:
    told = wb.match(wb.samples.load("mlp"), 'is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))')
    assert not told
    miss = told.near_misses[0]
    assert miss.reason == "other-operator"
    assert miss.sentence == "relax.add is not the operator relax.matmul"
    assert told.graph.nodes[miss.root].op == "relax.nn.relu"


def test_only_used_by_says_how_many_use_it() -> None:
    text = 'is_op("relax.split")(wildcard()) >> is_tuple_get_item(wildcard(), 1)'
    told = wb.match(wb.samples.load("attention"), text)
    (miss,) = [miss for miss in told.near_misses if miss.reason == "used-elsewhere"]
    assert "is used by 3 values" in miss.sentence


def test_a_chain_is_taken_where_match_dfb_takes_it() -> None:
    text = 'is_op("relax.matmul")(wildcard(), wildcard()) >> is_op("relax.add")(wildcard(), wildcard())'
    told = wb.match(wb.samples.load("mlp"), text)
    assert [match.taken for match in told.matches] == [True, False, False]
    assert "match_dfb gives the first match" in told.matches[1].refused


def test_where_tvm_fails_is_a_note() -> None:
    told = wb.match(wb.samples.load("mlp"), 'wildcard().has_attr({"axis": 1})')
    assert not told
    (note,) = told.notes
    assert "TVM's matcher ends with an error at" in note
    with pytest.raises(Exception, match="metadata"):
        dpl.wildcard().has_attr({"axis": 1}).match(relax.op.nn.relu(relax.const(1.0)))


def test_no_reason_within_the_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher, "VISITS", 0)
    monkeypatch.setattr(matcher, "VISITS_PER_ROW", 0)
    told = wb.match(wb.samples.load("mlp"), 'is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))')
    assert not told.notes


def test_what_relax_has_not_is_refused_in_words() -> None:
    workload = wb.samples.load("mlp")
    with pytest.raises(PatternError, match="no access to the parts of a PatternSeq"):
        wb.match(workload, dpl.wildcard() >> dpl.wildcard())
    with pytest.raises(PatternError, match="no `if`"):
        wb.match(workload, "is_if(wildcard(), wildcard(), wildcard())")
    with pytest.raises(PatternError, match="used_by is allowed at the root"):
        wb.match(workload, "is_tuple([wildcard() >> wildcard()])")
    with pytest.raises(UnknownName, match="operator"):
        wb.match(workload, 'is_op("nn.relu")(wildcard())')


def test_a_match_is_shown_outlined_and_taken_back() -> None:
    view = wb.PatternInspector(
        wb.samples.load("mlp"), 'is_op("relax.nn.relu")(is_op("relax.add")(wildcard(), wildcard()))'
    )
    assert len(view.findings) == 3
    assert "FuseOpsByPattern takes it" in str(view.panels["card"])
    offered = next(each for each in view.panels["card"] if each.get("act") == "outline")
    assert not offered["off"]
    made = view.outline()
    assert [group.name for group in made.graph.groups if group.kind == "composite"] == ["matched"]
    assert view.undo()
    assert len(view.findings) == 3
