"""Schedules of kernels: verdicts of wb.check_schedule on whole models, records of a tuned model, random edits of decisions, and the time to a picture.

python -m benchmarks.schedules            all four, in fifteen minutes
python -m benchmarks.schedules checks     one of them: checks, records, edits or paint
"""

from __future__ import annotations

import os
import random
import runpy
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import tvm
import tvm_ffi
from browser.lab import running_browser, running_lab
from tvm import relax

import workbench as wb
from benchmarks.bar import Bar, attempted, show
from benchmarks.boundary_programs import mobilenet
from workbench.debugging.schedule_steps import ScheduleSteps, schedule_steps
from workbench.dialects.compiler.tuning import ms, opened, tuning_target
from workbench.dialects.relax.compiler.replay import Replay
from workbench.dialects.relax.compiler.scheduled import ScheduledKernel
from workbench.samples import _builder_of

GPU = "cuda -arch=sm_80"
EDITS = 300
TRIALS = 2
"of a kernel; the first is the kernel without a schedule"
TUNING = 200
"seconds at most"
MODELS: dict[str, Callable[[], wb.Workload]] = {
    "a BERT layer": lambda: wb.samples.load("bert", layers=1),
    "MobileNet": lambda: wb.load(mobilenet(_builder_of("relax"))),
    "ResNet-18 at 224": lambda: wb.samples.load("resnet18", image=224, classes=1000),
}


def checks() -> Iterator[Bar]:
    """Check each kernel of some models; at most one in ten may be not checked, and none is wrong."""
    for name, load in MODELS.items():
        started = time.perf_counter()
        found = wb.check_schedule(load(), GPU)
        seconds = time.perf_counter() - started
        print(found, flush=True)
        verdicts = Counter(check.verdict for check in found)
        unchecked = verdicts["not checked"]
        met = 10 * unchecked <= len(found) and not found.wrong
        note = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) + f" in {seconds:.0f} s"
        share = 100 * unchecked / len(found)
        yield Bar(f"{name}: kernels not checked", share, "%", bar="<= 10 %, none wrong", met=met, note=note)


def records() -> Iterator[Bar]:
    """Tune ResNet-18's kernels: each record replays to the module of TVM's MetaScheduleApplyDatabase, and each tuned kernel is right."""
    workload, target, started = wb.samples.load("resnet18", image=64, width=16), "llvm", time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        how: dict[str, Any] = {"trials": TRIALS, "cost_model": "random", "budget": 0.1, "folder": folder}
        # what was tried until then is kept
        with suppress(wb.WorkbenchError):
            wb.tune_schedules(workload, target, **how, cancelled=lambda: time.perf_counter() - started > TUNING)
        print(f"tuned in {time.perf_counter() - started:.0f} s", flush=True)
        config = wb.Config(schedules=folder)
        made = tuning_target(target, os.cpu_count() or 1)
        found = list(opened(folder).get_all_tuning_records())
        unequal = [each for each in found if not same_as_applied(each, made)]
        kernels = [each.name for each in wb.schedules(workload, target, config=config) if each.recorded]
        checked = wb.check_schedule(workload, target, kernels, config=config)
        print(checked, flush=True)
        steps = [schedule_steps(workload, name, target, config=config) for name in kernels]
        said = {each.kernel: each.error or each.check().different for each in steps}
        wrong = [f"{name}: {reason}" for name, reason in said.items() if reason]
        print(*wrong, sep="\n", flush=True)
    seconds = time.perf_counter() - started
    verdicts = Counter(check.verdict for check in checked)
    note = f"{sum(len(each.trace.insts) for each in found)} primitives; {seconds:.0f} s in all"
    yield Bar(
        f"{len(found)} records of ResNet-18: not TVM's module", len(unequal), "", bar="0", met=not unequal, note=note
    )
    note = (
        ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        + f" by check_schedule, {len(steps)} by steps.check"
    )
    met = not wrong and not checked.wrong and 10 * verdicts["not checked"] <= len(checked)
    yield Bar(f"{len(kernels)} tuned kernels: wrong", len(wrong) + len(checked.wrong), "", bar="0", met=met, note=note)


def same_as_applied(record: Any, target: Any) -> bool:
    """Return whether our replay of a record is the module that TVM makes of a database with this record alone."""
    database = ms.database.MemoryDatabase()
    workload = database.commit_workload(record.workload.mod)
    database.commit_tuning_record(ms.database.TuningRecord(record.trace, workload, [1.0], target, record.args_info))
    function = record.workload.mod["main"]
    with target, database:
        module = tvm.IRModule({"kernel": function.without_attr("global_symbol")})
        applied = relax.transform.MetaScheduleApplyDatabase()(module)["kernel"]
    replayed = Replay(ScheduledKernel("kernel", function, record.trace, ""), "llvm", {})
    ours = replayed.module["main"].without_attr("global_symbol").with_attr("tirx.is_scheduled", True)
    return not replayed.error and bool(tvm_ffi.structural_equal(ours, applied))


