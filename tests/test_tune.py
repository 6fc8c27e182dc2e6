"""wb.tune on real workloads, in both dialects: what is counted, measured, recognised, left out, resumed and given back."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from breadth import breadth

import workbench as wb
from workbench.dialects.registry import dialect as door
from workbench.errors import NoDevice, WorkbenchError
from workbench.experiments.tuning import evaluate
from workbench.experiments.tuning.run import TuneOptions, prepared
from workbench.experiments.tuning.search import Guided
from workbench.measurement.count import count_config, look
from workbench.pipeline.config import Config
from workbench.worker.host import allowed

QUICK = {"each": 0.02, "race": 0, "store": False}


@pytest.fixture(scope="module")
def landscapes():
    """Kernels of each candidate of a workload's space of switches, each counted once."""
    known = {}

    def landscape(name, passes=None):
        if (name, passes) not in known:
            workload = wb.samples.load(name)
            space = wb.Space(toggles=wb.Space.switches(workload).toggles[:passes])
            known[name, passes] = (
                space,
                {
                    key(chosen): look(workload, space.config_for(chosen), final=False).counts.calls
                    for chosen in space.assignments()
                },
            )
        return known[name, passes]

    return landscape


def key(chosen):
    return json.dumps(chosen, sort_keys=True)


def evaluations(space, kernels, seed, begin=True):
    """How many candidates a guided search tries until it has the fewest kernels."""
    chooser, best, tried = Guided(space, 1, seed, begin=begin), min(kernels.values()), 0
    while (chosen := chooser.ask()) is not None:
        tried += 1
        if kernels[key(chosen)] == best:
            return tried
        chooser.tell(chosen, (float(kernels[key(chosen)]),))
    raise AssertionError("the optimum was never tried")


@pytest.mark.one_dialect
@pytest.mark.parametrize("seed", breadth(range(3), 0))
def test_the_fewest_kernels_are_found_in_a_part_of_the_space(dialect, landscapes, seed):
    space, kernels = landscapes("parallel_cast", passes=5)
    assert len(set(kernels.values())) > 1
    assert evaluations(space, kernels, seed) <= 0.3 * space.size
    assert evaluations(space, kernels, seed, begin=False) <= 0.3 * space.size


@pytest.mark.long
@pytest.mark.parametrize("name", ["parallel_cast", "attention"])
def test_the_fewest_kernels_are_found_with_every_seed(dialect, landscapes, name, tell):
    space, kernels = landscapes(name)
    for begin in (True, False):
        tried = [evaluations(space, kernels, seed, begin) for seed in range(20)]
        told = "begun at the default" if begin else "begun anywhere"
        tell(f"{dialect} {name}, {told}: optimum of {space.size} after {max(tried)} candidates at most, 20 seeds")
        assert max(tried) <= 0.3 * space.size


def test_counts_are_those_of_wb_count_and_the_best_is_built_and_checked(dialect):
    workload = wb.samples.load("parallel_cast")
    found = wb.tune(workload, wb.Space.switches(workload), objective="kernels", trials=4, **QUICK)
    assert len(found.trials) == 4
    for trial in found.trials:
        counts = count_config(workload, trial.config)
        assert trial.values["kernels"] == counts.calls
        assert trial.values["handover_bytes"] == sum(counts.handover_bytes.values())
    assert found.best.checked
    assert sum(trial.checked for trial in found.trials) == 1
    assert found.best.values["kernels"] == min(trial.values["kernels"] for trial in found.trials)
    assert found.race is None


@pytest.mark.one_dialect
def test_equal_final_modules_are_built_once_and_a_log_is_gone_on_with(dialect, tmp_path, monkeypatch):
    workload = wb.samples.load("chain")
    levels = wb.Space(toggles=("FoldConstant",), opt_levels=(3, 2, 0))
    first = wb.tune(workload, levels, prune=None, log=tmp_path / "log", **QUICK)
    assert len(first.trials) == levels.size == 6
    built = [trial for trial in first.trials if trial.like is None]
    assert len({trial.fingerprint for trial in first.trials}) == len(built) < 6
    assert all(trial.ok and trial.checked and trial.values["median_us"] > 0 for trial in first.trials)
    monkeypatch.setattr(evaluate, "measured_rows", None)  # nothing may be measured again
    monkeypatch.setattr(evaluate, "look", None)
    again = wb.tune(workload, levels, log=tmp_path / "log", **QUICK)
    assert again.trials == first.trials
    assert again.best == first.best


