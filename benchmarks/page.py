"""The graph view in a real page: JupyterLab and Chromium, without a GPU, so that every pixel is drawn by the processor.

Gestures are events dispatched in the page, one for each frame, as a browser hands them out; frames are those that the
view painted. What is on the screen is read from `frames`, `selected`, `places()` and `data-scenes` on the view's root
(js/testing/probed.ts, js/panels/graph_board.tsx).

The bar is 60 frames/s, the rate of a usual display. A machine without a GPU may miss it because it draws slowly, so a second row has the
CPU time of the page's main thread for a frame, of which there are 16.7 ms: handlers, scripts, style, layout and the commands of the picture.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from browser.driver import Notebook
from browser.lab import PROBE, Lab, running_browser, running_lab

from benchmarks.bar import Bar, attempted, show

ROOT = Path(__file__).parents[1]

GESTURE_MS = 2000
SELECTED = (5_000, 10_000, 20_000)
FRAMES = 60
"a second, of a usual display"

_PREPARE = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
{PROBE}
import workbench as wb
from benchmarks.synthetic import transformer
graphs, clicks = {{}}, []
"""

# Resolves when the newest view has painted a picture, with the clock that Python's time.time() reads.
_PAINTED = """
async ([views, limit]) => {
  const started = performance.now();
  for (;;) {
    const roots = document.querySelectorAll(".wb");
    if (roots.length > views && Number([...roots].at(-1).dataset.scenes || 0) > 0) return Date.now();
    if (performance.now() - started > limit) throw new Error("no picture in time");
    await new Promise(requestAnimationFrame);
  }
}
"""

# Seconds and paints of a gesture, one event a frame, back and forth.
_GESTURE = """
async ([kind, ms]) => {
  const root = [...document.querySelectorAll(".wb")].at(-1);
  const canvas = root.querySelector("canvas.wb-canvas");
  const box = canvas.getBoundingClientRect();
  const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true, cancelable: true };
  canvas.setPointerCapture = () => undefined;
  const pointer = (type, x, y) => canvas.dispatchEvent(new PointerEvent(type, { ...at, clientX: at.clientX + x, clientY: at.clientY + y, pointerId: 1, button: 0, buttons: 1 }));
  if (kind === "drag") pointer("pointerdown", 0, 0);
  const [started, frames] = [performance.now(), root.frames];
  for (let i = 0; performance.now() - started < ms; i++) {
    await new Promise(requestAnimationFrame);
    if (kind === "drag") pointer("pointermove", 60 * Math.sin(i / 20), 300 * Math.sin(i / 40));
    else canvas.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: Math.floor(i / 8) % 2 ? 40 : -40 }));
  }
  const done = [(performance.now() - started) / 1000, root.frames - frames];
  if (kind === "drag") pointer("pointerup", 0, 0);
  delete canvas.setPointerCapture;
  return done;
}
"""

# Milliseconds from the Enter key on a selected group until the first frame of the new picture is painted: a message that is
# posted while a frame is drawn arrives once the browser has painted it.
_ENTER = """
async () => {
  const root = [...document.querySelectorAll(".wb")].at(-1);
  const drawn = new Promise((resolve, reject) => {
    new MutationObserver(resolve).observe(root, { attributeFilter: ["data-scenes"] });
    setTimeout(() => reject(new Error("Enter changed nothing")), 5000);
  });
  const started = performance.now();
  root.querySelector("canvas.wb-canvas").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  await drawn;
  const { port1, port2 } = new MessageChannel();
  await new Promise((resolve) => { port1.onmessage = resolve; port2.postMessage(0); });
  return performance.now() - started;
}
"""

