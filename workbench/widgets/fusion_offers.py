"""What may be done with a selection: each offer legal, or with the reason why not."""

from collections.abc import Callable, Sequence
from typing import Any

from workbench.analysis import legality
from workbench.errors import WorkbenchError
from workbench.pipeline.edits import force_step, outline_step
from workbench.pipeline.spec import PassStep
from workbench.widgets.blocks import Block, action, code, heading, words
from workbench.widgets.fusion_bench import Fused


def test_code(fused: Fused, text: str) -> Block:
    """An assertion about `w`, written about what is shown: with the passes and the settings that made it."""
    if fused.program.made:
        text = text.replace("(w, ", f"(wb.trace(w, {fused.program.made!r}).end.graph, ", 1)
    options = "".join(f", {name}={value!r}" for name, value in fused.settings.changed.items())
    return code(f"{text.removesuffix(')')}{options})", "test-code")


def actions(fused: Fused, chosen: Sequence[int]) -> list[Block]:
    """What may be done with a selection: each legal, or with the reason why not."""
    if fused.program.workload is None:
        return [words("A graph alone cannot be changed; give the inspector the workload.", "small")]
    made = [heading("What if")]
    if len(chosen) == 2:
        refused = why_not(lambda: cut_step(fused, chosen))
        made.append(action("Cut", "cut", title="Keep the two ends apart (x)", off=refused))
    if len(chosen) > 1 or fused.report.group_of(chosen[0]).is_kernel:
        refused = why_not(lambda: force_step(fused.graph, chosen))
        made.append(action("Make it one kernel", "force", title="Force these nodes into one kernel", off=refused))
        also = why_not(lambda: outline_step(fused.graph, chosen, "region"))
        refused = "for the same reason" if also and also == refused else also
        made.append(
            action(
                "Outline as", "outline", title="Put these nodes into a composite function", off=refused, field="region"
            )
        )
    if len(chosen) == 1:
        opens = fused.regions.of(chosen[0]) is not None
        off = "" if opens else f"what uses {legality.describe(fused.graph, chosen[0])} never meets again"
        made.append(action("Shade its region", "region", title="From here to where all its uses meet (r)", off=off))
    return made if len(made) > 1 else []


def cut_step(fused: Fused, chosen: Sequence[int]) -> PassStep:
    """The cut that the page offers: only inside a kernel, since elsewhere it would change nothing here.

    Raises
    ------
    WorkbenchError
        There is nothing to cut, with the reason.
    """
    step = fused.cut_step(chosen)
    if len({fused.report.group_of(n).root for n in chosen}) == 2:
        raise legality.IllegalEdit("they are two kernels already; cut an edge inside a box")
    return step


def why_not(make: Callable[[], Any]) -> str:
    """What stands against an edit; empty if it is legal."""
    try:
        make()
    except WorkbenchError as refused:
        return str(refused)
    return ""
