"""Our passes and their modules: the one list of them."""

from workbench.dialects.relax.passes.combine import CombineParallelConv2D as CombineParallelConv2D
from workbench.dialects.relax.passes.cut import CutFusion as CutFusion
from workbench.dialects.relax.passes.force import ForceFusion as ForceFusion
from workbench.dialects.relax.passes.outline import OutlineRegion as OutlineRegion

OURS: dict[str, str]
