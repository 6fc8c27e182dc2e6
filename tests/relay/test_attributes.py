"""Attributes in text: each is read as TVM's object has it, or a sentence reports that it is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import attribute_cases
import pytest
import tvm
from breadth import breadth
from tvm import relay

import workbench as wb
from workbench.dialects.relay import frontend
from workbench.dialects.relay.objects import UNREGISTERED, attribute_type, module_of
from workbench.dialects.relay.paste.reading import read_all
from workbench.errors import LoadError

Tell = Callable[[object], None]
X = relay.var("x", shape=(4, 4))
INTS = relay.var("i", shape=(8,), dtype="int32")
IMAGE = relay.var("image", shape=(1, 2, 8, 8))
ROIS = relay.var("rois", shape=(3, 5))
BOXES = relay.var("boxes", shape=(1, 5, 6))
COUNTS = relay.var("counts", shape=(1,), dtype="int32")
PLACES = relay.var("places", shape=(4, 4), dtype="int64")
vision = relay.vision
PROGRAMS: dict[str, relay.Expr] = {
    "cumsum": relay.cumsum(X, axis=1, dtype="float64", exclusive=True),
    "cumsum of all": relay.cumsum(X),
    "cumprod": relay.cumprod(X, axis=-1),
    "trilu": relay.trilu(X, relay.const(1), upper=False),
    "unique": relay.unique(INTS, is_sorted=False, return_counts=True).astuple(),
    "dft": relay.Tuple(list(relay.dft(X, X, inverse=True))),
    "stft": relay.stft(X, 4, hop_length=2, win_length=3, window=relay.var("w", shape=(3,)), normalized=True),
    "dilate": relay.nn.dilate(X, [2, 3], dilation_value=1.5),
    "scatter_elements": relay.scatter_elements(X, PLACES, X, axis=1, reduction="add"),
    "scatter_nd": relay.scatter_nd(relay.var("d", shape=(8,)), relay.reshape(INTS, (1, 8)), relay.var("u", shape=(8,)), "add"),
    "collapse_sum_to": relay.collapse_sum_to(X, relay.var("shape", shape=(2,), dtype="int32")),
    "compiler_begin": relay.annotation.compiler_end(relay.annotation.compiler_begin(X, "dnnl"), "dnnl"),
    "expand_dims": relay.expand_dims(X, relay.var("axis", shape=(), dtype="int32"), num_newaxis=2),
    "roi_align": vision.roi_align(IMAGE, ROIS, (3, 3), 0.5, sample_ratio=2, mode="max"),
    "roi_pool": vision.roi_pool(IMAGE, ROIS, (3, 2), 0.25),
    "get_valid_counts": vision.get_valid_counts(BOXES, 0.5, id_index=1, score_index=2).astuple(),
    "non_max_suppression": vision.non_max_suppression(
        BOXES, COUNTS, relay.var("k", shape=(1, 5), dtype="int32"), -1, 0.75, force_suppress=True, top_k=3, id_index=1, return_indices=False
    ),
    "all_class_non_max_suppression": vision.all_class_non_max_suppression(
        relay.var("b", shape=(1, 5, 4)), relay.var("s", shape=(1, 2, 5)), 3, 0.5, 0.5, output_format="tensorflow"
    ).astuple(),
}  # fmt: skip


@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize(
    "name", breadth(PROGRAMS, "cumsum", "expand_dims", "non_max_suppression", "roi_align", "unique")
)
def test_operator_without_a_registered_attribute_type(name: str, metadata: bool) -> None:
    meant = wb.load(relay.Function(relay.analysis.free_vars(PROGRAMS[name]), PROGRAMS[name])).module
    loaded = wb.load(meant.astext(show_meta_data=metadata))
    assert tvm.ir.structural_equal(loaded.module, meant)
    assert loaded.notes == []


def test_attribute_that_an_operator_has_not_is_noted() -> None:
    loaded = wb.load("def @main(%x: Tensor[(2), float32]) { exp(%x, axis=1) }")
    assert [note.partition(" in TVM")[0] for note in loaded.notes] == ["exp has no attribute axis"]


def test_attribute_of_a_call_of_a_function_is_noted() -> None:
    text = "def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { %x }\n"
    loaded = wb.load(text + "def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { @f(%x, axis=1) }")
    assert [note.partition(" in TVM")[0] for note in loaded.notes] == ["a call of a function has no attribute axis"]


@pytest.mark.parametrize("stop", [relay.const(7.0), relay.var("stop", shape=())])
def test_arange_without_metadata(stop: relay.Expr) -> None:
    body = relay.arange(relay.const(1.0), stop, relay.const(2.0), "float32")
    meant = wb.load(relay.Function(relay.analysis.free_vars(body), body)).module
    loaded = wb.load(meant.astext(show_meta_data=False))
    assert tvm.ir.structural_equal(loaded.module, meant)
    assert loaded.notes == ["start, stop, step of arange are not in the text; they are taken from its arguments"]


def test_device_of_a_parameter_is_noted() -> None:
    loaded = wb.load("def @main(%x {virtual_device=VirtualDevice(device_type=2)}: Tensor[(2), float32]) { exp(%x) }")
    assert loaded.notes == ["the virtual_device of %x was left out"]


def test_escapes_in_a_string() -> None:
    x = relay.var("x", shape=(4,))
    named = relay.Function([x], x).with_attr("Composite", 'a "quoted" \\ word\né (1)')
    loaded = wb.load(tvm.IRModule.from_expr(relay.Function([X], relay.Call(named, [relay.sum(X, axis=1)]))).astext())
    assert loaded.module["main"].body.op.attrs["Composite"] == 'a "quoted" \\ word\né (1)'


def read_alone(case: attribute_cases.Case, form: str) -> str:
    """Return what a text's call has for attributes: "equal", "noted", "refused", or the text where they differ."""
    text = case.module().astext(show_meta_data=form == "metadata")
    reading = read_all(text)[0]
    try:
        if form == "pasted":
            module, notes = module_of(reading.module, frontend._values(reading.metadata), {})
            module = frontend.infer_types(module)
        else:
            module, notes = frontend.module_of_reading(reading, {})
    except LoadError:
        return "refused"
    attrs = module["main"].body.attrs
    if attrs is case.attrs is None or (attrs is not None and tvm.ir.structural_equal(attrs, case.attrs)):
        return "equal"
    return "noted" if notes else f"different: {text}"