def test_equal_fingerprints_mean_equal_code(dialect):
    import tvm

    workload = wb.samples.load("chain")
    three, two, none = (Config(opt_level=level) for level in (3, 2, 0))
    prints = [look(workload, config).fingerprint for config in (three, two, none)]
    assert prints[0] == prints[1] != prints[2]
    sources = [wb.kernels(workload, opt_level=level) for level in (3, 2, 0)]
    code = [{row["function"]: built.source(row["function"]) for row in built.rows} for built in sources]
    assert code[0] == code[1] != code[2]
    # what only code generation asks for tells them apart too
    deeper = next(name for name in tvm.transform.PassContext.list_configs() if name.endswith(".disable_vectorize"))
    assert look(workload, Config(options={deeper: True})).fingerprint != prints[0]


@pytest.mark.one_dialect
def test_what_is_illegal_fails_or_is_wrong_is_out_with_the_reason(dialect, monkeypatch):
    workload = wb.samples.load("mlp")
    locked = next(info.name for info in wb.passes(dialect) if info.locked)
    space = wb.Space(toggles=(locked, "NoSuchPass"), config={"no.such.setting": (None, 1)})
    run = prepared(workload, space, options=TuneOptions(objective="kernels", check=False, **QUICK))
    found = run.run()
    out = {trial.config.label: (trial.status, trial.reason) for trial in found.trials if not trial.ok}
    assert out[f"opt 3 -{locked}"][0] == "illegal"
    assert "cannot be switched off" in out[f"opt 3 -{locked}"][1]
    assert out["opt 3 -NoSuchPass"][0] == "illegal"
    assert out["opt 3 setting=1"][0] == "failed"
    assert [trial.config for trial in found.trials if trial.ok] == [Config()]
    assert sum(run.failures.values()) == len(found.trials) - 1


@pytest.mark.one_dialect
def test_wrong_outputs_never_win(dialect, monkeypatch):
    from workbench.measurement.measure import measured_rows as real

    workload = wb.samples.load("chain")
    measured = []

    def measure(given, asked, how, **store):
        for place, row in real(given, asked, how, **store):
            wrong = {"status": "wrong", "check": "wrong", "message": "the outputs are not the reference's"}
            second = len(measured) == 1
            measured.append(asked[0][0])
            yield place, replace(row, median_us=10.0 - len(measured), **(wrong if second else {}))

    monkeypatch.setattr(evaluate, "measured_rows", measure)
    depth = wb.Space(config={f"{dialect}.FuseOps.max_depth": (None, 2, 1)})
    found = wb.tune(workload, depth, prune=None, **QUICK)
    wrong = [trial for trial in found.trials if trial.status == "wrong"]
    assert [trial.config for trial in wrong] == measured[1:2]
    assert wrong[0].reason
    assert found.best.config == measured[-1]


@pytest.mark.one_dialect
def test_what_is_far_behind_in_kernels_and_bytes_is_not_built(dialect):
    workload = wb.samples.load("chain")
    depth = wb.Space(config={f"{dialect}.FuseOps.max_depth": (None, 1)})
    kept = wb.tune(workload, depth, prune=1.2, **QUICK).trials[1]
    assert kept.status == "pruned"
    assert "build_seconds" not in kept.values
    assert "trial 0" in kept.reason
    assert wb.tune(workload, depth, prune=None, **QUICK).trials[1].ok


def test_the_winner_is_given_back_as_a_workload_and_as_code(dialect, facts):
    workload = wb.samples.load("parallel_cast")
    passes = f"FoldConstant,{door(dialect).passes.fusing()}{facts.after_fusion}"
    for space in (wb.Space.switches(workload), wb.Space(pipeline=passes, toggles=("FuseOps",))):
        found = wb.tune(workload, space, objective="kernels", trials=3, check=False, **QUICK)
        applied = found.apply()
        assert count_config(applied, found.applied_config()).calls == found.best.values["kernels"]
        assert wb.compare_outputs(workload, applied)
        names: dict = {}
        exec(found.code(), names)  # it is what a person would paste
        assert names["built"](workload.module, workload.params) is not None
        assert "workbench" not in found.code()


@pytest.mark.one_dialect
def test_several_objectives_give_a_front_and_a_race_says_by_how_much(dialect):
    workload = wb.samples.load("chain")
    depth = wb.Space(config={f"{dialect}.FuseOps.max_depth": (1, None)})
    found = wb.tune(workload, depth, objective=["time", "kernels"], each=0.02, race=0.2, prune=None, store=False)
    for trial in found.pareto:
        assert not any(
            other.values["kernels"] < trial.values["kernels"] and other.values["median_us"] < trial.values["median_us"]
            for other in found.trials
        )
    if found.best.config == Config():
        assert found.race is None
    else:
        assert found.race.b == found.best.config.label
        assert found.race.low <= found.race.ratio <= found.race.high
    raced = found.against_default(budget=0.2)
    assert (raced.a, raced.b) == ("opt 3", found.best.config.label)


