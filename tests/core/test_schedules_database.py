"""The folder of a database of schedules, without TVM."""

from __future__ import annotations

import importlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.dialects.base import Workload
from workbench.dialects.scheduling import RECORDS, WORKLOADS, best_cost_model, reason
from workbench.errors import StoreError, UnknownName, UnknownNode, WorkbenchError
from workbench.experiments.schedules.database import begun, folder_for, locked, mend, note_done, trials_done
from workbench.experiments.schedules.result import TunedSchedules, plain, selected, tasks_of
from workbench.measurement.race import Race
from workbench.pipeline.config import Config

HERE = {"dialect": "relay", "tvm": "1", "machine": "m", "target": "llvm", "cores": 2}
CALLS = [
    {"index": 0, "function": "tvmgen_default_fused_nn_dense", "nodes": [2, 3], "op": "nn.dense"},
    {"index": 1, "function": "tvmgen_default_fused_add", "nodes": [4], "op": "add"},
    {"index": 2, "function": "tvmgen_default_fused_nn_dense", "nodes": [5], "op": "nn.dense"},
]
ANSWER = {
    "calls": CALLS,
    "tasks": [
        {"function": "tvmgen_default_fused_add", "key": "a", "trials": 0, "best_us": None},
        {"function": "tvmgen_default_fused_nn_dense", "key": "d", "trials": 8, "best_us": 2.5},
    ],
}
BEFORE = [
    {"function": "tvmgen_default_fused_nn_contrib_dense_pack", "median_us": 4.0},
    {"function": "tvmgen_default_fused_add", "median_us": 2.0},
    {"function": "tvmgen_default_fused_nn_contrib_dense_pack", "median_us": 4.0},
]
WORKLOAD = Workload(None, {}, "three", "relay")


def test_each_machine_target_and_tvm_has_a_folder_beside_the_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TVM_WORKBENCH_STORE", str(tmp_path / "mine.sqlite"))
    folder = folder_for(HERE)
    assert folder is not None
    assert folder.parent == tmp_path / "mine-schedules"
    others = {folder_for({**HERE, key: "other"}) for key in ("dialect", "tvm", "machine", "target")}
    assert len(others | {folder}) == 5
    assert folder_for({**HERE, "cores": 3}) == folder
    monkeypatch.setenv("TVM_WORKBENCH_STORE", "off")
    assert folder_for(HERE) is None


def test_a_folder_of_another_target_is_refused(tmp_path: Path) -> None:
    begun(tmp_path / "new", HERE)
    begun(tmp_path / "new", HERE)
    with pytest.raises(StoreError, match="another target"):
        begun(tmp_path / "new", {**HERE, "target": "cuda"})


def test_what_a_killed_run_left_half_written_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / WORKLOADS).write_bytes(b'["1"]\n["2"]\n')
    (tmp_path / RECORDS).write_bytes(b'[0, 1]\n[1, [[["Get')
    mend(tmp_path)
    assert (tmp_path / WORKLOADS).read_bytes() == b'["1"]\n["2"]\n'
    assert (tmp_path / RECORDS).read_bytes() == b"[0, 1]\n"
    mend(tmp_path / "nothing")


