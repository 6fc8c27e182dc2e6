"""The page of a Workbench as its session sees it: pictures, traits, progress, errors, and the state as small JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from workbench.dialects.catalog import Option, PassInfo, Preset
from workbench.graph.changes import GraphDiff, quiet_counts
from workbench.measurement.overlay import Overlay
from workbench.pipeline.spec import PassStep
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace
from workbench.widgets import page_types
from workbench.widgets.host import Host
from workbench.widgets.payload import encode_pair
from workbench.widgets.stepper.trace_states import WHOLE
from workbench.widgets.workbench.pass_list import Choice, field_kind, value_text

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class Picture:
    """Two states of a trace, side by side."""

    first: State
    last: State
    titles: tuple[str, str]
    changes: GraphDiff
    step: int = WHOLE
    preview: str | None = None
    "a pass that is tried but not chosen"
    finished: bool = True
    "whether the passes have run"

    @cached_property
    def counts(self) -> page_types.StateCounts:
        """Return nodes and kernels of both sides, and the nodes of each mark."""
        before, after = self.first.graph, self.last.graph
        return {
            "before_kernels": before.kernel_count,
            "after_kernels": after.kernel_count if self.finished else None,
            "before_nodes": len(before.nodes),
            "after_nodes": len(after.nodes) if self.finished else None,
            **page_types.MarkCounts(**quiet_counts(self.changes, before, after)),
        }


class Page:
    """The traits of a Workbench as one session sets them; a closed page drops late results. `drawn` is called after a picture."""

    def __init__(self, host: Host, drawn: Callable[..., None]) -> None:
        self._host, self.work, self._drawn = host, host.work, drawn
        self.lock = host.lock
        self._open = True
        self.picture: Picture | None = None

    def close(self) -> None:
        """Show nothing more."""
        with self.lock:
            self._open = False

    def picture_of(self, seq: int) -> Picture | None:
        """Return the picture of that number; None if another one is on the page."""
        with self.lock:
            return self.picture if seq == self._host.get("seq") else None

    def push(self, **changes: Unpack[page_types.State]) -> None:
        """Change keys of the `state` trait."""
        with self.lock:
            if self._open:
                self._host.push(**changes)

    def show(self, **traits: object) -> None:
        with self.lock:
            if self._open:
                for name, value in traits.items():
                    self._host.view.set_trait(name, value)

    def fail(self, title: str, text: str) -> None:
        self.push(error=page_types.failure(title, text))

    @property
    def error(self) -> str:
        """The sentence of the error on the page; empty without one."""
        shown: page_types.Failure | None = self._host.get("state").get("error")
        return shown["text"] if shown else ""

    def draw(self, picture: Picture, selection: dict[str, list[int]] | None = None) -> None:
        _, traits = encode_pair(picture.first.graph, picture.last.graph, picture.changes)
        with self.lock, self._host.view.hold_sync():
            if self._open:
                self.picture = picture
                self.show(**traits, titles=list(picture.titles))
                if selection is not None:
                    self.show(selection=selection)
                self.push(counts=picture.counts, step=picture.step, preview=picture.preview)
                self.show(seq=self._host.get("seq") + 1)

    def retitle(self, old: str, new: str) -> None:
        """Replace the title of the right side, if it is the old one."""
        with self.lock:
            first, last = self._host.get("titles")
            if last == old:
                self.show(titles=[first, new])

    def drawn(self, *, complete: bool) -> None:
        """Continue after the picture of a choice; `complete` if all its passes ran."""
        if self._open:
            self._drawn(complete=complete)

    def overlay_after(self, overlay: Overlay | None) -> None:
        """Show values over the graph after the passes; None removes them."""
        self.show(overlay_state=page_types.overlay_state(None, overlay))

    def selected(self) -> set[int]:
        """Return the selected nodes of the graph after the passes."""
        return set(self._host.get("selection")["after"])

    def select(self, nodes: list[int]) -> None:
        """Select nodes of the graph after the passes and bring them into view."""
        self.show(selection={"before": [], "after": nodes})
        self._host.view.send(page_types.show_message(nodes, "after"))


def catalog(infos: Mapping[str, PassInfo], settings: Mapping[str, str]) -> page_types.Catalog:
    """Return every pass that can be added, with its options, and every key of PassContext's config."""
    shown = ("name", "doc", "opt_level", "locked", "reason", "ours")
    passes = [
        page_types.PassChoice(**{name: getattr(info, name) for name in shown}, options=list(map(_field, info.options)))
        for info in infos.values()
    ]
    return {"passes": passes, "settings": [_field(Option(name, type, None)) for name, type in settings.items()]}


def _field(option: Option) -> page_types.FieldSpec:
    default = "" if option.required or option.default is None else value_text(option.type, option.default)
    return {
        "name": option.name,
        "type": option.type,
        "kind": field_kind(option.type),
        "default": default,
        "required": option.required,
    }


def context_state(
    choice: Choice, infos: Mapping[str, PassInfo], names: Sequence[str], settings: Mapping[str, str]
) -> page_types.ContextState:
    """Return the PassContext, with a switch for each pass of the compiler's own pipeline."""
    toggles: list[page_types.PassState] = [
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
        "options": {name: value_text(settings.get(name, "any"), value) for name, value in choice.options.items()},
        "toggles": toggles,
    }


def pass_states(choice: Choice, trace: Trace | None, infos: Mapping[str, PassInfo]) -> list[page_types.PassState]:
    """Return the passes as the page lists them: the chosen ones, or those that the compiler ran."""
    if choice.mode == "context":
        return [_pass_state(PassStep(step.name), step, infos) for step in (trace.steps if trace else ())]
    steps = trace.steps if trace is not None else [None] * len(choice.pipeline)
    return [_pass_state(chosen, step, infos) for chosen, step in zip(choice.pipeline, steps, strict=True)]


def _pass_state(chosen: PassStep, step: Step | None, infos: Mapping[str, PassInfo]) -> page_types.PassState:
    info = infos.get(chosen.name)
    types = {option.name: option.type for option in info.options} if info else {}
    state: page_types.PassState = {
        "name": chosen.name,
        "text": chosen.text,
        "enabled": chosen.enabled,
        "locked": False,
        "reason": info.locked if info else "",
        "doc": info.doc if info else "",
        "options": {name: value_text(types.get(name, "any"), value) for name, value in chosen.options.items()},
        "status": "pending" if chosen.enabled else "off",
    }
    if step is None:
        return state
    state = {**state, "status": step.status, "message": step.error or step.detail, "seconds": step.seconds}
    if not step.changed:
        return state
    counts = quiet_counts(step.diff, step.before, step.after)
    changes = page_types.MarkCounts(**{mark: n for mark, n in counts.items() if mark != "kept"})
    return {**state, "nodes": len(step.after.nodes), "kernels": step.after.kernel_count, **changes}


def code(choice: Choice, presets: Sequence[Preset], target: str, source: str) -> str:
    """Return Python for the current choice; `source` is the expression of the workload."""
    made = "# w is the workload of this Workbench" if source == "w" else f"w = {source}"
    start = f"import workbench as wb\n\n{made}\n"
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
