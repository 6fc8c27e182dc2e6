"""Builds and timings in the child process, on every dialect. No test here knows which dialect it runs on."""

from __future__ import annotations

import pytest
from breadth import breadth

import workbench as wb
from workbench.dialects.registry import dialect as door
from workbench.errors import MeasureError, UnknownName, WorkerLost
from workbench.worker.parent import Worker

SMALL = {"attention": {"seq": 8, "heads": 2, "head": 4}}
NAMES = ("mlp", "parallel_cast", "attention", "conv_bias_batch_norm", "branches")


def sample(name: str) -> wb.Workload:
    return wb.samples.load(name, **SMALL.get(name, {}))


@pytest.mark.parametrize("name", breadth(NAMES, "mlp", "parallel_cast"))
def test_counts_agree_with_each_other(dialect: str, name: str) -> None:
    fused, unfused = wb.kernels(sample(name), opt_level=3), wb.kernels(sample(name), opt_level=0)
    assert 0 < fused.launches < unfused.launches
    for counted in (fused, unfused):
        assert counted.calls == len(counted.table) == counted.launches + counted.noops
        assert 0 < counted.functions <= counted.launches
        assert counted.traffic_bytes == counted.table[~counted.table.noop][["bytes_read", "bytes_written"]].sum().sum()
        assert counted.target.startswith("llvm -mcpu=")
        assert counted.build_seconds > 0


def test_kernels_of_a_picture_are_kernels_of_the_build(dialect: str) -> None:
    workload = sample("mlp")
    assert wb.kernels(workload, opt_level=0).launches == workload.graph.kernel_count


def test_a_measured_row_carries_its_conditions(dialect: str) -> None:
    table = wb.measure(sample("mlp"), [0, 3], budget=0.05)
    assert list(table.status) == ["ok", "ok"]
    for row in table.itertuples():
        assert len(row.samples) >= 10
        assert all(seconds > 0 for seconds in row.samples)
        assert 0 < row.q1_us <= row.median_us <= row.q3_us
        assert min(row.samples) * 1e6 <= row.median_us <= max(row.samples) * 1e6
        assert row.build_seconds > 0
        assert row.number >= 1
        assert row.target.startswith("llvm")
        assert row.tvm
        assert row.cpu
        assert row.cores >= 1
        assert row.threads >= 1
        assert row.method


def test_a_failing_configuration_is_a_row(dialect: str) -> None:
    locked = next(info.name for info in wb.passes(dialect) if info.locked)
    table = wb.measure(
        sample("mlp"), [{"disabled": locked}, {"disabled": "Nosuch"}, 3], ["llvm -nosuch=1", "llvm"], budget=0.05
    )
    assert list(table.status) == ["failed"] * 5 + ["ok"]
    assert all(table.message[:5])
    assert table.median_us[:5].isna().all()


def test_what_cannot_be_built_is_said_before_it_is_built(dialect: str) -> None:
    with pytest.raises(UnknownName, match="FuseOps"):
        wb.kernels(sample("mlp"), disabled=["FuzeOps"])
    locked = next(info.name for info in wb.passes(dialect) if info.locked)
    with pytest.raises(MeasureError, match="cannot be switched off"):
        wb.kernels(sample("mlp"), disabled=[locked])


def test_switching_fusion_depth_is_honoured(dialect: str) -> None:
    workload = sample("mlp")
    option = {f"{dialect}.FuseOps.max_depth": 1}
    assert wb.kernels(workload, config=option).launches == wb.kernels(workload, opt_level=0).launches
    with pytest.raises(MeasureError, match="no PassContext config"):
        wb.kernels(workload, config={"nosuch": 1})


@pytest.mark.parametrize("preset", ["first", "last"])
def test_a_pipeline_is_compiled_as_it_stands(dialect: str, preset: str) -> None:
    chosen = door(dialect).passes.presets()[0 if preset == "first" else -1]
    workload = sample("mlp")
    picture = wb.trace(workload, chosen.pipeline, chosen.opt_level).end.graph
    row = wb.measure(workload, [chosen.pipeline], budget=0.05).iloc[0]
    assert row.status == "ok", row.message
    assert row.launches == picture.kernel_count


@pytest.fixture
def worker(child: Worker, dialect: str) -> Worker:
    return child


@pytest.mark.one_dialect
@pytest.mark.parametrize(("job", "words"), [("crash", "SIGSEGV"), ("leave", "exit code 3")])
def test_a_crash_is_a_sentence_and_the_next_job_runs(worker: Worker, job: str, words: str) -> None:
    workload = sample("mlp")
    with pytest.raises(WorkerLost, match=words):
        worker.run(f"jobs_that_fail:{job}", workload, {})
    assert worker.run("jobs_that_fail:name", workload, {}) == "mlp"


@pytest.mark.one_dialect
def test_a_failing_job_leaves_the_child_alive(worker: Worker) -> None:
    with pytest.raises(MeasureError, match="ValueError: first line the reason"):
        worker.run("jobs_that_fail:fail", sample("mlp"), {})
    assert worker.run("jobs_that_fail:name", sample("parallel_cast"), {}) == "parallel_cast"


@pytest.mark.one_dialect
def test_a_job_can_time_out_and_be_cancelled(worker: Worker) -> None:
    with pytest.raises(WorkerLost, match="no result within"):
        worker.run("jobs_that_fail:wait", sample("mlp"), {}, timeout=2)
    told: list[str] = []
    with pytest.raises(WorkerLost, match="cancelled"):
        worker.run(
            "jobs_that_fail:wait",
            sample("mlp"),
            {},
            progress=lambda what, fraction: told.append(what),
            cancelled=lambda: "waiting" in told,
        )
