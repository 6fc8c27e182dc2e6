"""Short names of pipelines: the difference from a preset, `opt 3 passes -FoldConstant`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from workbench.dialects.catalog import Preset
from workbench.pipeline.spec import Pipeline

USUAL_LEVEL = 3
"the opt level that a name does not mention"


def short_name(pipeline: Pipeline, opt_level: int, presets: Sequence[Preset]) -> str:
    """Return the preset with the passes that are missing or added, or all passes where that is shorter.

    Two pipelines with different passes or opt levels have different names: a pass that occurs more than once, or is added before
    the end, has its place, from 1.
    """
    passes = [step.text for step in pipeline if step.enabled]
    if not passes:
        return "no passes"
    named = [_difference(preset, passes, opt_level) for preset in presets]
    exact = next((name for name, edits in named if not edits), None)
    whole = ",".join(passes) + ("" if opt_level == USUAL_LEVEL else f" at opt level {opt_level}")
    return exact or min([whole, *(name for name, _ in named)], key=len)


def _difference(preset: Preset, passes: Sequence[str], opt_level: int) -> tuple[str, int]:
    """Return the name by that preset, and the number of differences."""
    base = [step.text for step in Pipeline.parse(preset.pipeline) if step.enabled]
    edits = [*_edits(base, passes)]
    level = [] if preset.opt_level == opt_level else [f"at opt level {opt_level}"]
    return " ".join([f"{preset.name} passes", *edits, *level]), len(edits) + len(level)


def _edits(base: Sequence[str], passes: Sequence[str]) -> Iterator[str]:
    for kind, first, last, start, end in SequenceMatcher(None, base, passes, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for place in range(first, last):
            yield f"-{base[place]}" + (f" at {place + 1}" if base.count(base[place]) > 1 else "")
        for place in range(start, end):
            yield f"+{passes[place]}" + (f" at {place + 1}" if first < len(base) else "")
