"""What a FusionInspector holds: its traits, and what may be assigned to them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import traitlets

from workbench.errors import WorkbenchError
from workbench.widgets.base import Shown
from workbench.widgets.fusion.program import Fused, Settings, Source
from workbench.widgets.fusion.tabs import Filter
from workbench.widgets.graph.traits import known
from workbench.widgets.inspector import Inspector

TABS = ("", "edits", "branches", "chains", "player", "code")


class FusionTraits(Inspector):
    """The traits, which are the whole contract with the page."""

    _view = traitlets.Unicode("fusion").tag(sync=True)
    before = traitlets.Unicode("").tag(sync=True)
    edits = traitlets.List(traitlets.Unicode()).tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)
    region = traitlets.Int(-1).tag(sync=True)
    outward = traitlets.Int(0, min=0).tag(sync=True)
    tab = traitlets.Enum(TABS, default_value="").tag(sync=True)
    min_branches = traitlets.Int(2, min=2).tag(sync=True)
    frame = traitlets.Int(0, min=0).tag(sync=True)
    frame_filter = traitlets.Dict().tag(sync=True)
    saved_traits = (
        *("graph", "selection", "collapsed", "before", "edits", "settings", "region", "outward", "tab"),
        *("panels", "marks", *Inspector.shown_traits),
    )
    _source: Source
    _fused: Fused | None = None

    @property
    def fused(self) -> Fused:
        """What is shown: the program with its edits, under the settings."""
        assert self._fused is not None
        return self._fused

    # -- what may be assigned

    @traitlets.validate("region")
    def _known_region(self, proposal: dict[str, Any]) -> int:
        node = proposal["value"]
        if node >= 0 and self._fused is not None:
            known([node], len(self.fused.graph.nodes), "node")
            if not self.fused.nest(node):
                raise WorkbenchError(f"what uses node {node} never meets again, so no region begins there")
        return max(node, -1)

    @traitlets.validate("settings")
    def _known_settings(self, proposal: dict[str, Any]) -> dict[str, Any]:
        return asdict(Settings.of(proposal["value"]))

    @traitlets.validate("edits", "before")
    def _known_passes(self, proposal: dict[str, Any]) -> Any:
        value = proposal["value"]
        if proposal["trait"].name == "edits":
            self._source.made(self.before, value)
        else:
            self._source.made(value, ())
        return value

    @traitlets.validate("frame_filter")
    def _known_filter(self, proposal: dict[str, Any]) -> dict[str, Any]:
        unknown = [name for name in proposal["value"] if name not in Filter.__dataclass_fields__]
        if unknown:
            raise WorkbenchError(
                f"frames are not filtered by {unknown[0]!r}, but by {', '.join(Filter.__dataclass_fields__)}"
            )
        return dict(proposal["value"])

    # -- what lasts

    def _shown_graphs(self) -> Shown | None:
        return None if self._fused is None else (self.fused.drawn,)
