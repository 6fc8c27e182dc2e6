"""Boundaries on graphs made by hand, and the calibration that decides about predictions."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest
from graphs import Net

import workbench as wb
from workbench.analysis.fusion.boundaries import between, inside
from workbench.analysis.fusion.report import FusionReport
from workbench.errors import MeasureError
from workbench.graph.model import GraphBuilder
from workbench.measurement.boundaries import calibration as kept
from workbench.measurement.boundaries.calibration import (
    LEAST,
    Calibration,
    MachineCosts,
    Record,
    calibration,
    rank_correlation,
    read,
)
from workbench.measurement.boundaries.costs import BoundaryCost, costs_of
from workbench.measurement.boundaries.trial import BoundaryTrial, Limits
from workbench.measurement.machine import SIZES, Bandwidth, Spread, bandwidth
from workbench.measurement.race import Race
from workbench.measurement.verdict import Ratio

WIDE, BYTES = "Tensor[(64, 64), float32]", 64 * 64 * 4


def two_kernels() -> FusionReport:
    """Return the report of a transpose in front of a product, which FuseOps keeps apart."""
    net = Net(type=WIDE)
    return wb.explain_fusion(net.done(net.op("nn.dense", net.op("transpose"), net.x)))


# -- bytes and launches


def test_a_value_of_one_reader_is_neither_written_nor_read():
    (found,) = between(two_kernels())
    assert (found.written, found.read, found.launches, found.joined) == (BYTES, BYTES, 1, False)
    assert found.kinds == ("simple", "complex")
    assert found.refusal == ""
    # x, the value, the result
    assert found.working_set == 3 * BYTES


def test_a_value_of_two_kernels_is_still_written():
    net = Net(type=WIDE)
    exp = net.op("transpose")
    found = between(wb.explain_fusion(net.done(net.op("nn.dense", exp, net.x), net.op("nn.softmax", exp))))
    assert [(each.written, each.read, each.launches) for each in found] == [(0, BYTES, 0)] * 2
    assert all("outside the selection" in each.refusal for each in found)


def test_a_returned_value_is_still_written():
    net = Net(type=WIDE)
    exp = net.op("transpose")
    (found,) = between(wb.explain_fusion(net.done(exp, net.op("nn.dense", exp, net.x))))
    assert (found.written, found.read, found.launches) == (0, BYTES, 0)


def test_a_reader_through_a_returned_tuple_counts():
    net = Net(type=WIDE)
    exp = net.op("transpose")
    both = net.builder.node("tuple", "", [exp, net.op("nn.dense", exp, net.x)])
    (found,) = between(wb.explain_fusion(net.done(both)))
    assert found.written == 0


def test_a_reshape_moves_nothing():
    net = Net(type=WIDE)
    found = between(wb.explain_fusion(net.done(net.op("nn.softmax", net.op("reshape", net.op("nn.softmax"))))))
    assert found
    assert all((each.written, each.read, each.launches) == (0, 0, 0) for each in found)


@pytest.mark.parametrize(
    ("shape", "rows"),
    [
        *(("()", False), ("(64)", False), ("(1, 64)", False), ("(2, 64)", True), ("(?, 64)", True)),
        *(("(1, 1, 64)", False), ("(1, 2, 64)", True), ("(1, 1, 64, 64)", False)),
        *(("(1, 1, 1, 64, 64)", False), ("(1, 1, 2, 64, 64)", True)),
    ],
)
def test_rows_are_the_loops_that_schedules_spread(shape, rows):
    net = Net(type=WIDE)
    turned = net.op("transpose", type=f"Tensor[{shape}, float32]")
    (found,) = between(wb.explain_fusion(net.done(net.op("nn.dense", turned, net.x))))
    assert found.has_rows is rows


def test_an_open_shape_has_no_bytes():
    net = Net(type=WIDE)
    opened = net.op("transpose", type="Tensor[(?, 64), float32]")
    row = wb.boundary_costs(net.done(net.op("nn.dense", opened, net.x))).table.iloc[0]
    assert row.isna()["bytes_read"]
    assert "shape" in row.note


def test_cuts_are_values_on_which_all_of_one_part_depends():
    net = Net(type=WIDE)
    dense = net.op("nn.dense")
    exp = net.op("exp", dense)
    report = wb.explain_fusion(net.done(net.op("add", exp, net.op("nn.relu", dense))))
    assert len(report.kernels) == 1
    # behind exp the other part would also read dense
    assert [(each.source, each.targets, each.joined) for each in inside(report)] == [(dense, (2, 3), True)]


def test_a_kernel_made_before_has_no_cuts():
    builder = GraphBuilder("given", "relay")
    x = builder.node("param", "x", type=WIDE)
    group = builder.group("primitive", "fused", None)
    exp = builder.node("op", "exp", [x], type=WIDE, pattern=0, group=group)
    builder.outputs = [builder.node("op", "nn.relu", [exp], type=WIDE, pattern=0, group=group)]
    assert inside(wb.explain_fusion(builder.build())) == ()


def test_costs_of_a_program_without_boundaries():
    assert wb.boundary_costs(Net(type=WIDE).done(0)).table.empty


# -- the machine


def test_bandwidth_is_measured_at_each_size(tell):
    found = bandwidth(1)
    assert found.sizes == SIZES
    assert all(1e8 < rate.low <= rate.middle <= rate.high < 1e14 for rate in found.rates)
    assert "numpy" in found.method
    assert bandwidth(1) is found
    tell(f"bandwidth by size: {', '.join(f'{r.middle / 1e9:.0f}' for r in found.rates)} GB/s ({found.method})")


def test_bandwidth_beyond_the_ends_is_that_of_the_ends():
    rates = Spread(1.0, 1.0, 1.0), Spread(4.0, 4.0, 4.0)
    curve = Bandwidth((100, 10_000), rates, "")
    assert [curve.at(size).middle for size in (1, 100, 1000, 10_000, 10**9)] == pytest.approx([1, 1, 2, 4, 4])


MACHINE = MachineCosts(
    Bandwidth((1,), (Spread(1e9, 1e9, 1e9),), "by hand"), Spread(1e-9, 1e-9, 1e-9), Spread(1e-6, 1e-6, 1e-6), "by hand"
)


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Return the number of measurements of the machine, each of which gives MACHINE."""
    made = []
    monkeypatch.setenv("TVM_WORKBENCH_STORE", str(tmp_path / "m.sqlite"))
    monkeypatch.setattr(kept, "_known", {})
    monkeypatch.setattr(kept, "conditions", lambda _: {"machine": "a", "tvm": "1", "threads": 2})
    monkeypatch.setattr(kept, "_measure", lambda *_: made.append(1) or MACHINE)
    return made