def tiled(sch: Any) -> None:
    block = sch.get_sblock("matmul")
    i, j, k = sch.get_loops(block)
    (j, lane), (k, inner) = sch.split(j, [None, 4]), sch.split(k, [8, 4])
    sch.reorder(j, k, inner, lane)
    sch.vectorize(lane)
    sch.unroll(inner)
    sch.parallel(sch.fuse(i, j))
    sch.decompose_reduction(block, k)


def edits() -> Iterator[Bar]:
    """Change decisions at random; each is right, or refused in TVM's words. A GPU's kernel is made by the script and checked."""
    kernels = [schedule_steps(wb.samples.load("mlp"), "fused_matmul_add_relu", "llvm", tiled)]
    for model in ("mlp", "attention", "conv_bias_batch_norm"):
        first = schedule_steps(wb.samples.load(model), target=GPU)
        kernels += [schedule_steps(wb.samples.load(model), name, GPU) for name in first.kernels]
    kernels = [each for each in kernels if any(step.decision for step in each)]
    chance, outcomes, wrong = random.Random(35), Counter[str](), list[str]()
    for number in range(EDITS):
        steps = chance.choice(kernels)
        place = chance.choice([place for place, step in enumerate(steps) if step.decision])
        value = chance.choice([*steps[place].decision.options, (3, None), (2, 2)])
        outcome, reason = outcome_of(steps, place, value)
        outcomes[outcome] += 1
        if outcome not in ("right", "refused"):
            print(f"{number}: {steps.kernel} for {steps.target}, step {place} {value}: {outcome}: {reason}", flush=True)
        wrong += [reason] if outcome == "wrong" else []
    note = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common())
    yield Bar(f"{EDITS} edits of {len(kernels)} kernels: wrong", len(wrong), "", bar="0", met=not wrong, note=note)


def outcome_of(steps: ScheduleSteps, place: int, value: tuple[int | None, ...]) -> tuple[str, str]:
    """Return `right`, `refused`, `wrong`, `wrong, and named` by a fact of the step, or `not checked`; and the reason."""
    try:
        changed = steps.decide(place, *value)
        if changed.error:
            return "refused", changed.error
        if changed.checkable:
            different = changed.check().different
            return ("wrong", different) if different else ("right", "")
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write(changed.python())
            script.flush()
            made = runpy.run_path(script.name)
        (check,) = wb.check_schedule(made["Module"], changed.target, schedule=made["scheduled"])
    except wb.WorkbenchError as error:
        return "refused", str(error)
    named = any(name.startswith("extents of") for name in changed.states[-1].facts)
    names = {"equal": "right", "not checked": "not checked"}
    wrong = "wrong, and named" if named else "wrong"
    return names.get(check.verdict, wrong), f"{check.verdict}: {check.because}"


# Milliseconds from a click on a step to the second frame after it.
_STEP = """
async (place) => {
  const root = [...document.querySelectorAll(".wb")].at(-1), started = performance.now();
  root.querySelector(`[data-testid="step-${place}"]`).click();
  while (root.querySelector("[aria-current=step]").dataset.testid !== `step-${place}`) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - started;
}
"""


def paint() -> Iterator[Bar]:
    """Click each step of the kernels of a sample: the time to its picture, and the CPU time of the page's main thread."""
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as lab, running_browser() as browser:
        page = browser.new_page(viewport={"width": 1600, "height": 1100})
        notebook, session = lab.open(page, lab.new("schedules").name), page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})

        def busy() -> float:
            metrics = session.send("Performance.getMetrics")["metrics"]
            return next(1000 * metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

        notebook.tell("import workbench as wb; w = wb.samples.load('attention')")
        names = notebook.python(f"[each.name for each in wb.schedules(w, '{GPU}', progress=lambda *_: None)]")
        times, costs, longest = list[float](), list[float](), 0
        for name in names:
            notebook.show(f"wb.ScheduleStepper(w, {name!r}, '{GPU}')")
            count, lines = notebook.python(
                "[len(view.steps), max(each.script.count(chr(10)) for each in view.steps.states)]"
            )
            longest = max(longest, lines)
            for place in range(count):
                before = busy()
                times.append(page.evaluate(_STEP, place))
                costs.append(busy() - before)
    for what, unit, found in (("to pixels", "ms", times), ("on the page's main thread", "ms of CPU", costs)):
        slow = statistics.quantiles(found, n=10)[-1]
        note = f"{len(found)} steps, texts of up to {longest} lines; median {statistics.median(found):.0f}, worst {max(found):.0f}"
        yield Bar(f"a step of a schedule {what}, 90 % of them", slow, unit, bar="<= 100 ms", met=slow <= 100, note=note)


if __name__ == "__main__":
    for each in (checks, records, edits, paint):
        if each.__name__ in (sys.argv[1:] or each.__name__):
            show(attempted(each.__name__, each))
