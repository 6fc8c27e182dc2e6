"""The page of a Workbench: the door through which a session shows results, and choices, traces and rows as small JSON."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

from workbench.dialects.base import Option, PassInfo, Preset
from workbench.graph.diff import GraphDiff
from workbench.measure.kernels.overlays import Overlay
from workbench.measure.status import failure
from workbench.measure.timing.race import Race
from workbench.pipeline.config import Config
from workbench.pipeline.spec import PassStep
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace
from workbench.widgets.background import Busy
from workbench.widgets.blocks import Block, picture
from workbench.widgets.typed import kind, written
from workbench.widgets.workbench.choice import Choice

WHOLE = -1
"the step number of the whole pipeline: its input against its result"
ROW = ("config", "target", "status", "message", "kernels", "functions", "median_us", "q1_us", "q3_us")
"the columns of a row that the page shows"


@dataclass(frozen=True, eq=False)
class Picture:
    """Two states of a trace, side by side."""

    first: State
    last: State
    titles: tuple[str, str]
    changes: GraphDiff
    step: int = WHOLE
    preview: str | None = None
    "the pass that is tried and not chosen"
    finished: bool = True
    "whether the passes have run"

    @cached_property
    def counts(self) -> dict[str, int | None]:
        """Nodes and kernels of both sides, and the nodes of each mark."""
        before, after = self.first.graph, self.last.graph
        return {
            "before_kernels": before.kernels(),
            "after_kernels": after.kernels() if self.finished else None,
            "before_nodes": len(before.nodes),
            "after_nodes": len(after.nodes) if self.finished else None,
            **self.changes.counts(),
        }


class Page(Protocol):
    """The widget as a session and its panels see it."""

    def push(self, **changes: object) -> None:
        """Change keys of the `state` trait."""
        ...

    def show(self, **traits: object) -> None:
        """Set traits."""
        ...

    def draw(self, picture: Picture) -> None:
        """Show two graphs."""
        ...

    def retitle(self, old: str, new: str) -> None:
        """Give the side after another title, where it has that one."""
        ...

    def drawn(self, *, complete: bool) -> None:
        """Go on after the picture of a choice; `complete` where all its passes ran."""
        ...

    def overlay_after(self, overlay: Overlay | None) -> None:
        """Lay values over the graph after; None takes them away."""
        ...

    def selected(self) -> set[int]:
        """Return the nodes that are selected in the graph after."""
        ...

    def select(self, nodes: list[int]) -> None:
        """Select nodes of the graph after and bring them into view."""
        ...


class Reports:
    """The progress and the errors of a session's parts, as the page shows them."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._lock = threading.Lock()
        self._progress: dict[str, Busy] = {}
        self.error = ""
        "the sentence on the page"

    def busy(self, part: str) -> Callable[[Busy | None], None]:
        """Return the function that shows the progress of that part, and takes it away."""
        return partial(self._show, part)

    def fail(self, title: str, text: str) -> None:
        """Show an error."""
        self.error = text
        self._page.push(error={"title": title, "text": text})

    def report(self, error: Exception) -> None:
        """Show an exception that no part expected."""
        self.fail("The workbench itself failed", f"{type(error).__name__}: {error}")

    def clear(self) -> None:
        """Take the error away."""
        self.error = ""
        self._page.push(error=None, refused=None)

    def _show(self, part: str, progress: Busy | None) -> None:
        with self._lock:
            self._progress.pop(part, None)
            if progress is not None:
                self._progress[part] = progress
            self._page.push(busy=next(reversed(self._progress.values()), None))


def catalog(infos: Mapping[str, PassInfo], settings: Mapping[str, str]) -> dict[str, Any]:
    """Every pass that can be added, with its options, and every key of PassContext's config."""
    passes = [
        {
            "name": info.name,
            "doc": info.doc,
            "opt_level": info.opt_level,
            "locked": info.locked,
            "reason": info.reason,
            "ours": info.ours,
            "options": [_field(option) for option in info.options],
        }
        for info in infos.values()
    ]
    fields = [{"name": name, "type": type, "kind": kind(type), "default": ""} for name, type in settings.items()]
    return {"passes": passes, "settings": fields}