def test_costs_of_the_machine_are_kept_on_the_disk(measured, monkeypatch):
    assert kept.machine_costs("relay", "llvm") == MACHINE
    monkeypatch.setattr(kept, "_known", {})
    assert kept.machine_costs("relay", "llvm") == MACHINE
    assert len(measured) == 1
    kept.machine_costs("relax", "llvm")
    assert len(measured) == 2


def test_costs_of_a_busy_machine_are_not_kept(measured, monkeypatch):
    busy = replace(MACHINE, call_of_rows=Spread(1e-6, 2e-6, 9e-6))
    monkeypatch.setattr(kept, "_measure", lambda *_: measured.append(1) or busy)
    for _ in range(2):
        assert kept.machine_costs("relay", "llvm") == busy
        assert len(measured) == 1
    monkeypatch.setattr(kept, "_known", {})
    kept.machine_costs("relay", "llvm")
    assert len(measured) == 2


RATE_OF_ZERO = asdict(replace(MACHINE, bandwidth=Bandwidth((1,), (Spread(0.0, 1.0, 1.0),), "")))
NO_SPREADS = {"bandwidth": {}, "call": {}, "method": ""}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", *(json.dumps({"a relay 1 2 llvm": each}) for each in (3, NO_SPREADS, RATE_OF_ZERO))]
)
def test_a_damaged_file_is_measured_again(measured, tmp_path, text):
    (tmp_path / kept.FILE).write_text(text)
    assert kept.machine_costs("relay", "llvm") == MACHINE
    assert len(measured) == 1


