"""The tabs beneath the graph, as blocks and as marks on the graph: edits, branches, chains, decisions, code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from workbench.analysis.branches import BranchGroup
from workbench.analysis.branches.report import is_lowered
from workbench.analysis.chains import ConstantChain
from workbench.analysis.fusion.reasons import REASONS, Decision
from workbench.analysis.regions import Region
from workbench.measurement.boundaries.costs import BoundaryCosts
from workbench.plots.configurations import headline
from workbench.plots.rows import failed, failures
from workbench.widgets.blocks import (
    Block,
    action,
    code,
    entry,
    near_misses,
    row,
    rows,
    shortened,
    signed,
    table,
    words,
)
from workbench.widgets.fusion import costs
from workbench.widgets.fusion.program import Fused, Measured
from workbench.widgets.fusion.wording import plainly, tested
from workbench.widgets.page_types import Marks, Sign
from workbench.wording import duration, size

SIGNS = {"near": "?", "hazard": "!"}


@dataclass(frozen=True)
class Filter:
    """A filter of the decisions in the player."""

    reason: str = ""
    "a key of REASONS"
    op: str = ""
    "name of an operator"
    not_fused: bool = False

    def of(self, fused: Fused) -> tuple[Decision, ...]:
        return fused.report.find(self.reason, self.op, False if self.not_fused else None)


@dataclass(frozen=True)
class PageState:
    """The state of the page, from which its blocks and the marks on its graph follow."""

    fused: Fused
    base: Fused
    "without the edits"
    before: str
    edits: tuple[str, ...]
    selection: tuple[int, ...]
    region: int
    outward: int
    tab: str
    min_branches: int
    branch: int
    "the clicked group of branches; -1 for none"
    frame: int
    filter: Filter
    measured: Measured
    costs: BoundaryCosts | None

    @property
    def pair(self) -> bool:
        """Whether two nodes of two kernels are selected."""
        return len(self.selection) == 2 and len({self.fused.report.group_of(n).root for n in self.selection}) == 2

    @property
    def groups(self) -> Sequence[BranchGroup] | Sequence[ConstantChain] | None:
        """The groups of the open tab; None where they are not known yet, and () for a tab without groups."""
        if self.tab == "branches":
            return self.fused.groups.get(self.min_branches)
        return self.fused.__dict__.get("chains") if self.tab == "chains" else ()

    @property
    def clicked(self) -> Sequence[BranchGroup | ConstantChain]:
        return (self.groups or ())[self.branch :][:1] if self.tab == "branches" and self.branch >= 0 else ()

    @cached_property
    def frames(self) -> tuple[Decision, ...]:
        return self.filter.of(self.fused)

    @cached_property
    def shaded(self) -> Region | None:
        nest = self.fused.nest(self.region) if 0 <= self.region < len(self.fused.graph.nodes) else []
        return nest[min(self.outward, len(nest) - 1)] if nest else None


def tab(page: PageState) -> list[Block]:
    """Return the content of the open tab."""
    fused = page.fused
    if page.tab == "branches":
        return branches(fused.branches(page.min_branches), page.min_branches, lowered=is_lowered(fused.graph))
    if page.tab == "chains":
        return chains(fused.chains)
    if page.tab == "costs":
        return costs.blocks(fused, page.costs, page.selection)
    if page.tab == "player":
        return player(fused, page.filter, page.frames, min(page.frame, max(len(page.frames) - 1, 0)))
    if page.tab == "code":
        return code_blocks(page)
    return what_if(fused, page.base, page.measured)


def marks(page: PageState) -> Marks:
    """Return the marks of the open tab and of the shaded region."""
    made: Marks = {}
    if page.tab == "player" and page.frames:
        made = decision_marks(page.fused, page.frames[min(page.frame, len(page.frames) - 1)])
    elif page.tab == "branches":
        made = branch_marks(page.fused.groups.get(page.min_branches, ()))
    elif page.tab == "chains":
        made = chain_marks(page.fused.__dict__.get("chains", ()))
    elif page.tab == "costs":
        made = costs.marks(page.costs)
    if page.shaded is not None:
        made.update({"wash": list(page.shaded.nodes), "entry": page.shaded.entry, "exit": page.shaded.exit})
    return made


def head(fused: Fused, base: Fused, before: str) -> list[Block]:
    """Return the line above the graph: kernels, bytes between them, and the settings of FuseOps."""
    settings, kernels, limit = fused.settings, fused.kernels, fused.settings.max_function_args
    if fused.report.failure:
        facts = [words("FuseOps fails on this graph", "strong", "kernels")]
    else:
        facts = [words(f"{kernels}", "number", "kernels"), words("kernel" if kernels == 1 else "kernels", "unit")]
        facts.append(words(f"{size(fused.handed)} between kernels", "small", "handed"))
    if fused.program.edits and not fused.report.failure and not base.report.failure:
        more = fused.handed - base.handed
        moved = (kernels, fused.handed) != (base.kernels, base.handed)
        change = (
            f"as given {base.kernels} → {kernels}, {signed(more, size(abs(more)))}" if moved else "as given: the same"
        )
        facts.append(words(change, "small", "kernels-change"))
    if before:
        facts.append(words(f"after {before.replace(',', ', ')}", "small", "before"))
        facts.append(action("Raw program", "raw", title="Show the program before these passes"))
    return [
        *facts,
        entry("select", "opt_level", "opt level", settings.opt_level, options=[0, 1, 2, 3]),
        entry("number", "max_depth", "max depth", settings.max_depth, min=0),
        entry("number", "max_function_args", "max args", "" if limit is None else limit, min=0, hint="auto"),
        entry("select", "target", "target", settings.target or "llvm", options=["llvm", "cuda", "opencl", "metal"]),
    ]


def what_if(fused: Fused, base: Fused, measured: Measured) -> list[Block]:
    """Return the current edits, each applied or rejected, and their effect."""
    edits = fused.program.edits
    made = [
        action(
            "Measure",
            "measure",
            title="Build, time and compare the outputs of both, in a process beside this one",
            off=unmeasurable(fused),
        )
    ]
    if not edits:
        hint = "No edits. Click an edge between two nodes of one box and press x, or select nodes and make them one kernel."
        return [*made, words(hint, name="edits"), *_measured(measured)]
    made.append(action("Undo all", "clear"))
    listed = []
    for place, edit in enumerate(edits):
        status = "applied" if edit.applied else f"rejected because {edit.reason}"
        sign, look = ("✓", "added") if edit.applied else ("!", "removed")
        listed.append(row(edit.text, small=status, sign=sign, look=look, drop=str(place)))
    made.append(rows(listed, "edits"))
    line = ("as given", base), ("with the edits", fused)
    facts = [[name, "fails" if f.report.failure else f"{f.kernels}", size(f.handed)] for name, f in line]
    return [*made, table(["", "kernels", "between kernels"], facts, "compared"), *_measured(measured)]


def unmeasurable(fused: Fused) -> str:
    """Return the reason why nothing can be measured here; empty if it can."""
    if fused.program.workload is None:
        return "a graph alone cannot be run; give the inspector the workload"
    return ""


def _measured(measured: Measured) -> list[Block]:
    if not measured.rows:
        return []
    lines = []
    for found in measured.rows:
        if failed(found):
            lines.append([found["config"], f"! {failed(found)}", "", ""])
        else:
            middle, low, high = (duration(found[name]) for name in ("median_us", "q1_us", "q3_us"))
            lines.append([found["config"], f"{found['kernels']}", middle, f"{low} to {high}"])
    return [
        words(headline(measured.rows), "strong", "measured-headline"),
        *(words(each, "bad", "measured-failed") for each in failures(measured.rows)),
        table(["", "kernels built", "median", "quartiles"], lines, "measured"),
        words(measured.outputs, name="outputs"),
    ]


def branches(groups: Sequence[BranchGroup], least: int, *, lowered: bool = False) -> list[Block]:
    """Return the sibling branches that could be merged, nearly could be, or must not be, with the outcomes known so far."""
    made = [entry("range", "min_branches", "at least", least, min=2, max=8, show=f"{least} branches")]
    if lowered:
        made.append(words("Products and convolutions are combined before LegalizeOps: look at the program without it."))
    if not groups:
        return [*made, words("No sibling branches that are equal, can be combined, or nearly can.", name="branches")]
    lines = []
    for place, (group, sign) in enumerate(zip(groups, branch_signs(groups), strict=True)):
        ops = " → ".join(dict.fromkeys(group.graph.nodes[n].op for n in group.branches[0]))
        why = _first([reason.sentence for reason in (*group.hazards, *group.reasons)])
        results = group.results if group.asked else ["click to ask TVM for the outcome"]
        line = row(
            f"{group.headline}: {len(group.branches)} x {ops}",
            [n for branch in group.branches for n in branch],
            small=" · ".join([*filter(None, [*why, *results]), group.passes]),
            sign=sign,
            look={"hazard": "removed", "near": "near"}.get(group.kind, "branch"),
            click=("branch", str(place)),
        )
        lines.append(line)
    near = [
        (g.reasons[0].sentence, line) for g, line in zip(groups, lines, strict=True) if g.kind == "near" and g.reasons
    ]
    others = [line for g, line in zip(groups, lines, strict=True) if g.kind != "near" or not g.reasons]
    return [*made, *shortened([*others, *near_misses(near)], "branches")]


def _first(sentences: Sequence[str]) -> list[str]:
    """Return the first two sentences, and the number of those that are left out."""
    return [*sentences[:2], *([f"and {len(sentences) - 2} more"] if len(sentences) > 2 else [])]


def branch_signs(groups: Sequence[BranchGroup]) -> list[str]:
    """Return the sign of each group: a letter of its own, ? for a near miss, ! for a hazard."""
    letters = (f"{chr(ord('a') + place % 26)}{place // 26 or ''}" for place in count())
    return [SIGNS.get(group.kind) or next(letters) for group in groups]


def chains(found: Sequence[ConstantChain]) -> list[Block]:
    """Return the chains of operators with constants, with the pass that folds each."""
    if not found:
        return [words("No operators with constants follow each other.", name="chains")]
    listed = []
    for chain in found:
        ops = " → ".join(chain.graph.nodes[n].op for n in chain.nodes)
        fold = chain.headline.replace("->", "→") if chain.folds or chain.contradicted else "stays"
        said = [
            f"by {chain.passes}" if chain.passes else "nothing folds it",
            *_first([r.sentence for r in chain.reasons]),
        ]
        said += chain.results if chain.asked else []
        look = "branch" if chain.folds and chain.safe else "removed" if chain.folds else "near"
        sign = "c" if chain.folds and chain.safe else "!" if chain.folds else "?"
        listed.append(row(f"{ops}: {fold}", chain.nodes, small=" · ".join(said), sign=sign, look=look))
    return shortened(listed, "chains")


def player(fused: Fused, shown: Filter, frames: Sequence[Decision], place: int) -> list[Block]:
    """Return the algorithm's decisions one by one."""
    codes = sorted({d.code for d in fused.report.frames})
    ops = sorted({fused.graph.nodes[d.node].op for d in fused.report.frames})
    made = [
        action("◂", "back", title="The decision before (k)", off="" if place > 0 else "this is the first"),
        entry(
            "range",
            "frame",
            "",
            place,
            min=0,
            max=max(len(frames) - 1, 0),
            show=f"{place + 1 if frames else 0} of {len(frames)}",
        ),
        action("▸", "on", title="The next decision (j)", off="" if place + 1 < len(frames) else "this is the last"),
        entry("select", "reason", "", shown.reason, options=[["", "every reason"], *([c, REASONS[c]] for c in codes)]),
        entry("select", "op", "", shown.op, options=[["", "every operator"], *([op, op] for op in ops)]),
        entry("check", "not_fused", "not fused only", shown.not_fused),
    ]
    if not frames:
        return [*made, words("No decision is like that.", name="frame-words")]
    decision = frames[place]
    look = "added" if decision.fused else "removed"
    said = row(
        plainly(decision.sentence), [n for n, _ in decision.path], sign="+" if decision.fused else "!", look=look
    )
    colours = "On the graph: blue is where it looks, from { to }; green is what has been merged by then."
    test = words(tested(decision), "small", "frame-test")
    return [*made, rows([said], "frame-words"), test, words(colours, "small")]