def _field(option: Option) -> dict[str, Any]:
    default = "" if option.required or option.default is None else written(option.type, option.default)
    shown = {"name": option.name, "type": option.type, "kind": kind(option.type), "default": default}
    return {**shown, "required": option.required}


def context_state(
    choice: Choice, infos: Mapping[str, PassInfo], names: Sequence[str], settings: Mapping[str, str]
) -> dict[str, Any]:
    """The PassContext, with a switch for each pass of the compiler's own pipeline."""
    toggles = [
        {
            "name": name,
            "enabled": choice.runs(infos[name]),
            "locked": bool(infos[name].locked),
            "reason": infos[name].locked,
            "doc": infos[name].doc,
            "opt_level": infos[name].opt_level,
        }
        for name in names
    ]
    return {
        "opt_level": choice.opt_level,
        "disabled": list(choice.disabled),
        "required": list(choice.required),
        "options": {name: written(settings.get(name, "any"), value) for name, value in choice.options.items()},
        "toggles": toggles,
    }


def pass_states(choice: Choice, trace: Trace | None, infos: Mapping[str, PassInfo]) -> list[dict[str, Any]]:
    """The passes as the page lists them: those that were chosen, or those that the compiler ran."""
    if choice.mode == "context":
        return [_pass_state(PassStep(step.name), step, infos) for step in (trace.steps if trace else ())]
    steps = trace.steps if trace is not None else [None] * len(choice.pipeline)
    return [_pass_state(chosen, step, infos) for chosen, step in zip(choice.pipeline, steps, strict=True)]


def _pass_state(chosen: PassStep, step: Step | None, infos: Mapping[str, PassInfo]) -> dict[str, Any]:
    info = infos.get(chosen.name)
    state: dict[str, Any] = {
        "name": chosen.name,
        "text": chosen.text,
        "enabled": chosen.enabled,
        "locked": False,
        "reason": info.locked if info else "",
        "doc": info.doc if info else "",
        "options": _options(chosen, info),
        "status": "pending" if chosen.enabled else "off",
    }
    if step is None:
        return state
    state |= {"status": step.status, "message": step.error or step.detail, "seconds": step.seconds}
    if step.changed:
        changes = {kind: n for kind, n in step.diff.counts().items() if kind != "kept"}
        state |= {"nodes": len(step.after.nodes), "kernels": step.after.kernels(), **changes}
    return state


def _options(step: PassStep, info: PassInfo | None) -> dict[str, str]:
    types = {option.name: option.type for option in info.options} if info else {}
    return {name: written(types.get(name, "any"), value) for name, value in step.options.items()}


def code(choice: Choice, presets: Sequence[Preset], target: str) -> str:
    """Python that does what was clicked."""
    start = "import workbench as wb\n\nw = wb.load(module, params)\n"
    if choice.mode == "context":
        context = (
            f"opt_level={choice.opt_level}, disabled={list(choice.disabled)!r}, required={list(choice.required)!r}"
        )
        config = f", config={dict(choice.options)!r}" if choice.options else ""
        return f"{start}k = wb.kernels(w, {target!r}, {context}{config})\nt = wb.trace_build(w, {target!r}, {context}{config})\n"
    measured = {"pipeline": choice.config(presets).pipeline, "opt_level": choice.opt_level}
    return (
        f"{start}t = wb.trace(w, wb.Pipeline.parse({str(choice.pipeline)!r}), opt_level={choice.opt_level})\n"
        f"df = wb.measure(w, [{measured!r}], [{target!r}])\n"
    )


def row_states(rows: Mapping[Config, dict[str, Any]], current: Config) -> list[dict[str, Any]]:
    """The measured rows as the page lists them."""
    return [
        {
            **{name: row.get(name) for name in ROW},
            "said": failure(row["status"], row.get("message")),
            "samples": len(row.get("samples") or ()),
            "id": i,
            "current": config == current,
        }
        for i, (config, row) in enumerate(rows.items())
    ]


def plots(rows: list[dict[str, Any]], races: Sequence[Race]) -> list[Block]:
    """The plots of what was measured; rows that failed are in them."""
    import pandas as pd

    from workbench.plots import kernel_count, runtime

    data = pd.DataFrame(rows)
    return [
        picture(kernel_count, data, len(data), "plot-kernels"),
        picture(runtime, data, len(data), "plot-runtime", races=races),
    ]
