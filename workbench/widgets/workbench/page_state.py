"""The state of a Workbench's page as small JSON: the catalog, the choice, the passes, the rows and the plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.dialects.base import Option, PassInfo, Preset
from workbench.measurement.columns import BRIEF
from workbench.measurement.race import Race
from workbench.measurement.row import failure
from workbench.pipeline.config import Config
from workbench.pipeline.spec import PassStep
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.widgets.blocks import Block, picture
from workbench.widgets.typed import kind, written
from workbench.widgets.workbench.pass_list import Choice


def catalog(infos: Mapping[str, PassInfo], settings: Mapping[str, str]) -> dict[str, Any]:
    """Return every pass that can be added, with its options, and every key of PassContext's config."""
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


def _field(option: Option) -> dict[str, object]:
    default = "" if option.required or option.default is None else written(option.type, option.default)
    shown = {"name": option.name, "type": option.type, "kind": kind(option.type), "default": default}
    return {**shown, "required": option.required}


def context_state(
    choice: Choice, infos: Mapping[str, PassInfo], names: Sequence[str], settings: Mapping[str, str]
) -> dict[str, object]:
    """Return the PassContext, with a switch for each pass of the compiler's own pipeline."""
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


def pass_states(choice: Choice, trace: Trace | None, infos: Mapping[str, PassInfo]) -> list[dict[str, object]]:
    """Return the passes as the page lists them: the chosen ones, or those that the compiler ran."""
    if choice.mode == "context":
        return [_pass_state(PassStep(step.name), step, infos) for step in (trace.steps if trace else ())]
    steps = trace.steps if trace is not None else [None] * len(choice.pipeline)
    return [_pass_state(chosen, step, infos) for chosen, step in zip(choice.pipeline, steps, strict=True)]


def _pass_state(chosen: PassStep, step: Step | None, infos: Mapping[str, PassInfo]) -> dict[str, object]:
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
        changes = {kind: n for kind, n in step.diff.counts.items() if kind != "kept"}
        state |= {"nodes": len(step.after.nodes), "kernels": step.after.kernel_count, **changes}
    return state


def _options(step: PassStep, info: PassInfo | None) -> dict[str, str]:
    types = {option.name: option.type for option in info.options} if info else {}
    return {name: written(types.get(name, "any"), value) for name, value in step.options.items()}


def code(choice: Choice, presets: Sequence[Preset], target: str) -> str:
    """Return Python for the current choice."""
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
    """Return the measured rows as the page lists them."""
    return [
        {
            **{name: row.get(name) for name in BRIEF},
            "said": failure(row["status"], row.get("message")),
            "samples": len(row.get("samples") or ()),
            "id": i,
            "current": config == current,
        }
        for i, (config, row) in enumerate(rows.items())
    ]


def plots(rows: list[dict[str, Any]], races: Sequence[Race]) -> list[Block]:
    """Return the plots of the measured rows, including failed ones."""
    import pandas as pd

    from workbench.plots import kernel_count, runtime

    data = pd.DataFrame(rows)
    return [
        picture(kernel_count, data, len(data), "plot-kernels"),
        picture(runtime, data, len(data), "plot-runtime", races=races),
    ]