# -- a race of the two parts


def alone() -> BoundaryCost:
    (row,) = costs_of(two_kernels(), None, Limits(), known=Calibration()).rows
    return row


def raced(**fields: object) -> BoundaryTrial:
    return BoundaryTrial.of(replace(Race("two", "one", "llvm", 2.0, 1.9, 2.1, (2e-6,) * 20, (1e-6,) * 20), **fields))


def test_a_race_gives_the_seconds_that_one_kernel_saves():
    row = replace(alone(), trial=raced()).to_data()
    assert row["measured"] == pytest.approx(1e-6)
    assert row["answer"] == "yes"


@pytest.mark.parametrize("fields", [{"wrong": ("two",)}, {"noise": (Ratio(0.5, 0.4, 0.6),)}])
def test_a_race_with_wrong_outputs_or_noise_gives_no_seconds(fields):
    """The one kernel does not save anything because the outputs of the two differ from the reference."""
    row = replace(alone(), trial=raced(**fields)).to_data()
    assert (row["measured"], row["measured_low"], row["answer"]) == (None, None, "can't tell")
    assert row["note"]


# -- the calibration


def trial(program: int, factor: float, working_set: int = 3 * BYTES) -> Record:
    return Record(
        program=f"p{program}",
        dialect="relay",
        producer="simple",
        consumer="complex",
        rows=True,
        operators="",
        joined=False,
        moved=2 * BYTES,
        launches=1,
        working_set=working_set,
        low=1e-6,
        middle=1e-6,
        high=1e-6,
        saved=factor * 1e-6,
        saved_low=0.0,
        saved_high=0.0,
        two=1e-5,
        answer="yes",
        cpu="a CPU",
        cores=2,
        tvm="1",
    )


def tried(*factors: float) -> Calibration:
    return Calibration(tuple(trial(place, factor) for place, factor in enumerate(factors)))


def predicted(known: Calibration, monkeypatch):
    monkeypatch.setattr("workbench.measurement.boundaries.costs.installed", lambda: "relay")
    monkeypatch.setattr("workbench.measurement.boundaries.costs.machine_costs", lambda *_, **__: MACHINE)
    (row,) = costs_of(two_kernels(), None, Limits(), known=known).rows
    return row


NINE = (-5.0, *[1.0] * 9)
EIGHT = (-5.0, 5.0, *[1.0] * 8)


def test_nine_of_ten_inside_shows_a_prediction(monkeypatch):
    row = predicted(tried(*NINE), monkeypatch)
    # 32 KiB at 1 GB/s, and 1 µs for the launch
    seconds = 2 * BYTES / 1e9 + 1e-6
    assert row.predicted == pytest.approx((-5 * seconds, seconds))
    assert row.note == "9 of 10 trials of such boundaries were inside their interval, measured on a CPU"


def test_a_graph_of_another_tvm_than_the_installed_one_has_no_prediction():
    (row,) = costs_of(two_kernels(), None, Limits(), known=tried(*NINE)).rows
    assert row.predicted is None
    assert "the TVM of relay, which is not installed here" in row.note


ONE_PROGRAM = tuple(replace(each, program="one") for each in tried(*[1.0] * 20).records)
SMALL = tuple(trial(place, 1.0, working_set=1000) for place in range(20))


