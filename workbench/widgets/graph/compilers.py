"""The kernels of one model in both compilers side by side, and a line for each difference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import traitlets

from workbench.analysis.alignment import ONE, Alignment, KernelGraphs, kernel_graphs
from workbench.debugging.compilers.result import CompilerComparison, CompilerPair, Difference, plain
from workbench.errors import WorkbenchError
from workbench.graph.scopes import common_path, modules
from workbench.measurement.overlay import Overlay
from workbench.terminal import visible
from workbench.widgets.base import SAVED, Shown, View, json_trait
from workbench.widgets.blocks import Block, Line, row, sendable, shortened, words
from workbench.widgets.graph.compare import MODES
from workbench.widgets.graph.ids import CollapsedSides, SideIds
from workbench.widgets.page_types import OverlayState, overlay_state, show_message
from workbench.widgets.payload import DiffPayload, GraphPayload, encode_pair
from workbench.wording import counted, duration, size

_NODE = re.compile(r" \(node \d+\)")
"the number of a node before FuseOps, which is not on the page"
MOST_NAMES = 4
"names of the model's nodes, and of kernels, in a line"


class CompilerView(View):
    """A view of the kernels of one model in two compilers, with those at one height that compute the same nodes of the model.

    Beneath the graphs is a line for each difference; a click shows its kernels. Colours are the kernels' own times, if they were
    measured. Every parameter but the first two is a trait: it can be set later, and clicks change it.

    Parameters
    ----------
    comparison
        The result of `wb.compare_compilers`.
    target
        One of its targets; the first by default.
    mode, hops
        As in CompareView: "changed" shows only the differences, with `hops` steps around them.
    selection, hovered, collapsed
        As in CompareView: ids of kernels of each side, `{"before": [3], "after": [2]}`. `view.kernels` has the two graphs.
    viewport, direction, show_constants, show_tuples, show_lowering, edges_by_dtype, legend, muted, height
        As in CompareView.

    Raises
    ------
    WorkbenchError
        A compiler has no kernels; the message has its reason.

    Examples
    --------
    >>> found = wb.compare_compilers("model.onnx")      # doctest: +SKIP
    >>> wb.CompilerView(found).save("compilers.html")      # doctest: +SKIP
    """

    _view = traitlets.Unicode("compilers").tag(**SAVED)
    before = json_trait(GraphPayload)
    after = json_trait(GraphPayload)
    diff = json_trait(DiffPayload)
    blocks = json_trait(list[Block], "the pair in words, and a line for each difference")
    titles = traitlets.List(traitlets.Unicode(), minlen=2, maxlen=2).tag(**SAVED)
    selection = SideIds().tag(**SAVED)
    hovered = SideIds().tag(sync=True)
    collapsed = CollapsedSides().tag(**SAVED)
    mode = traitlets.Enum(MODES, default_value="split").tag(**SAVED)
    hops = traitlets.Int(1, min=0, help="steps around a difference that `changed` mode shows").tag(**SAVED)
    overlay_state = json_trait(OverlayState, "times by kernel, those of the right side in `after`")

    def __init__(
        self, comparison: CompilerComparison | CompilerPair, target: str | None = None, **traits: object
    ) -> None:
        self.pair = _pair(comparison, target)
        "both halves"
        alignment = self.pair.alignment
        if alignment is None:
            reasons = "; ".join(str(side) for side in self.pair.sides if side.optimized is None)
            raise WorkbenchError(f"there are no kernels to compare: {visible(reasons)}")
        self.kernels = kernel_graphs(alignment)
        "the graphs of kernels"
        _, encoded = encode_pair(self.kernels.left, self.kernels.right, self.kernels.changes)
        # one kernel on each side, or none, is not listed
        alone = [each.relation == ONE and len(each.left) == len(each.right) == 1 for each in self.pair.rows]
        listed = [
            each for each, alike in zip(self.pair.rows, alone, strict=True) if not alike and (each.left or each.right)
        ]
        lines = [self._line(each) for each in listed]
        wrong = [str(check) for check in self.pair.checks if not check.same]
        race = f"not raced: {self.pair.unraced}" if self.pair.race is None else str(self.pair.race)
        said = [*wrong, *([self.pair.part] if self.pair.part else []), race]
        head = [words(text, "strong") for text in said]
        head += [words(f"{side}. Pipeline: {side.pipeline}.", "small") for side in self.pair.sides]
        super().__init__(
            titles=[side.title for side in self.pair.sides],
            blocks=sendable([*head, *shortened(lines, "differences")]),
            overlay_state=_times(self.pair, alignment, self.kernels),
            **{**encoded, **traits},
        )

    def show(self, nodes: Iterable[int], side: str = "after") -> None:
        """Bring kernels of one side into view, opening the groups they are in; the sides are "before" and "after"."""
        self.send(show_message(nodes, side))

    def shown_graphs(self) -> Shown:
        return (self.kernels.left, self.kernels.right, self.kernels.changes)

    def _line(self, found: Difference) -> Line:
        titles = [side.title for side in self.pair.sides]
        nodes = [[self.kernels.nodes[at][place] for place in places] for at, places in enumerate(found.kernels)]
        kernels = [list(map(plain, names)) for names in (found.left, found.right)]
        each = list(zip(titles, kernels, strict=True))
        counts = ", ".join(f"{counted(len(names), 'kernel')} in {title}" for title, names in each)
        named = [f"{title}: {_shortened(names)}" for title, names in each if names]
        parts = [f"{_shared_path(found.sources) or 'no node of the model'}: {counts}", _more(found, titles)]
        line = row(
            "; ".join(filter(None, parts)),
            nodes[0],
            small=". ".join(filter(None, [*named, _NODE.sub("", found.why)])),
        )
        return {**line, "after": nodes[1]}


def _pair(comparison: CompilerComparison | CompilerPair, target: str | None) -> CompilerPair:
    if isinstance(comparison, CompilerPair):
        return comparison
    if not isinstance(comparison, CompilerComparison):
        raise WorkbenchError(
            f"CompilerView takes a comparison, not {type(comparison).__name__}: wb.CompilerView(wb.compare_compilers(model))"
        )
    return comparison.pairs[0] if target is None else comparison[target]


def _times(pair: CompilerPair, alignment: Alignment, shown: KernelGraphs) -> OverlayState:
    sides = []
    for side, units, nodes in zip(
        pair.sides, (alignment.left.kernels, alignment.right.kernels), shown.nodes, strict=True
    ):
        assert side.kernels is not None
        calls = {tuple(call["nodes"]): call["index"] for call in side.kernels.rows}
        found = {id: side.kernel_us.get(calls.get(units[place].nodes, -1)) for place, id in nodes.items()}
        sides.append(Overlay("time by itself", "µs", {id: us for id, us in found.items() if us is not None}))
    return overlay_state(*sides)


def _more(found: Difference, titles: Sequence[str]) -> str:
    """Return the difference in time, or else in bytes, in words; empty if there is none."""
    lost, read = found.us_lost, found.bytes_right - found.bytes_left
    if lost is not None:
        return f"{titles[lost > 0]} {duration(abs(lost))} more, each kernel by itself" if lost else ""
    return f"{titles[read > 0]} {size(abs(read))} more read and written" if read else ""


def _shared_path(names: Sequence[str]) -> str:
    """Return names of a model's nodes with their common path once.

    >>> _shared_path(["layer.0.q.MatMul", "layer.0.q.Add", "layer.0.Reshape"])
    'layer.0: q.MatMul, q.Add, Reshape'
    """
    paths = [modules(name) for name in names]
    around = common_path(path[:-1] for path in paths)
    inner = _shortened([".".join(path[len(around) :]) for path in paths])
    return f"{'.'.join(around)}: {inner}" if around else inner


def _shortened(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