_SHOWN = "(id) => [...document.querySelectorAll('.wb')].at(-1).places(0).some((row) => row[0] === id)"
_DRAWN = "() => [...document.querySelectorAll('.wb')].at(-1).places(0).length"
_IN_VIEW = """
() => {
  const root = [...document.querySelectorAll(".wb")].at(-1);
  const { clientWidth, clientHeight } = root.querySelector("canvas.wb-canvas");
  const places = root.places(0);
  return places.filter(([, x, y]) => x > 0 && y > 0 && x < clientWidth && y < clientHeight).length / places.length;
}
"""
_PLACES = "(side) => [...document.querySelectorAll('.wb')].at(-1).places(side)"

# Leaves in `window.selected` the time, of the clock that Python reads, at which a number of selected nodes has been painted. The frame
# of a new selection begins with this look at it; a message that is posted in a frame arrives once the browser has painted it.
_SELECTED = """
(count) => {
  const root = [...document.querySelectorAll(".wb")].at(-1);
  const { port1, port2 } = new MessageChannel();
  window.selected = new Promise((resolve, reject) => {
    port1.onmessage = () => resolve(Date.now());
    setTimeout(() => reject(new Error("nothing was selected")), 30000);
  });
  const look = () => (root.selected === count ? port2.postMessage(0) : requestAnimationFrame(look));
  look();
}
"""

_STEP = """
async (index) => {
  const root = [...document.querySelectorAll(".wb")].at(-1);
  const slider = root.querySelector("[data-testid='step-slider']");
  const [scenes, started] = [root.dataset.scenes, performance.now()];
  slider.value = String(index);
  slider.dispatchEvent(new Event("input"));
  while (root.dataset.scenes === scenes) {
    if (performance.now() - started > 10000) throw new Error("no picture of the step");
    await new Promise(requestAnimationFrame);
  }
}
"""


