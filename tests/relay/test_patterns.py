"""The pattern inspector on Relay: what seed 002 asks, what TVM fails on, and patterns for what was chosen."""

from __future__ import annotations

import pytest
import tvm
from hypothesis import given, settings
from hypothesis import strategies as st
from small_samples import SMALL
from tvm import relay
from tvm.relay import dataflow_pattern as dfp

import workbench as wb
from workbench.analysis.patterns.matcher import Matcher
from workbench.analysis.patterns.pattern import PatternError, code
from workbench.analysis.patterns.text import parse
from workbench.dialects.relay.patterns.match import paired
from workbench.dialects.relay.patterns.program import skips_leaves

SEED_002 = 'dominates(is_op("split")(None), wildcard()(None), is_op("transpose")(None))'
ANY_PATH = 'dominates(is_op("split")(None), wildcard(), is_op("transpose")(None))'


@pytest.fixture(scope="module")
def attention():
    return wb.samples.load("attention")


def test_seed_002_the_five_transposes_and_what_stops_each(attention):
    graph = attention.graph
    found = wb.match(attention, ANY_PATH)
    assert not found.matches
    assert [graph.nodes[miss.root].op for miss in found.near_misses] == ["transpose"] * 5
    reasons = [miss.reason for miss in sorted(found.near_misses, key=lambda miss: miss.root)]
    assert reasons == ["leaves-the-region"] * 4 + ["enters-from-outside"]


def test_seed_002_the_mask_enters_from_outside(attention):
    graph = attention.graph
    last = max(wb.match(attention, ANY_PATH).near_misses, key=lambda miss: miss.root)
    (mask,) = [escape for escape in last.domination.escapes if escape.kind == "enters"]
    assert [graph.nodes[n].op for n in mask.path] == [
        "input_mask", "reshape", "cast", "multiply", "expand_dims", "subtract", "multiply", "add",
    ]  # fmt: skip
    assert graph.nodes[mask.through].op == "add"
    region = last.domination.region
    assert (graph.nodes[region.entry].op, graph.nodes[region.exit].op) == ("split", "transpose")
    assert region.exit == last.root
    assert len(region.nodes) == 44
    assert [(edge.source, edge.target) for edge in region.inputs] == [(mask.path[-2], mask.through)]


def test_seed_002_as_it_was_asked_a_field_of_a_tuple_is_no_call(attention):
    found = wb.match(attention, SEED_002)
    assert {miss.reason for miss in found.near_misses} == {"not-on-path"}
    assert "field 0 of split" in str(found)


def test_the_region_is_regions_own_between_split_and_its_post_dominators(attention):
    graph = attention.graph
    region = max(wb.match(attention, ANY_PATH).near_misses, key=lambda miss: miss.root).domination.region
    tree = graph.post_dominators()
    assert tree.dominates(region.exit, region.entry)
    inner = wb.regions(graph).of(region.entry)
    assert set(inner.nodes) <= set(region.nodes), "the transpose lies behind where split's arms first meet"


def test_the_region_as_a_pattern_is_one_that_tvm_takes(attention):
    region = max(wb.match(attention, ANY_PATH).near_misses, key=lambda miss: miss.root).domination.region
    suggested = wb.pattern_for(attention, region.nodes)
    assert suggested.taken
    assert set(region.nodes) - {n.id for n in attention.graph.nodes if n.kind == "constant"} <= set(suggested.nodes)
    pattern = run(suggested.script)
    partitioned = pattern.partition(attention.module["main"])
    composites = [e for e in calls(partitioned) if isinstance(e.op, relay.Function)]
    assert len(composites) == 1
    assert len([c for c in calls(composites[0].op) if isinstance(c.op, tvm.ir.Op)]) == len(
        [n for n in region.nodes if attention.graph.nodes[n].kind == "op"]
    )


def test_what_would_match_does_where_no_leaf_is_in_the_way():
    """The claim about inputs is about TVM 0.17.0; where there are no leaves, this TVM can be asked, too."""
    x = relay.var("x", shape=(4, 4))
    split = relay.split(relay.exp(x), 2)
    left, right = relay.tanh(split[0]), relay.nn.relu(split[1])
    module = wb.load(relay.Function([x], relay.transpose(relay.add(left, right))))
    assert [match.root for match in wb.match(module, ANY_PATH).matches] == [len(module.graph.nodes) - 1]
    outside = relay.Function(
        [x], relay.transpose(relay.add(relay.add(left, right), relay.sqrt(relay.tanh(relay.split(x, 2)[0]))))
    )
    (miss,) = wb.match(
        wb.load(outside), 'dominates(is_op("split")(is_op("exp")(None)), wildcard(), is_op("transpose")(None))'
    ).near_misses
    assert miss.domination.would_match
    assert [escape.kind for escape in miss.domination.escapes] == ["enters"]


