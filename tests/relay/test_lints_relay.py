"""Lints on Relay: operators with a fallback, logs of AutoTVM that a build uses or not, and transposes that undo each other."""

from __future__ import annotations

import base64
import json
import os
import pickle
from pathlib import Path

import pytest
from tvm import autotvm, relay

import workbench as wb
from workbench.debugging.lints.result import Lint
from workbench.debugging.lints.rules import UNDONE
from workbench.debugging.lints.schedules import FALLBACK, UNUSED

TARGET = "llvm -mcpu=core-avx2"
FAILED = 4
"AutoTVM's number of a runtime error"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """AutoTVM would look for schedules on the network."""
    monkeypatch.setenv("TOPHUB_LOCATION", "NONE")


def dense(units: int = 16) -> wb.Workload:
    x, weight = relay.var("x", shape=(4, 8)), relay.var("weight", shape=(units, 8))
    return wb.load(relay.Function([x, weight], relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, weight)))))


def conv(layout: str, kernel: str, shape: tuple[int, ...], weight: tuple[int, ...]) -> wb.Workload:
    x, w = relay.var("x", shape=shape), relay.var("w", shape=weight)
    made = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4, data_layout=layout, kernel_layout=kernel)
    return wb.load(relay.Function([x, w], made))


def lints(
    w: wb.Workload, name: str, log: Path | None = None, target: str = TARGET, config: object = None
) -> list[Lint]:
    return [each for each in wb.lint(w, target, config, log=log) if each.name == name]  # type: ignore[arg-type]


def written(path: Path, target: str = TARGET, error: int = 0, units: int = 16) -> Path:
    """Write a log as a tuner does: one record for each template that the program can use, with a configuration of its space."""
    w = dense(units)
    tasks = autotvm.task.extract_from_program(w.module["main"], params={}, target=target)
    assert {task.name for task in tasks} == {"dense_nopack.x86", "dense_pack.x86"}
    with path.open("a") as file:
        for task in tasks:
            made = autotvm.MeasureInput(task.target, task, task.config_space.get(0))
            file.write(autotvm.record.encode(made, autotvm.MeasureResult((1e-5,), error, 0.1, 0.0)) + "\n")
    return path


def test_an_operator_that_was_not_tuned() -> None:
    w = dense()
    (found,) = lints(w, FALLBACK)
    assert found.operators == ("nn.contrib_dense_pack",)
    assert "dense_pack.x86 with a default configuration" in found.message
    assert "no gain is predicted" in found.message
    assert (found.bytes, found.seconds, found.fix) == (None, None, f"wb.tune_schedules(w, {TARGET!r})")


def test_operators_with_a_schedule_of_their_own_are_not_fallbacks() -> None:
    x = relay.var("x", shape=(4, 8))
    assert lints(wb.load(relay.Function([x], relay.nn.softmax(relay.sum(relay.nn.relu(x), 1, True)))), FALLBACK) == []


def test_an_implementation_of_which_tvm_warns() -> None:
    (warned,) = lints(conv("NHWC", "HWIO", (1, 8, 8, 4), (3, 3, 4, 4)), FALLBACK)
    assert "conv2d_nhwc.x86, and TVM warns: conv2d NHWC layout is not optimized for x86" in warned.message
    (untuned,) = lints(conv("NCHW", "OIHW", (1, 4, 8, 8), (4, 4, 3, 3)), FALLBACK)
    assert "TVM warns" not in untuned.message


def test_a_tuned_operator_is_not_a_fallback(tmp_path: Path) -> None:
    log = written(tmp_path / "dense.log")
    assert lints(dense(), FALLBACK, log) == []
    # TVM uses a record without an error only
    assert len(lints(dense(), FALLBACK, written(tmp_path / "failed.log", error=FAILED))) == 1


def test_the_records_of_the_build_are_used(tmp_path: Path) -> None:
    assert lints(dense(), UNUSED, written(tmp_path / "dense.log")) == []


def test_records_for_another_shape(tmp_path: Path) -> None:
    log = written(tmp_path / "dense.log", units=32)
    found = lints(dense(), UNUSED, log)
    assert sorted(each.message for each in found) == [
        f"the build does not use 1 record of dense_{kind}.x86 (line {line}): the record has (32, 8) float32 where the build has (16, 8) float32"
        for line, kind in enumerate(("nopack", "pack"), 1)
    ]
    assert found[0].fix == f"wb.tune_schedules(w, {TARGET!r})"


def test_records_for_another_target(tmp_path: Path) -> None:
    log = written(tmp_path / "dense.log")
    log.write_text(log.read_text().replace("llvm -keys=cpu", "llvm -keys=arm_cpu"))
    found = lints(dense(), UNUSED, log)
    assert len(found) == 2
    assert all("they are for arm_cpu, and the target is cpu" in each.message for each in found)
    assert "apply_history_best" in found[0].fix
    assert "arm_cpu" in found[0].fix


def test_records_that_failed(tmp_path: Path) -> None:
    found = lints(dense(), UNUSED, written(tmp_path / "dense.log", error=FAILED))
    assert len(found) == 2
    assert all(each.message.endswith("each of them failed when it was measured") for each in found)


