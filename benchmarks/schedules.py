"""Schedules of kernels: verdicts of wb.check_schedule on whole models, random edits of decisions, and the time from a step to its picture.

python -m benchmarks.schedules            all three, in ten minutes
python -m benchmarks.schedules checks     one of them: checks, edits or paint
"""

from __future__ import annotations

import random
import runpy
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from browser.lab import running_browser, running_lab

import workbench as wb
from benchmarks.bar import Bar, attempted, show
from benchmarks.boundary_programs import mobilenet
from workbench.debugging.schedule_steps import ScheduleSteps, schedule_steps
from workbench.samples import _builder_of

GPU = "cuda -arch=sm_80"
EDITS = 300
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
    for each in (checks, edits, paint):
        if each.__name__ in (sys.argv[1:] or each.__name__):
            show(attempted(each.__name__, each))