def calls(root):
    found = []
    relay.analysis.post_order_visit(root, lambda e: found.append(e) if isinstance(e, relay.Call) else None)
    return found


def run(script):
    names = {}
    exec(script, names)  # what a person would paste
    return names["pattern"]


@pytest.mark.parametrize("text", ['is_op("multiply")(None)', 'is_op("divide")(None)', 'is_op("multiply")(wildcard())'])
def test_what_ends_in_tvms_internal_error_is_said_before(text, attention):
    with pytest.raises(tvm.TVMError):
        paired(text).root.partition(attention.module["main"])
    with pytest.raises(PatternError, match=r"TVM fails on is_op.*wildcard\(\), wildcard\(\)"):
        wb.match(attention, text)


def test_asking_an_operator_for_its_type_is_noted(attention):
    with pytest.raises(tvm.TVMError):
        dfp.wildcard().has_dtype("int8").partition(attention.module["main"])
    found = wb.match(attention, 'wildcard().has_dtype("int8")')
    assert found.matches
    assert any("fail in TVM" in note for note in found.notes)


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ('is_op("nn.conv")(None)', "there is no operator named 'nn.conv'"),
        (3, "an? int is not a pattern"),
        ("wildcard().has_dtype('nonsense')", "TVM rejects"),
        ("wildcard().has_type('Tensor[')", "is not a type"),
    ],
)
def test_what_tvm_rejects_is_a_sentence(pattern, says, attention):
    with pytest.raises(wb.WorkbenchError, match=says):
        wb.match(attention, pattern)


def test_a_dfpattern_and_a_callback_are_read_as_their_text_is(attention):
    for text in (SEED_002, 'is_op("clip")(is_op("round")(wildcard())).has_attr({"a_min": -127.0})'):
        live = run(f"from tvm.relay.dataflow_pattern import *\npattern = {text}")
        callback = dfp.DFPatternCallback()
        callback.pattern = live
        assert str(paired(live).pattern) == str(paired(callback).pattern) == str(parse(text))
        assert wb.match(attention, live).matches == wb.match(attention, text).matches


def test_kernels_are_matched_inside(attention):
    fused = wb.load(wb.trace(attention, "FuseOps{fuse_opt_level=2}").result)
    graph = fused.graph
    found = wb.match(fused, 'is_op("round")(is_op("multiply")(wildcard(), wildcard()))')
    assert len(found.matches) == 4
    for match in found.matches:
        assert {graph.nodes[n].op for n in match.nodes} == {"round", "multiply"}
        assert graph.kernel_of(match.root) is not None


def upward(draw, graph):
    """A node and some of what it is computed from."""
    node = draw(st.sampled_from([n.id for n in graph.ops]))
    chosen, border = {node}, [node]
    for _ in range(draw(st.integers(0, 6))):
        near = sorted(
            {i for n in chosen for i in graph.inputs[n] if graph.nodes[i].kind not in ("param", "constant")} - chosen
        )
        if not near:
            break
        border.append(draw(st.sampled_from(near)))
        chosen.add(border[-1])
    return sorted(chosen)


SAMPLES = {name: wb.samples.load(name, **SMALL[name]) for name in SMALL}
NAMES = {k: v for k, v in vars(dfp).items() if not k.startswith("_")}


@given(st.data())
@settings(max_examples=12)
def test_a_suggestion_runs_in_tvm_and_matches_what_was_chosen(data):
    workload = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    graph = workload.graph
    chosen = upward(data.draw, graph)
    suggested = wb.pattern_for(workload, chosen, exact=False)
    assert {n for n in suggested.nodes if graph.nodes[n].kind not in ("param", "constant")} == set(chosen)
    taken = []
    run(suggested.script).partition(workload.module["main"], check=lambda e: taken.append(e) or False)
    wanted = [match.root for match in suggested.report.taken]
    assert len(taken) == len(wanted)
    assert suggested.taken == (max(chosen) in wanted)
    assert bool(suggested.elsewhere) == (len(suggested.report.matches) > 1)


def test_this_tvm_is_known_by_what_it_does_with_constants():
    x = relay.var("x", shape=(1,))
    expr = relay.tanh(relay.add(relay.nn.relu(x), relay.const(1.0)))
    found = wb.match(
        wb.load(relay.Function([x], expr)), 'dominates(is_op("nn.relu")(None), wildcard(), is_op("tanh")(None))'
    )
    assert bool(found.matches) == skips_leaves()