class View:
    """A view in a notebook of its own page."""

    def __init__(self, lab: Lab, browser: Any) -> None:
        self.page = browser.new_page(viewport={"width": 1600, "height": 1100})
        self.page.set_default_timeout(60_000)
        self.session = self.page.context.new_cdp_session(self.page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.notebook: Notebook = lab.open(self.page, "00_quickstart.ipynb")
        self.notebook.run_cell(_PREPARE)
        self.notebook.python("1")

    def show(self, source: str, limit: int = 60) -> float:
        """Milliseconds from the first line of a cell, which makes `view`, to the picture on the screen."""
        views = self.page.locator(".wb").count()
        self.notebook.run_cell(f"started = time.time()\nview = {source}\nview")
        painted = self.page.evaluate(_PAINTED, [views, 1000 * limit])
        self.page.locator("canvas.wb-canvas").last.scroll_into_view_if_needed()
        return painted - 1000 * self.notebook.python("started")

    def rest(self, seconds: float = 0.8) -> None:
        """Let a glide and the messages after it end."""
        time.sleep(seconds)

    def tell(self, statement: str) -> None:
        self.notebook.python(f"({statement}, 0)[1]")
        self.rest()

    def busy(self) -> float:
        """CPU milliseconds that the page's main thread has worked."""
        metrics = self.session.send("Performance.getMetrics")["metrics"]
        return next(1000 * metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def gesture(self, what: str, source: str, *arguments: object) -> Iterator[Bar]:
        """Yield the frames a second of a script that returns its seconds and frames, and the main thread's time of a frame."""
        rates, costs = [], []
        for _ in range(3):
            before = self.busy()
            seconds, painted = self.page.evaluate(source, list(arguments))
            rates.append(painted / seconds)
            costs.append((self.busy() - before) / max(1, painted))
        rate, cost = statistics.median(rates), statistics.median(costs)
        # the first and the last frame of the two seconds are partly counted
        met = rate > FRAMES - 1
        yield Bar(what, rate, "frames/s", bar=f"{FRAMES} frames/s", met=met, note="software rendering")
        yield _bar(f"{what}, main thread a frame", cost, "ms", 1000 / FRAMES, "CPU")

    def close(self) -> None:
        self.page.close()


def first_paint(view: View) -> Iterator[Bar]:
    view.notebook.run_cell('graphs["bert"] = wb.trace(wb.samples.load("bert"), "SimplifyInference,FuseOps").end.graph')
    times = [view.show('wb.GraphView(graphs["bert"])') for _ in range(6)]
    middle = statistics.median(times[1:])
    nodes = view.notebook.python('len(graphs["bert"].nodes)')
    note = f"{min(times[1:]):.0f} to {max(times[1:]):.0f} ms; the page's first widget {times[0]:.0f} ms"
    yield _bar(f"bert, 12 layers ({nodes} nodes): Python call to pixels", middle, "ms", 1000, note)


def click(view: View) -> Iterator[Bar]:
    """From a Shift+click, which changes the selection each time, to Python's observer; both clocks are the machine's."""
    view.notebook.python("(view.observe(lambda _: clicks.append(1000 * time.time()), 'selection'), 0)[1]")
    node = view.notebook.python('graphs["bert"].ops[40].id')
    view.tell(f"view.show([{node}])")
    canvas = view.page.locator("canvas.wb-canvas").last
    canvas.evaluate(
        "(at) => { window.pressed = []; at.addEventListener('pointerup', () => pressed.push(Date.now()), true); }"
    )
    view.notebook.python("(clicks.clear(), 0)[1]")
    for _ in range(15):
        canvas.click(modifiers=["Shift"])
        view.rest(0.15)
    pressed, arrived = view.page.evaluate("pressed"), view.notebook.python("clicks")
    assert len(pressed) == len(arrived) == 15, f"{len(arrived)} of {len(pressed)} clicks reached Python"
    times = [there - here for here, there in zip(pressed, arrived, strict=True)]
    yield _bar("a click to Python", statistics.median(times), "ms", 50, f"worst {max(times):.0f} ms")


def frames(view: View, nodes: int) -> Iterator[Bar]:
    """All groups open, constants shown; at reading zoom in the middle of the graph, and the whole graph in view."""
    view.notebook.run_cell(f"graphs[{nodes}] = transformer({nodes})")
    opened = view.show(f"wb.GraphView(graphs[{nodes}], collapsed=[], show_constants=True)")
    view.tell(f"view.show([graphs[{nodes}].ops[len(graphs[{nodes}].ops) // 2].id])")
    what = f"{nodes:,} nodes, all open"
    assert view.page.evaluate(_DRAWN) == view.notebook.python(f"len(graphs[{nodes}].nodes)"), "not all nodes are drawn"
    scale = view.notebook.python('view.viewport["scale"]')
    yield _bar(f"{what}: Python call to pixels", opened, "ms")
    for kind in ("drag", "wheel"):
        yield from view.gesture(f"{what}: {kind} at zoom {scale:.2g}", _GESTURE, kind, GESTURE_MS)
    view.rest()
    fit(view)
    for kind in ("drag", "wheel"):
        yield from view.gesture(f"{what}: {kind} with the whole graph in view", _GESTURE, kind, GESTURE_MS)
    drawn = statistics.median(redrawn(view) for _ in range(3))
    note = (
        "CPU; where the drawing takes over 20 ms, a gesture moves its picture, and the graph is drawn again at the end"
    )
    yield _bar(f"{what}: the whole graph drawn once, main thread", drawn, "ms", None, note)


def fit(view: View) -> None:
    """Bring the whole graph into view."""
    view.page.locator("canvas.wb-canvas").last.press("f")
    view.page.wait_for_function(f"() => ({_IN_VIEW.strip()})() > 0.99", timeout=10_000)
    view.rest(1)


def redrawn(view: View) -> float:
    """CPU milliseconds of the page's main thread for one turn of the wheel and the picture at rest after it."""
    view.rest()
    before = view.busy()
    view.page.evaluate(_GESTURE, ["wheel", 1])
    view.rest()
    return view.busy() - before


def expand(view: View, nodes: int = 10_000) -> Iterator[Bar]:
    """Enter on a closed group until its node is seen: first as the view opens, then a kernel with all else open."""
    view.notebook.run_cell(f"graphs[{nodes}] = transformer({nodes})")
    scopes = f"[g.id for g in graphs[{nodes}].groups if g.kind == 'scope']"
    layers = view.notebook.python(f"len({scopes})")
    first = f"next(n.id for n in graphs[{nodes}].ops if graphs[{nodes}].groups[n.group].parent == {scopes}[%d])"
    chosen = [view.notebook.python(first % layer) for layer in range(layers // 12, layers, layers // 12)]
    view.show(f"wb.GraphView(graphs[{nodes}])")
    what = f"{nodes:,} nodes: expand one group to pixels"
    closed = [ms for node in chosen for ms in opened(view, node)]
    yield _bar(what, statistics.median(closed), "ms", 50, f"{len(closed)} groups, worst {max(closed):.0f} ms")
    view.show(f"wb.GraphView(graphs[{nodes}], collapsed=[])")
    rest = []
    for node in chosen:
        choose(view, node)
        view.page.evaluate(_ENTER)
        rest += opened(view, node)
    note = f"{len(rest)} groups, worst {max(rest):.0f} ms"
    yield _bar(f"{what}, all others open", statistics.median(rest), "ms", 50, note)


def choose(view: View, node: int) -> None:
    """Select a node anew: where it is hidden, what is selected is the closed group around it."""
    view.tell(f"(setattr(view, 'selection', []), setattr(view, 'selection', [{node}]))")


def opened(view: View, node: int) -> list[float]:
    """Milliseconds of each Enter until the node is seen."""
    times: list[float] = []
    while True:
        choose(view, node)
        if view.page.evaluate(_SHOWN, node) or len(times) > 5:
            return times
        times.append(view.page.evaluate(_ENTER))


def large(view: View, nodes: int = 50_000) -> Iterator[Bar]:
    view.notebook.run_cell(f"graphs[{nodes}] = transformer({nodes})")
    view.show("wb.GraphView(transformer(100))")
    times = [view.show(f"wb.GraphView(graphs[{nodes}])") for _ in range(3)]
    middle = statistics.median(times)
    note = f"{min(times):.0f} to {max(times):.0f} ms"
    yield _bar(f"{nodes:,} nodes, collapsed: Python call to pixels", middle, "ms", 1000, note)


def whole(view: View, browser: Any, nodes: int = 50_000) -> Iterator[Bar]:
    """Everything in view and open: frames, then the memory of the page's process, then selections."""
    before = renderer_bytes(browser)
    yield from frames(view, nodes)
    used = renderer_bytes(browser)
    note = f"JupyterLab without the view {before / 1e6:.0f} MB"
    yield _bar(f"{nodes:,} nodes, all open: memory of the page's process", used / 1e6, "MB", 500, note)
    yield from selections(view, nodes)


def selections(view: View, nodes: int) -> Iterator[Bar]:
    """From a selection in Python to its picture: it was quadratic. The whole graph is in view, so that the camera rests."""
    view.notebook.run_cell(f"ids = [node.id for node in graphs[{nodes}].nodes]")
    fit(view)
    least, base = SELECTED[0], 0.0
    for count in SELECTED:
        times = [selected(view, count) for _ in range(5)]
        middle, span = statistics.median(times), f"{min(times):.0f} to {max(times):.0f} ms"
        what = f"{nodes:,} nodes, all open: {count:,} selected from Python to pixels"
        if count == least:
            base = middle
            yield Bar(what, middle, "ms", note=span)
        else:
            most, note = count / least, f"{middle / base:.1f} times; {span}"
            yield Bar(what, middle, "ms", bar=f"at most {most:g} x {least:,}'s", met=middle <= most * base, note=note)


def selected(view: View, count: int) -> float:
    """Milliseconds from the assignment to the frame in which that many nodes are selected."""
    view.tell("setattr(view, 'selection', [])")
    view.page.evaluate(_SELECTED, count)
    began = view.notebook.python(f"[1000 * time.time(), setattr(view, 'selection', ids[:{count}])][0]")
    return view.page.evaluate("window.selected") - began


def renderer_bytes(browser: Any) -> float:
    """Private bytes of the largest renderer: heap, worker, canvases and all."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return max(_private_bytes(process["id"]) for process in processes if process["type"] == "renderer")


def _private_bytes(process: int) -> float:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(1024 * float(line.split()[1]) for line in lines if line.startswith("Private_"))


def stability(view: View) -> Iterator[Bar]:
    """Where the nodes of a state are as a step's result, and then as the next step's input, in widths of each node."""
    view.show('wb.Workbench(wb.samples.load("bert"), auto_measure=False)')
    changed = view.notebook.python("[i for i, step in enumerate(view.trace.steps) if step.changed]")
    steps: dict[str, tuple[float, float]] = {}
    view.page.evaluate(_STEP, changed[0])
    view.rest()
    for step in changed[1:]:
        was = {row[0]: row for row in view.page.evaluate(_PLACES, 1)}
        view.page.evaluate(_STEP, step)
        view.rest()
        now = {row[0]: row for row in view.page.evaluate(_PLACES, 0)}
        name = view.notebook.python(f"view.trace.steps[{step}].name")
        canvas = view.page.locator("canvas.wb-canvas").last.bounding_box()
        assert canvas
        both = [(was[id], now[id]) for id in now if id in was]
        near = [pair for pair in both if 0 < pair[0][1] < canvas["width"] and 0 < pair[0][2] < canvas["height"]]
        steps[name] = (_moved(both), _moved(near))
    what = "bert, 12 layers: median move of nodes from step to step"
    for k, where in enumerate(("all of them", "those in view")):
        yield _bar(f"{what}, {where}", max(move[k] for move in steps.values()), "widths", 0.5, _each(steps, k))


def _moved(pairs: list[tuple[list[float], list[float]]]) -> float:
    """The median distance on the screen between two places of a node, in widths of the node."""
    return (
        statistics.median(((b[1] - a[1]) ** 2 + (b[2] - a[2]) ** 2) ** 0.5 / b[3] for a, b in pairs) if pairs else 0.0
    )


def _each(steps: dict[str, tuple[float, float]], which: int) -> str:
    return ", ".join(f"{name} {move[which]:.2f}" for name, move in steps.items())


def _bar(what: str, ours: float, unit: str, limit: float | None = None, note: str = "") -> Bar:
    met = None if limit is None else ours < limit
    return Bar(what, ours, unit, bar="" if limit is None else f"under {limit:.4g} {unit}", met=met, note=note)


def parts(browser: Any) -> tuple[tuple[Callable[[View], Iterable[Bar]], ...], ...]:
    """The measurements by page: pages that are open share the processor."""
    return (
        (first_paint, click),
        (stability,),
        (partial(frames, nodes=1_100),),
        (expand,),
        (large,),
        (partial(whole, browser=browser),),
    )


def rows(chosen: list[int]) -> Iterator[Bar]:
    with tempfile.TemporaryDirectory() as folder, running_lab(Path(folder)) as lab, running_browser() as browser:
        for number, measures in enumerate(parts(browser)):
            if not chosen or number in chosen:
                yield from attempted(f"page, part {number}", partial(alone, lab, browser, measures))


def alone(lab: Lab, browser: Any, measures: Iterable[Callable[[View], Iterable[Bar]]]) -> Iterator[Bar]:
    with closing(View(lab, browser)) as view:
        for measure in measures:
            name = getattr(measure, "func", measure).__name__
            yield from attempted(f"page, {name}", partial(measure, view))


if __name__ == "__main__":
    show(rows([int(number) for number in sys.argv[1:]]))