def test_records_for_an_operator_that_the_program_lacks(tmp_path: Path) -> None:
    x = relay.var("x", shape=(4, 8))
    found = lints(wb.load(relay.Function([x], relay.nn.relu(x))), UNUSED, written(tmp_path / "dense.log"))
    assert all("no operator looks up this task; those of the build are none" in each.message for each in found)
    assert len(found) == 2


def test_records_that_only_the_default_passes_use(tmp_path: Path) -> None:
    """The records of NCHWc are of a layout that TVM's own passes choose, and a pipeline without them does not have."""
    w, log = dense(), written(tmp_path / "dense.log")
    assert lints(w, UNUSED, log, config="SimplifyInference,FuseOps") == []
    # the program's only operator is replaced by its input
    found = lints(w, UNUSED, log, config="KeepOperators{nodes=[3]},FuseOps")
    assert len(found) == 2
    assert all(each.message.endswith("opt 3 looks them up, and these passes do not") for each in found)
    assert "apply_history_best" in found[0].fix


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nothing", "it is not JSON"),
        ('{"i":[["[]"]],"r":[[0.1],0,1,1],"v":"v0.6"}', "AutoScheduler"),
        ('{"input":["llvm"],"config":{"index":0,"entity":[]},"result":[[1.0],0,0.1,0.0]}', "'input' has 1 value, not 4"),
        ('{"input":["llvm","a",[],{}],"config":{"index":0,"entity":[]},"result":[["x"],0,0.1,0.0]}', "is a text"),
        ('{"input":["no such target","a",[],{}],"config":{"index":0,"entity":[]},"result":[[1.0],0,0.1,0.0]}', "TVM does not read it"),
        ('{"input":["llvm","a",[["TENSOR",-1,0]],{}],"config":{"index":0,"entity":[]},"result":[[1.0],0,0.1,0.0]}', "no operator"),
        ("[" * 5000, "deeper"),
    ],
)  # fmt: skip
def test_a_bad_line_gives_a_sentence(line: str, why: str, tmp_path: Path) -> None:
    log = written(tmp_path / "dense.log")
    log.write_text(f"# a comment\n{log.read_text()}{line}\n")
    (found,) = lints(dense(), UNUSED, log)
    assert "line 4" in found.message
    assert why in found.message


class _Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (_Runs.path,)

    path = ""


def test_a_pickled_record_is_not_opened(tmp_path: Path) -> None:
    _Runs.path = str(tmp_path / "ran")
    pickled = base64.b64encode(pickle.dumps(_Runs())).decode()
    log = tmp_path / "old.log"
    log.write_text(f"llvm\t{pickled}\t{pickled}\t{pickled}\t0.2\t0.17")
    with pytest.raises(wb.WorkbenchError, match="pickled record, which is not opened"):
        wb.lint(dense(), log=log)
    log.write_text(json.dumps({"input": ["llvm", pickled, [pickled], {}], "config": {"index": 0, "entity": [["a", "ot", pickled]]}, "result": [[1.0], 0, 1.0, 0.0]}))  # fmt: skip
    assert len(lints(dense(), UNUSED, log)) == 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("entity", [[], [["tile_y", "sp", [-1, 0]], ["tile_x", "sp", [0]], ["tile_k", "sp", [0]]]])
def test_a_configuration_that_a_template_does_not_take(entity: list[object], tmp_path: Path) -> None:
    log = written(tmp_path / "dense.log")
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("\n".join(json.dumps({**row, "config": {**row["config"], "entity": entity}}) for row in rows))
    with pytest.raises(wb.WorkbenchError, match=r"the build with the records of 'dense\.log' fails"):
        lints(dense(), UNUSED, log)


def test_a_log_that_is_missing_or_empty(tmp_path: Path) -> None:
    with pytest.raises(wb.WorkbenchError, match="cannot be read"):
        wb.lint(dense(), log=tmp_path / "none")
    (tmp_path / "empty").write_text("")
    with pytest.raises(wb.WorkbenchError, match="has no record"):
        wb.lint(dense(), log=tmp_path / "empty")


def test_a_fallback_has_no_configuration_to_race() -> None:
    found = wb.lint(dense(), TARGET)
    with pytest.raises(wb.WorkbenchError, match=r"no configuration to race; run its fix, wb\.tune_schedules"):
        found.measure([each for each in found if each.name == FALLBACK])


PASSES = "SimplifyInference,FuseOps"


def transposes(second: tuple[int, ...]) -> wb.Workload:
    x = relay.var("x", shape=(1, 4, 6, 6))
    return wb.load(relay.Function([x], relay.nn.relu(relay.transpose(relay.transpose(x, (0, 2, 3, 1)), second))))


def test_transposes_that_lead_back() -> None:
    w = transposes((0, 3, 1, 2))
    (found,) = wb.lint(w, config=PASSES)
    assert (found.name, found.bytes) == (UNDONE, 2 * 4 * 4 * 36)
    assert wb.lint(w, config=found.pipeline)[:] == ()
    made = eval(found.fix, {"wb": wb, "w": w})
    assert "transpose" not in made.end.text


def test_the_compiler_removes_them() -> None:
    assert wb.lint(transposes((0, 3, 1, 2)))[:] == ()


def test_transposes_that_do_not_lead_back() -> None:
    assert wb.lint(transposes((0, 2, 3, 1)), config=PASSES)[:] == ()
