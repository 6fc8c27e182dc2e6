"""The card beside the graph: the reasons for kernel boundaries and a kernel's size, and the legal edits.

Plain words come first, then TVM's terms in small type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from workbench.analysis import legality
from workbench.analysis.fusion.boundaries import boundaries
from workbench.analysis.fusion.report import as_test
from workbench.analysis.fusion.what_if import Change
from workbench.analysis.regions import Region
from workbench.dialects.registry import explain_kind
from workbench.errors import WorkbenchError
from workbench.pipeline.fusion_edits import force_step, outline_step
from workbench.pipeline.spec import PassStep
from workbench.widgets.blocks import Block, Line, action, code, heading, row, shortened, words
from workbench.widgets.fusion.program import Fused
from workbench.widgets.fusion.tabs import PageState
from workbench.widgets.fusion.wording import joined, path, plainly, tested
from workbench.wording import counted

MOST_CARD_ROWS = 12
"rows that a card shows of a list"


def card(page: PageState, changes: Sequence[Change] | None = ()) -> list[Block]:
    """Return the blocks about the shaded region and the selection; `changes` is None while they are computed."""
    region = page.shaded
    made = (
        [] if region is None else region_card(page.fused, region, outermost=region == page.fused.nest(page.region)[-1])
    )
    return [*made, *_selected(page.fused, page.selection, changes)]


def _selected(fused: Fused, chosen: Sequence[int], changes: Sequence[Change] | None) -> list[Block]:
    if fused.report.failure:
        made = [words("The pass fails on this graph.", "strong"), words(fused.report.failure, name="failure")]
        if "SimplifyInference" in fused.report.failure and fused.program.workload is not None:
            made.append(action("Run SimplifyInference first", "before", arg="SimplifyInference"))
        return made
    chosen = [n for n in chosen if fused.graph.nodes[n].kind not in ("function", "global", "shape")]
    if not chosen:
        return _nothing(fused)
    roots = {fused.report.group_of(n).root for n in chosen}
    if len(roots) == 1:
        shown = _joined(fused, *chosen) if len(chosen) == 2 else _kernel(fused, chosen[0])
        return [*shown, *actions(fused, chosen)]
    if len(chosen) == 2:
        return _two(fused, chosen[0], chosen[1], changes)
    return [*_several(fused, chosen, roots), *actions(fused, chosen)]


def _nothing(fused: Fused) -> list[Block]:
    count = len(boundaries(fused.report))
    made = [
        words("Click an edge between two boxes to read why they are two kernels.", "strong"),
        words("Click a box for why it is as large as it is; a node and r for the region that it opens."),
        words(f"{counted(fused.kernels, 'kernel')}, {counted(count, 'edge')} between them.", "small"),
    ]
    if fused.unannotated:
        made.append(words("No kinds are known for the operators yet, so nothing is fused."))
        made.append(
            action("Run LegalizeOps and AnnotateTIROpPattern first", "before", arg="LegalizeOps,AnnotateTIROpPattern")
        )
    return made


def _two(fused: Fused, a: int, b: int, changes: Sequence[Change] | None) -> list[Block]:
    a, b = sorted((a, b))
    inputs, nodes = fused.graph.inputs, fused.graph.nodes
    if any(nodes[s].op == legality.CUT and inputs[s][:1] == (a,) for s in inputs[b]):
        said = f"A cut keeps {legality.describe(fused.graph, a)} and {legality.describe(fused.graph, b)} apart."
        beneath = "It is an annotation.stop_fusion, which FuseOps takes for an opaque operator and then takes out."
        return [words(said, "strong", "why"), words(beneath, "small"), action("Undo", "undo", title="Undo (u)")]
    why = fused.report.why(a, b)
    first, *others = why.decisions or (None,)
    made = [heading("Why are these two kernels?")]
    made.append(words(plainly(first.sentence) if first else why.headline, "strong", "why"))
    if others:
        made += [words(plainly(d.sentence)) for d in others[:3] if d]
        made.append(words(f"{len(why.decisions)} boundaries are between the two.", "small"))
    if first is not None:
        made += [*path(fused, first), words(tested(first), "small", "test")]
    made += _would(fused, changes)
    return [*made, *actions(fused, [a, b])]


def _would(fused: Fused, changes: Sequence[Change] | None) -> list[Block]:
    title = heading("They would be one kernel if")
    if changes is None:
        return [title, words("trying …", "small")]
    if not changes:
        return [words("No single change that was tried makes them one kernel.", "small", "changes")]
    offered: list[Line] = []
    for change in changes:
        nodes = [n for n in (change.node, change.value if change.kind in ("copy", "shape") else None) if n is not None]
        doable = change.kind in ("opt_level", "max_depth", "max_function_args") or (
            change.kind == "cut" and fused.program.workload is not None
        )
        value = change.node if change.kind == "cut" else change.value
        offered.append(
            row(
                change.sentence,
                nodes,
                sign="→",
                click=("change", f"{change.kind}={value}") if doable else ("", ""),
            )
        )
    return [title, *shortened(offered, "changes", 4)]


def _joined(fused: Fused, a: int, b: int) -> list[Block]:
    merges = [(d, {n for n, _ in d.path}) for d in fused.report.why(a).decisions if d.fused]
    # the merge that held both, else the one that brought in the first
    decision = next((d for d, on in merges if {a, b} <= on), None) or next(
        (d for d, on in merges if min(a, b) in on), None
    )
    if decision is None:
        return _kernel(fused, a)
    return [
        heading("Why are these one kernel?"),
        words(plainly(decision.sentence), "strong", "why"),
        *path(fused, decision),
        words(tested(decision), "small", "test"),
        words(fused.report.why(a).headline, "small"),
        test_code(fused, as_test(fused.report, a)),
    ]


def _kernel(fused: Fused, node: int) -> list[Block]:
    why, group = fused.report.why(node), fused.report.group_of(node)
    if not group.is_kernel:
        return [heading(fused.graph.nodes[node].op[:80] or "node"), words(why.headline, name="why")]
    made = [heading("Why is this kernel as large as it is?"), words(why.headline, "strong", "why")]
    ends = [d for d in why.decisions if not d.fused]
    joined = [d for d in why.decisions if d.fused]
    if ends:
        made += [words(plainly(ends[-1].sentence), name="end"), words(tested(ends[-1]), "small", "test")]
    if joined:
        made.append(heading("What joined"))
        lines = []
        for d in joined:
            ops = [fused.graph.nodes[n].op for n in (d.node, d.dominator) if n is not None]
            lines.append(row(" → ".join(ops), [n for n, _ in d.path], small=f"phase {d.phase}"))
        made += shortened(lines, "joined", MOST_CARD_ROWS)
    workload = fused.program.workload
    if workload is not None and workload.dialect == "relax" and fused.graph.nodes[node].kind == "op":
        # the access in the kernel's body that decides its kind
        with suppress(WorkbenchError):
            made += [heading("Its kind"), words(explain_kind(workload, node).sentence, "small", "kind")]
    return [*made, heading("As a test"), test_code(fused, as_test(fused.report, node))]


def _several(fused: Fused, chosen: Sequence[int], roots: set[int]) -> list[Block]:
    groups = [fused.report.group_of(root) for root in sorted(roots)]
    kernels = [group for group in groups if group.is_kernel]
    listed = shortened([row(joined(g.ops), g.nodes) for g in kernels], "kernels", MOST_CARD_ROWS)
    said = f"{counted(len(chosen), 'node')} in {counted(len(kernels), 'kernel')}."
    return [
        words(said, "strong", "why"),
        *listed,
        test_code(fused, f"wb.assert_kernels(w, at_most={fused.kernels})"),
    ]


def region_card(fused: Fused, region: Region, *, outermost: bool) -> list[Block]:
    """Return the blocks about the shaded region: its nodes, and the values that enter it other than by its entry."""
    nodes, named = fused.graph.nodes, legality.describe
    entering = {e.source: e for e in region.inputs}
    kernels = len({fused.report.group_of(n).root for n in region.nodes if fused.report.group_of(n).is_kernel})
    made = [
        heading("The region"),
        words(
            f"From {named(fused.graph, region.entry)} to {named(fused.graph, region.exit)}: every path from the first one leads to the second.",
            "strong",
            "region",
        ),
        words(
            f"{counted(sum(nodes[n].kind == 'op' for n in region.nodes), 'operator')} in {counted(kernels, 'kernel')}."
        ),
    ]
    if entering:
        made.append(
            words(
                f"{len(entering)} values enter it from outside:"
                if len(entering) > 1
                else "One value enters it from outside:"
            )
        )
        lines = [
            row(
                named(fused.graph, e.source),
                [e.source, e.target],
                sign="→",
                small=f"into {named(fused.graph, e.target)}",
            )
            for e in entering.values()
        ]
        made += shortened(lines, "entering", MOST_CARD_ROWS)
    else:
        made.append(words("Nothing else enters it: single entry, single exit."))
    made.append(
        action(
            "Step outward",
            "outward",
            title="The region around this one (R)",
            off="no region is around this one" if outermost else "",
        )
    )
    return [*made, action("Select it", "select_region"), action("Close", "unregion", title="Take the shading away")]


def test_code(fused: Fused, text: str) -> Block:
    """Return an assertion about `w` for the current view, with its passes and settings."""
    if fused.program.made:
        text = text.replace("(w, ", f"(wb.trace(w, {fused.program.made!r}).end.graph, ", 1)
    options = "".join(f", {name}={value!r}" for name, value in fused.settings.changed.items())
    return code(f"{text.removesuffix(')')}{options})", "test-code")


def actions(fused: Fused, chosen: Sequence[int]) -> list[Block]:
    """Return the actions for a selection, each legal or with the reason why not."""
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
    """Return the cut that the page offers: only inside a kernel, since elsewhere it would have no effect."""
    step = fused.cut_step(chosen)
    if len({fused.report.group_of(n).root for n in chosen}) == 2:
        raise legality.IllegalEdit("they are two kernels already; cut an edge inside a box")
    return step


def why_not(make: Callable[[], object]) -> str:
    """Return the reason against an edit; empty if it is legal."""
    try:
        make()
    except WorkbenchError as refused:
        return str(refused)
    return ""
