"""Our passes for Relay. Each is a TVM Pass: it runs in a Pipeline, by name or as an object, and in TVM's own Sequential.

Importing this module needs TVM; `workbench.dialects.relay.passes.catalog` lists them with TVM's.
"""

from __future__ import annotations

from workbench.dialects.relay.passes.combine import CombineParallelOps
from workbench.dialects.relay.passes.cut import CutFusion
from workbench.dialects.relay.passes.force import ForceFusion
from workbench.dialects.relay.passes.merge import MergeIdenticalKernels
from workbench.dialects.relay.passes.outline import OutlineRegion

OURS = (CombineParallelOps, CutFusion, ForceFusion, MergeIdenticalKernels, OutlineRegion)
"the passes, in alphabetical order"

__all__ = ["OURS", *(made.__name__ for made in OURS)]  # pyright: ignore[reportUnsupportedDunderAll]  one list, OURS
