"""What was clicked, as Python to type."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.widgets.blocks import Block, code, words
from workbench.widgets.fusion_bench import Fused


def code_blocks(before: str, edits: Sequence[str], fused: Fused, selection: Sequence[int]) -> list[Block]:
    """The edits as a Pipeline's text, and Python that makes the same."""
    pipeline = fused.program.made
    return [
        words("The passes and edits as a Pipeline:" if pipeline else "No passes and no edits.", "small"),
        *([code(pipeline, "pipeline")] if pipeline else []),
        code(python(before, edits, fused, selection, pipeline), "python"),
    ]


def python(before: str, edits: Sequence[str], fused: Fused, selection: Sequence[int], pipeline: str) -> str:
    """Python for the view as it stands, and for the same without a page."""
    changed = fused.settings.changed
    more = [f", before={before!r}"] if before else []
    more += [f", edits={list(edits)!r}"] if edits else []
    more += [f", settings={changed!r}"] if changed else []
    more += [f", selection={list(selection)!r}"] if 0 < len(selection) <= 20 else []
    options = "".join(f", {name}={value!r}" for name, value in changed.items())
    given = "w.graph()" if not pipeline else f"wb.trace(w, {pipeline!r}).end.graph"
    pair = f"print(report.why({', '.join(map(str, selection))}))\n" if 0 < len(selection) < 3 else ""
    return (
        "import workbench as wb\n\nw = wb.load(module, params)\n"
        f"view = wb.FusionInspector(w{''.join(more)})\n\n"
        f"report = wb.explain_fusion({given}{options})\n"
        f"assert len(report.kernels) == {fused.kernels}\n{pair}"
    )
