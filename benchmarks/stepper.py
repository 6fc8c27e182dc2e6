"""Steps of a real build in a real page, from the key to the first frame of the step's picture; the text beside it."""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from browser.lab import Lab, running_browser, running_lab

from benchmarks.bar import Bar, attempted, show
from benchmarks.page import View, _bar

# Milliseconds from one key on the newest view to the first frame of the picture after it.
_KEY = """
async ([key, limit]) => {
  const root = [...document.querySelectorAll(".wb")].at(-1);
  const [scenes, started] = [root.dataset.scenes, performance.now()];
  root.querySelector("canvas.wb-canvas").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  while (root.dataset.scenes === scenes) {
    if (performance.now() - started > limit) throw new Error("no picture of the step");
    await new Promise(requestAnimationFrame);
  }
  return performance.now() - started;
}
"""

_PRESS = """
(key) => [...document.querySelectorAll(".wb")].at(-1).querySelector("canvas.wb-canvas")
  .dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))
"""

# Milliseconds from the key that opens the text, or from a step while it is open, to its rows on the screen.
_TEXT = """
async ([key, limit]) => {
  const root = [...document.querySelectorAll(".wb")].at(-1);
  // There is no such element before the text; rows that are equal in two texts stay.
  const text = () => root.querySelector("[data-testid='text-diff']")?.textContent ?? "";
  const [first, started] = [text(), performance.now()];
  root.querySelector("canvas.wb-canvas").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  while (["", first].includes(text())) {
    if (performance.now() - started > limit) throw new Error("no text of the step");
    await new Promise(requestAnimationFrame);
  }
  await new Promise(requestAnimationFrame);
  return performance.now() - started;
}
"""


def step(view: View, name: str) -> Iterator[Bar]:
    """Every step of a build, forwards and back, after the neighbours have been fetched."""
    view.notebook.run_cell(f'trace = wb.trace_build(wb.samples.load("{name}"), whole=False)')
    view.notebook.python("trace.name")
    first = view.show("wb.PassStepper(trace)")
    changed = int(view.notebook.python("sum(step.changed for step in trace.steps)"))
    assert view.notebook.python("view.wait(60)")
    view.rest()
    times: list[float] = []
    for key, fresh in (*(("j", fresh) for fresh in moves(view)), *(("k", fresh) for fresh in reversed(moves(view)))):
        if fresh:
            times.append(view.page.evaluate(_KEY, [key, 10_000]))
        else:
            view.page.evaluate(_PRESS, key)
        view.rest(0.5)
    nodes = view.notebook.python("max(len(step.after.nodes) for step in trace.steps)")
    what = f"{name}'s build, {changed} changing passes, up to {nodes:,} nodes"
    each = ", ".join(f"{ms:.0f}" for ms in times)
    yield _bar(f"{what}: first picture", first, "ms")
    yield _bar(f"{what}: next step to pixels", statistics.median(times), "ms", 100, f"worst {max(times):.0f}: {each}")
    yield from text(view, what)


def moves(view: View) -> list[bool]:
    """For each change but the first, whether its states are others than the one's before: a pass and the one inside it may be one."""
    pairs = view.notebook.python("[view._states.of_step[i] for i, step in enumerate(trace.steps) if step.changed]")
    return [a != b for a, b in itertools.pairwise(pairs)]


def text(view: View, what: str) -> Iterator[Bar]:
    opened = view.page.evaluate(_TEXT, ["d", 10_000])
    yield _bar(f"{what}: opening the text", opened, "ms")
    view.rest()
    times: list[float] = []
    for fresh in moves(view):
        if fresh:
            times.append(view.page.evaluate(_TEXT, ["j", 10_000]))
        else:
            view.page.evaluate(_PRESS, "j")
        view.rest(0.5)
    longest = view.notebook.python("max(len(step.text_after) for step in trace.steps)")
    note = f"texts of up to {longest / 1e3:.0f} kB, worst {max(times):.0f} ms"
    yield _bar(f"{what}: next step with its text", statistics.median(times), "ms", None, note)


def rows() -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as lab, running_browser() as browser:
        for name in ("bert", "resnet18"):
            yield from attempted(f"{name}'s build", partial(alone, lab, browser, name))


def alone(lab: Lab, browser: Any, name: str) -> Iterator[Bar]:
    with closing(View(lab, browser)) as view:
        yield from step(view, name)


if __name__ == "__main__":
    show(rows())
