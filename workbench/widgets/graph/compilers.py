"""The kernels of two builds of one model side by side, with a line for each difference."""

from __future__ import annotations

from collections.abc import Iterable

import traitlets

from workbench.analysis.alignment import Alignment
from workbench.analysis.kernel_graphs import kernel_graphs
from workbench.graph.model import Graph
from workbench.widgets.base import SAVED, Shown, View, json_trait
from workbench.widgets.blocks import Block, row, sendable, shortened
from workbench.widgets.graph.compare import MODES, show_message
from workbench.widgets.graph.ids import CollapsedSides, SideIds
from workbench.widgets.page_types import OverlayState
from workbench.wording import counted
from workbench.widgets.payload import DiffPayload, GraphPayload, encode_pair


class CompilerView(View):
    _view = traitlets.Unicode("compilers").tag(**SAVED)
    before = json_trait(GraphPayload)
    after = json_trait(GraphPayload)
    diff = json_trait(DiffPayload)
    blocks = json_trait(list[Block], "the differences as a table")
    titles = traitlets.List(traitlets.Unicode(), default_value=["left","right"], minlen=2, maxlen=2).tag(**SAVED)
    selection = SideIds().tag(**SAVED)
    hovered = SideIds().tag(sync=True)
    collapsed = CollapsedSides().tag(**SAVED)
    mode = traitlets.Enum(MODES, default_value="split").tag(**SAVED)
    hops = traitlets.Int(1, min=0, help="steps around a change that `changed` mode shows").tag(**SAVED)
    overlay_state = json_trait(OverlayState, "values by node, those of the right side in `after`")

    def __init__(self, alignment, titles, **traits: object) -> None:
        self.drawn_kernels = kernel_graphs(alignment)
        k = self.drawn_kernels
        self.changes = k.changes
        _, pair = encode_pair(k.left, k.right, k.changes)
        lines = []
        for group, (l, r) in zip(alignment.groups, k.groups, strict=True):
            if group.kind == "one to one": continue
            lines.append(row(short_names(group.both or group.apart) + ": " + ", ".join(f"{counted(len(ids), 'kernel')} in {title}" for ids, title in zip((l,r),titles)), click=("kernels", f"{','.join(map(str,l))}|{','.join(map(str,r))}"), small=" | ".join(", ".join(g.nodes[i].op for i in ids) for g,ids in ((k.left,l),(k.right,r)))))
        lines = shortened(lines, "differences")
        super().__init__(titles=list(titles), blocks=sendable(lines), **pair, **traits)

    def shown_graphs(self) -> Shown:
        k = self.drawn_kernels
        return (k.left, k.right, k.changes)


def short_names(names):
    from os.path import commonprefix
    from workbench.graph.scopes import modules
    parts = [modules(n) for n in names]
    around = commonprefix([p[:-1] for p in parts])
    inner = [".".join(p[len(around):]) for p in parts]
    shown = ", ".join(inner[:4]) + (f" and {len(inner)-4} more" if len(inner) > 4 else "")
    return f"{'.'.join(around)}: {shown}" if around else shown