def code_blocks(page: PageState) -> list[Block]:
    """Return the edits as a Pipeline's text, and as Python."""
    pipeline = page.fused.program.made
    return [
        words("The passes and edits as a Pipeline:" if pipeline else "No passes and no edits.", "small"),
        *([code(pipeline, "pipeline")] if pipeline else []),
        code(python(page, pipeline), "python"),
    ]


def python(page: PageState, pipeline: str) -> str:
    """Return Python for the current view, and for the same result without a page."""
    fused, before, edits, selection = page.fused, page.before, page.edits, page.selection
    changed = fused.settings.changed
    more = [f", before={before!r}"] if before or fused.unannotated else []
    more += [f", edits={list(edits)!r}"] if edits else []
    more += [f", settings={changed!r}"] if changed else []
    more += [f", selection={list(selection)!r}"] if 0 < len(selection) <= 20 else []
    options = "".join(f", {name}={value!r}" for name, value in changed.items())
    given = "w.graph" if not pipeline else f"wb.trace(w, {pipeline!r}).end.graph"
    pair = f"print(report.why({', '.join(map(str, selection))}))\n" if 0 < len(selection) < 3 else ""
    return (
        "import workbench as wb\n\nw = wb.load(module, params)\n"
        f"view = wb.FusionInspector(w{''.join(more)})\n\n"
        f"report = wb.explain_fusion({given}{options})\n"
        f"assert len(report.kernels) == {fused.kernels}\n{pair}"
    )


