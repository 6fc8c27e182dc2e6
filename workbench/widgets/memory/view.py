"""The view of a memory plan, or of two on one scale."""

from __future__ import annotations

import html
import io
import warnings
from collections.abc import Sequence
from pathlib import Path

import traitlets

from workbench.errors import UnknownKeyword, WorkbenchError
from workbench.measurement.memory.plan import MemoryPlan, compared, finding, rows_of
from workbench.widgets import page_types
from workbench.widgets.base import SAVED, TextView, json_trait, page, save_as, saved_traits
from workbench.widgets.blocks import Block, row, rows, sendable
from workbench.widgets.graph.ids import Sides, known, sides_of
from workbench.widgets.memory.payload import PlanPayload, encode_plan
from workbench.widgets.page_types import SIDES, StepWindow
from workbench.widgets.still import AGAIN, LIVE
from workbench.wording import counted, size

MOST = 200
"tensors of a list; the smaller ones are counted"


class PlanNodes(traitlets.TraitType["list[int] | Sides", "list[int] | Sides"]):
    """Ids of nodes of a plan's graph; of the graphs of two plans by side."""

    page_type = list[int] | page_types.Sides
    info_text = "a list of ids; for two plans a dict with lists of ids for 'before' and 'after'"

    def validate(self, obj: MemoryView, value: object) -> list[int] | Sides:
        if len(obj.shown) == 1:
            if not isinstance(value, (list, tuple)) or any(type(id) is not int for id in value):
                self.error(obj, value)
            return known(list(value), len(obj.shown[0].graph.nodes), "node")
        if not isinstance(value, dict):
            self.error(obj, value)
        return sides_of(str(self.name), value)


class MemoryView(TextView):
    """A view of a memory plan: kernels on x, storages on y, tensors as blocks, live bytes above; or two plans.

    A click on a block selects the nodes of its tensor, and a click on the curve those of the kernel. The trait `selection` is as that
    of a GraphView of `plan.graph`, and of a CompareView for two plans: `ipywidgets.link` connects them.

    Parameters
    ----------
    plan
        The result of `wb.memory`.
    after
        Another plan, to show beside the first on one scale.
    titles
        The titles of the two.
    selection
        Ids of nodes of `plan.graph`; for two plans `{"before": [3], "after": [2]}`.
    viewport
        `{"start": 0, "end": 20, "top": 0}`: the steps between which the view shows, and the pixels above the first row that it
        leaves out. Empty: all.
    height
        In CSS pixels.

    Raises
    ------
    WorkbenchError
        A node does not exist.

    Examples
    --------
    >>> plan = wb.memory(wb.samples.load("parallel_cast"))
    >>> view = wb.MemoryView(plan)
    >>> view.selection = list(plan.steps[0].nodes)
    """

    _view = traitlets.Unicode("memory").tag(**SAVED)
    plans = json_trait(list[PlanPayload], "one plan or two")
    blocks = json_trait(list[Block], "the largest tensors of each plan as a list")
    headline = traitlets.Unicode(help="the sizes, and what the plans do not show").tag(**SAVED)
    selection = PlanNodes().tag(**SAVED)
    viewport = json_trait(StepWindow, "the steps that are shown, and the rows; empty: all")
    height = traitlets.Int(420, min=160, help="height in CSS pixels").tag(**SAVED)

    def __init__(
        self,
        plan: MemoryPlan,
        after: MemoryPlan | None = None,
        *,
        titles: Sequence[str] = SIDES,
        **traits: object,
    ) -> None:
        known_names = [name for name in self.trait_names() if not name.startswith("_")]
        UnknownKeyword.refuse("MemoryView", (name for name in traits if not self.has_trait(name)), known_names)
        for each in (plan,) if after is None else (plan, after):
            if not isinstance(each, MemoryPlan):
                raise WorkbenchError(
                    f"MemoryView takes a memory plan, not {type(each).__name__}: wb.MemoryView(wb.memory(workload))"
                )
        self.shown = (plan,) if after is None else (plan, after)
        "the plans"
        named = [""] if after is None else [str(title) for title in titles]
        if len(named) != len(self.shown):
            raise WorkbenchError(f"two plans have two titles, not {len(named)}")
        sizes = finding(plan) if after is None else compared(self.shown, named)
        super().__init__(
            plans=[encode_plan(each, title) for each, title in zip(self.shown, named, strict=True)],
            blocks=sendable([_tensor_list(each) for each in self.shown]),
            headline=" ".join(dict.fromkeys([sizes, *(note for each in self.shown for note in each.notes)])),
            **{"selection": [] if after is None else {}, **traits},
        )

    def save(self, path: str | Path) -> Path:
        """Save the view in one file.

        Parameters
        ----------
        path
            `.html` opens from disk with no network, and zooms and selects as here. `.svg`, `.pdf` and `.png` are the plot of
            `wb.plots.memory`, to scale.

        Returns
        -------
        Path
            The written file.

        Raises
        ------
        WorkbenchError
            Another suffix, a path that cannot be written, or no matplotlib.
        """
        title = f"Memory of {self.shown[-1].graph.name[:80] or 'graph'} - tvm-workbench"
        return save_as(
            path, lambda suffix: page(saved_traits(self), title) if suffix == ".html" else self._plot(suffix[1:])
        )

    def _plot(self, kind: str) -> bytes:
        from workbench.plots.memory import memory_figure

        out = io.BytesIO()
        with warnings.catch_warnings():
            # a letter that the font lacks is drawn as a box, so no warning is needed
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            memory_figure(self.shown).savefig(out, format=kind)
        return out.getvalue()

    def _still_words(self, *, drawn: bool) -> str:
        return f"<p>{html.escape(self.headline)} {LIVE if drawn else AGAIN}</p>"


def _tensor_list(plan: MemoryPlan) -> Block:
    """Return the largest tensors of a plan, each with its storage and its life; a click selects its nodes."""
    placed = [(plan.tensors[place], each.label) for each in rows_of(plan) for place in each.tensors]
    placed.sort(key=lambda item: -item[0].bytes)
    lines = []
    for tensor, label in placed[:MOST]:
        life = f"kernels {max(tensor.born, 0)} to {tensor.dies}"
        said = f"{tensor.role}, {size(tensor.bytes)}, {tensor.shape} {tensor.dtype}; {life}; {label}"
        lines.append(row(f"{tensor.name}: {said}", tensor.nodes))
    left_out = len(placed) - MOST
    return rows([*lines, *([row(f"and {counted(left_out, 'smaller tensor')}")] if left_out > 0 else [])], "tensors")