def test_two_do_not_write_at_once(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(StoreError, match="another run"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_what_came_to_its_end_is_remembered(tmp_path: Path) -> None:
    assert trials_done(tmp_path, "a") == 0
    note_done(tmp_path, "a", 8)
    note_done(tmp_path, "b", 4)
    assert (trials_done(tmp_path, "a"), trials_done(tmp_path, "b")) == (8, 4)
    (tmp_path / "done.json").write_text("{")
    assert trials_done(tmp_path, "a") == 0


def test_tasks_are_linked_to_calls_and_to_their_share() -> None:
    dense, add = tasks_of(ANSWER, BEFORE)
    assert (dense.calls, dense.weight, dense.nodes, dense.op) == ((0, 2), 2, (2, 3, 5), "nn.dense")
    assert (dense.share, dense.before_us, dense.known, dense.best_us) == (0.8, 8.0, 8, 2.5)
    assert (add.share, add.calls) == (0.2, (1,))
    unknown = tasks_of(ANSWER, [])
    assert [task.share for task in unknown] == [None, None]


def test_a_packed_layout_is_the_same_kernel() -> None:
    assert plain("fused_nn_contrib_conv2d_NCHWc_add") == "fused_nn_conv2d_add"
    assert plain("fused_add") == "fused_add"


def test_kernels_are_chosen_by_name_call_or_node() -> None:
    tasks = tasks_of(ANSWER, BEFORE)
    dense, add = tasks[0].function, tasks[1].function
    assert selected(tasks, None, WORKLOAD, 6) == {dense, add}
    assert selected(tasks, [1], WORKLOAD, 6) == selected(tasks, add, WORKLOAD, 6) == {add}
    assert selected(tasks, [{"node": 5}, 2], WORKLOAD, 6) == {dense}
    assert selected(tasks, [], WORKLOAD, 6) == set()
    for wrong, error in (
        ("nosuch", UnknownName),
        ({"node": 6}, UnknownNode),
        (7, WorkbenchError),
        (1.5, WorkbenchError),
    ):
        with pytest.raises(error):
            selected(tasks, [wrong], WORKLOAD, 6)


def test_failures_are_counted_by_their_reason() -> None:
    assert reason("LocalRunner: Timeout, killed after 30 seconds\n") == "it ran for more than 30 s"
    assert reason("Traceback (most recent call last):\n  0: a call\nTVMError: no memory\n") == "TVMError: no memory"


def test_schedules_that_did_not_win_are_not_recommended() -> None:
    def result(answer: str) -> TunedSchedules:
        ratio = {"yes": 2.0, "no": 0.5, "can't tell": 1.0}[answer]
        raced = Race("opt 3", "tuned", "llvm", ratio, ratio - 0.1, ratio + 0.1, (), ())
        dense, add = tasks_of(ANSWER, BEFORE)
        tasks = (replace(dense, after_us=20.0), replace(add, after_us=2.0, status="tuned"))
        folder = Path("there")
        return TunedSchedules(WORKLOAD, Config(), "llvm", folder, tasks, (), {}, "random", race=raced, before={})

    won, lost, unsure = (result(answer) for answer in ("yes", "no", "can't tell"))
    assert won.best == won.config == Config(schedules="there")
    assert lost.best == unsure.best == Config()
    assert "keep opt 3" not in str(won)
    assert "so keep opt 3: tvmgen_default_fused_nn_dense takes 20 us for 8 us before, which is not tuned" in str(lost)
    assert str(unsure).endswith("so keep opt 3")


def test_a_configuration_with_schedules_says_so_and_keeps_them() -> None:
    config = Config(pipeline="FuseOps()", schedules="there")
    assert config.label == "FuseOps() + tuned schedules"
    assert config.context().schedules == "there"
    assert Config.of(config.to_data()) == config


def test_the_cost_model_is_one_that_this_tvm_can_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "xgboost", raising=False)
    assert (best_cost_model("relay"), best_cost_model("relax")) == ("random", "random")
    (tmp_path / "xgboost").mkdir()
    (tmp_path / "xgboost" / "__init__.py").write_text("")
    importlib.invalidate_caches()
    assert (best_cost_model("relay"), best_cost_model("relax")) == ("random", "xgb")
    (tmp_path / "xgboost" / "rabit.py").write_text("")
    assert best_cost_model("relay") == "xgb"


@pytest.mark.parametrize("text", ["", "no json", "[1]", "[" * 100_000, '{"a": 1e400}', "\ufeff{}"])
def test_damaged_files_of_a_folder_are_refused_or_begun_anew(tmp_path, text):
    begun(tmp_path, HERE)
    (tmp_path / "about.json").write_text(text)
    with pytest.raises(StoreError, match="damaged; give another folder"):
        begun(tmp_path, HERE)
    (tmp_path / "done.json").write_text(text)
    assert trials_done(tmp_path, "k") == 0
    note_done(tmp_path, "k", 3)
    assert trials_done(tmp_path, "k") == 3