@pytest.mark.parametrize(
    ("known", "note"),
    [
        (tried(*EIGHT), "of 10 boundaries from simple to complex on several rows, 8 were inside"),
        (tried(*[1.0] * (LEAST - 1)), "9 boundaries from simple to complex on several rows tried, at least 10 are"),
        (Calibration(ONE_PROGRAM), "of 20 boundaries from simple to complex on several rows, 0 were inside"),
        (Calibration(SMALL), "outside of the calibrated range: a working set of 49.2 kB"),
    ],
)
def test_too_little_evidence_shows_no_prediction(known, note, monkeypatch):
    row = predicted(known, monkeypatch)
    assert row.predicted is None
    assert note in row.note


def test_a_race_too_coarse_for_the_prediction_decides_nothing(monkeypatch):
    coarse = [replace(each, saved_low=-9e-6, saved_high=9e-6) for each in tried(*EIGHT).records]
    known = Calibration((*coarse, *tried(*NINE).records))
    assert known.table[["trials", "undecided", "inside", "shown"]].to_numpy().tolist() == [[10, 10, 9, True]]
    assert predicted(known, monkeypatch).predicted is not None
    # a race that shows a difference is decided, however wide its interval is
    slower = [replace(each, saved_low=-99e-6, saved_high=-1e-6) for each in tried(*EIGHT).records]
    assert predicted(Calibration(tuple(slower)), monkeypatch).predicted is None


def test_another_target_shows_no_prediction():
    (row,) = costs_of(two_kernels(), None, Limits("cuda"), known=tried(*NINE)).rows
    assert (row.predicted, row.note) == (None, "not predicted: the calibration is of CPUs")


def test_the_machine_is_not_measured_for_rows_that_do_not_show_it(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("workbench.measurement.boundaries.costs.machine_costs", refuse)
    assert costs_of(two_kernels(), None, Limits(), known=tried(*EIGHT)).machine is None


def test_rank_correlation():
    ordered = [replace(trial(0, factor), middle=factor * 1e-6) for factor in (1.0, 2.0, 3.0, 9.0)]
    assert rank_correlation(ordered) == pytest.approx(1)
    assert rank_correlation([replace(each, saved=-each.saved) for each in ordered]) == pytest.approx(-1)
    assert rank_correlation(ordered[:2]) is None
    assert rank_correlation([trial(0, 1.0)] * 5) is None


def test_the_bundled_calibration_is_read():
    found = calibration()
    for (dialect, producer, consumer, _), group in found.groups.items():
        assert dialect in ("relay", "relax")
        assert {producer, consumer} <= {"simple", "reduction", "complex"}
        assert 0 <= group.inside <= len(group.records)


def test_records_are_read_as_they_are_written():
    known = tried(*NINE)
    assert read(json.dumps({"trials": [asdict(each) for each in known.records]})) == known


@pytest.mark.parametrize("text", ["", "[]", '{"trials": [{}]}', '{"trials": 1}'])
def test_a_damaged_calibration_is_refused(text):
    with pytest.raises(MeasureError, match="not a calibration"):
        read(text)


def test_a_graph_alone_is_not_raced():
    net = Net(type=WIDE)
    costs = wb.boundary_costs(net.done(net.op("nn.dense", net.op("transpose"), net.x)))
    with pytest.raises(MeasureError, match="give boundary_costs the workload"):
        costs.measure(costs.rows)


def test_an_unknown_boundary_names_the_known_ones():
    with pytest.raises(wb.WorkbenchError, match="1 -> 2"):
        costs_of(two_kernels(), None, Limits()).find(0, 1)


def test_a_pass_that_fails_is_a_sentence():
    builder = GraphBuilder("fails", "relay")
    x = builder.node("param", "x", type=WIDE)
    builder.outputs = [builder.node("op", "nn.batch_norm", [x], type=WIDE)]
    with pytest.raises(MeasureError, match="SimplifyInference"):
        wb.boundary_costs(builder.build())