def decision_marks(fused: Fused, frame: Decision) -> Marks:
    """Return the marks of a decision: the nodes it considers, and the nodes that have been merged by then."""
    place = next(i for i, d in enumerate(fused.report.decisions) if d is frame)
    roots = fused.report.roots_after(place + 1)
    held: dict[int, int] = {}
    for root in roots:
        held[root] = held.get(root, 0) + 1
    path = [n for n, _ in frame.path]
    sign, look = ("+", "added") if frame.fused else ("!", "removed")
    return {
        "wash": path,
        "entry": frame.node,
        "exit": -1 if frame.dominator is None else frame.dominator,
        "signs": [(frame.node, sign, look, False)],
        "done": [n for n, root in enumerate(roots) if held[root] > 1],
    }


def branch_marks(groups: Sequence[BranchGroup]) -> Marks:
    """Return the same letter for each branch of a group; a node of several groups has the first one's."""
    signs: dict[int, Sign] = {}
    for group, sign in zip(groups, branch_signs(groups), strict=True):
        look = "removed" if group.kind == "hazard" else "orange"
        for node in (n for branch in group.branches for n in branch):
            signs.setdefault(node, (node, sign, look, group.kind == "near"))
    return {"signs": list(signs.values())}


def chain_marks(found: Sequence[ConstantChain]) -> Marks:
    """Return the marks of the operators of chains, dotted for chains that do not fold."""
    signs: dict[int, Sign] = {}
    for chain in found:
        sign, look = (
            ("c", "orange") if chain.folds and chain.safe else ("!", "removed") if chain.folds else ("?", "orange")
        )
        for node in chain.nodes:
            signs.setdefault(node, (node, sign, look, not chain.folds))
    return {"signs": list(signs.values())}