def test_code_is_what_tvm_reads(attention):
    for text in (SEED_002, 'is_op("add")(wildcard().has_type(TensorType((3, 32, 64), "float32")), is_constant())'):
        script = (
            f"from tvm.relay import TensorType\nfrom tvm.relay.dataflow_pattern import *\npattern = {code(parse(text))}"
        )
        assert str(paired(run(script)).pattern) == str(parse(text))


def ladder(steps: int) -> wb.Workload:
    """Diamonds, each of which doubles the paths from the last value to the first."""
    value = relay.nn.relu(relay.var("x", shape=(2, 2)))
    for _ in range(steps):
        value = relay.add(relay.tanh(value), relay.sqrt(value))
    return wb.load(relay.Function(relay.analysis.free_vars(value), relay.exp(value)))


DIAMONDS = 'dominates(is_op("nn.relu")(None), wildcard(), is_op("exp")(None))'


def test_many_paths_are_walked_by_tvm_in_a_child():
    module = ladder(14)
    found = wb.match(module, DIAMONDS)
    assert not found.not_tried
    assert [match.root for match in found.taken] == [len(module.graph.nodes) - 1]
    assert found.matches == wb.match(module.graph, DIAMONDS).matches


def test_without_an_answer_in_time_the_own_matcher_is_shown_and_labelled():
    module = ladder(40)
    found = wb.match(module, DIAMONDS, timeout=1)
    assert found.not_tried == "TVM did not answer within 1 s; shown is the workbench's own matcher"
    assert found.not_tried in str(found)
    assert [match.root for match in found.matches] == [len(module.graph.nodes) - 1]
    assert not wb.match(module, 'is_op("add")(None)').not_tried


def test_a_module_without_a_relay_function():
    kernel = tvm.tir.PrimFunc([], tvm.tir.Evaluate(0))
    found = wb.match(wb.load(tvm.IRModule({"f": kernel})), 'is_op("nn.relu")(wildcard())')
    assert not found.matches
    assert found.notes == ("the graph has no nn.relu at all",)


def test_a_module_or_pattern_that_tvm_cannot_write(monkeypatch):
    def fail(*_):
        raise tvm.TVMError("cannot save")

    with monkeypatch.context() as patch:
        patch.setattr("workbench.worker.parent.Worker.written", fail)
        found = wb.match(ladder(14), DIAMONDS)
    assert found.not_tried.startswith("this module cannot be written for the child process: cannot save; ")
    assert found.matches
    save = tvm.ir.save_json

    def fail_for_patterns(things):
        # names of variables are read as JSON too
        return save(things) if all(isinstance(each, relay.Var) for each in things) else fail()

    monkeypatch.setattr(tvm.ir, "save_json", fail_for_patterns)
    found = wb.match(ladder(14), DIAMONDS)
    assert found.not_tried.startswith("this pattern cannot be written for the child process: cannot save; ")


def test_where_tvm_and_the_own_matcher_disagree_tvms_answer_is_shown(attention, monkeypatch):
    text = 'is_op("add")(wildcard(), wildcard())'
    wanted = wb.match(attention, text)
    monkeypatch.setattr(Matcher, "_op", lambda *_: False)
    found = wb.match(attention, text)
    assert [(each.root, each.nodes) for each in found.taken] == [(each.root, each.nodes) for each in wanted.taken]
    monkeypatch.setattr(Matcher, "_op", lambda *_: True)
    found = wb.match(attention, text)
    assert [each.root for each in found.matches] == [each.root for each in wanted.matches]
    assert "tvm-differs" in {each.reason for each in found.near_misses}


def test_swapped_arguments_that_double_the_steps_end(monkeypatch):
    """TVM tries both orders of the arguments of each `add`, so a pattern of 40 that fails at its end takes 2**40 steps."""
    monkeypatch.setattr("workbench.analysis.patterns.matcher.VISITS", 10_000)
    x = relay.var("x", shape=(2, 2))
    value, text = relay.exp(x), 'is_op("tanh")(wildcard())'
    for _ in range(40):
        value, text = relay.add(value, value), f'is_op("add")({text}, wildcard())'
    module = wb.load(relay.Function([x], value))
    with pytest.raises(PatternError, match="both orders"):
        wb.match(module.graph, text)
    with pytest.raises(PatternError, match="both orders"):
        wb.match(module, text, timeout=1)