def found(cases: list[attribute_cases.Case], form: str, tell: Tell) -> Counter[str]:
    """Read the text of each case in a child process."""
    answers = attribute_cases.answers(lambda place: read_alone(cases[place], form), len(cases))
    counts = Counter(answer if len(answer) < 9 else "different" for answer in answers)
    tell(f"attributes in {len(cases)} texts of {len({case.op for case in cases})} operators, {form}: {dict(counts)}")
    assert [answer for answer in answers if answer.startswith("different")] == []
    return counts


@pytest.fixture
def untyped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take modules as they are made: the arguments of the cases do not fit all attributes."""
    monkeypatch.setattr(frontend, "infer_types", lambda module: module)


@pytest.mark.usefixtures("untyped")
@pytest.mark.parametrize("form", ["printed", "pasted"])
def test_every_attribute_of_unregistered_types(form: str, tell: Tell) -> None:
    assert set(UNREGISTERED) < set(attribute_cases.operators())
    cases = [case for op in UNREGISTERED for case in attribute_cases.cases(op)]
    assert found(cases, form, tell) == {"equal": len(cases)}


@pytest.fixture(scope="module")
def every() -> list[attribute_cases.Case]:
    """Every operator, with each attribute of its type changed to each value that the type takes."""
    made = [case for op in attribute_cases.operators() for case in attribute_cases.cases(op)]
    changed = {(case.op, case.attribute) for case in made}
    for op in attribute_cases.operators():
        key = attribute_type(tvm.ir.Op.get(op))
        assert {(op, name) for name in (attribute_cases.fields(key) if key else ())} <= changed
    return made


@pytest.mark.usefixtures("untyped")
@pytest.mark.parametrize("form", breadth(["printed", "metadata", "pasted"]))
def test_every_attribute_of_every_operator(form: str, every: list[attribute_cases.Case], tell: Tell) -> None:
    counts = found(every, form, tell)
    assert counts["equal"] > 0.98 * len(every)


@pytest.mark.long
def test_every_attribute_loaded(every: list[attribute_cases.Case], tell: Tell) -> None:
    counts: Counter[str] = Counter()
    # one value of every tenth attribute: the test above reads all values
    one_of_each = {(case.op, case.attribute): case for case in every}
    loaded = list(one_of_each.values())[::10]
    for case in loaded:
        text = case.module().astext(show_meta_data=False)
        try:
            workload = wb.load(text)
            attrs: Any = workload.module["main"].body.attrs
        except LoadError:  # none of it, or no module
            counts["refused"] += 1
            continue
        if attrs is case.attrs is None or tvm.ir.structural_equal(attrs, case.attrs):
            counts["equal"] += 1
        else:
            assert workload.notes, text
            counts["noted"] += 1
    tell(f"wb.load of {len(loaded)} texts: {dict(counts)}")


def test_attributes_of_a_graph_are_values_of_pythons_own_types() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), int64]) -> Tensor[(4), int64] {
  cumsum(%x, axis=0, dtype="int64") /* ty=Tensor[(4), int64] */
}
"""
    module = wb.trace_build(wb.load(text), opt_level=3, whole=False).end.graph
    again = wb.Graph.from_json(module.to_json())
    types = {type(value) for node in module.nodes for value in node.attrs.values()}
    assert types <= {str, int, float, bool, tuple, list, dict, type(None)}
    assert wb.diff(module, again).empty