@pytest.mark.one_dialect
def test_a_target_without_a_device_is_tuned_by_its_counts(dialect):
    workload = wb.samples.load("chain")
    space = wb.Space(config={f"{dialect}.FuseOps.max_depth": (None, 1)})
    found = wb.tune(workload, space, ["cuda -arch=sm_80"], objective="kernels", **QUICK)
    assert found.best.values["kernels"] == wb.count(workload, "cuda -arch=sm_80").calls
    if wb.measure(workload, [3], ["cuda"], budget=0.01, store=False)["status"][0] == "not measured":
        assert not found.best.checked
        assert found.best.reason.startswith("not checked: ")
        with pytest.raises(NoDevice, match="'kernels' or 'bytes'"):
            wb.tune(workload, space, ["cuda -arch=sm_80"], **QUICK)


@pytest.mark.long
def test_a_killed_run_is_gone_on_with(dialect, tmp_path):
    log = tmp_path / "log"
    # TVM may have tied this thread to one core, and the number of cores is of the conditions in the log
    program = (
        f"import os; os.sched_setaffinity(0, {allowed()})\n"
        "import workbench as wb\n"
        "w = wb.samples.load('mlp')\n"
        f"wb.tune(w, wb.Space.switches(w), each=0.1, race=0, prune=None, store=False, log={str(log)!r})"
    )
    running = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (log.exists() and log.read_bytes().count(b"\n") > 5):
        time.sleep(0.02)
    running.kill()
    running.wait()
    kept = log.read_bytes().count(b"\n") - 1
    assert kept >= 5
    workload = wb.samples.load("mlp")
    run = prepared(
        workload, wb.Space.switches(workload), options=TuneOptions(trials=kept + 3, prune=None, log=log, **QUICK)
    )
    assert run.resumed == kept
    assert [trial.number for trial in run.run().trials] == list(range(kept + 3))


@pytest.mark.one_dialect
def test_arguments_that_make_no_sense_say_so(dialect):
    workload = wb.samples.load("chain")
    for wrong, said in (
        ({"targets": []}, "targets is empty"),
        ({"budget": 0}, "budget=0 is not a time"),
        ({"prune": 0.5}, "better than the best"),
        ({"objective": "speed"}, "no objective"),
    ):
        with pytest.raises(WorkbenchError, match=said):
            wb.tune(workload, **wrong)


@pytest.mark.long
@pytest.mark.one_dialect
def test_cuts_and_forces_near_the_costly_boundaries(dialect):
    workload = wb.samples.load("attention")
    space = wb.Space.fusion(workload, most=6)
    assert 1 < len(space.edits) <= 6
    found = wb.tune(workload, space, objective=["kernels", "bytes"], check=False, **QUICK)
    edited = [trial for trial in found.trials if trial.chosen.get("edit")]
    assert len(edited) == len(space.edits)
    assert all(trial.ok for trial in edited), found.table["reason"].tolist()
    plain = next(trial for trial in found.trials if trial.chosen == {"edit": None})
    assert any(trial.values["kernels"] != plain.values["kernels"] for trial in edited)


@pytest.mark.long
def test_choosing_and_keeping_take_less_than_a_twentieth_of_a_run(dialect, tmp_path, tell):
    """Two upper bounds: the clock is stretched by others on this machine; the processor time of the run's own thread is not,
    and has in it what asking the child takes."""
    workload = wb.samples.load("mlp")

    def tuned(**how):
        begun, used = time.perf_counter(), time.thread_time()
        how |= {"method": "guided", "race": 0, "prune": None, "budget": 600, "store": False, "trials": 30}
        found = wb.tune(workload, **how)
        assert len(found.trials) == 30
        return (time.thread_time() - used) / (time.perf_counter() - begun), found.overhead

    tuned(objective="kernels", check=False)  # the child and Optuna are there from now on
    timed, counted = tuned(each=0.1, log=tmp_path / "timed"), tuned(objective="kernels", check=False)
    for share, what in ((timed, "that builds and times"), (counted, "that only counts kernels")):
        tell(
            f"{dialect}, guided search of mlp {what}: {share[0]:.1%} processor beside the child, {share[1]:.1%} of the clock"
        )
    assert min(timed) < 0.05
