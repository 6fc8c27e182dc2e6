"""Our passes and their modules: the one list of them."""

from workbench.dialects.relay.passes.combine import CombineParallelOps as CombineParallelOps
from workbench.dialects.relay.passes.cut import CutFusion as CutFusion
from workbench.dialects.relay.passes.force import ForceFusion as ForceFusion
from workbench.dialects.relay.passes.merge import MergeIdenticalKernels as MergeIdenticalKernels
from workbench.dialects.relay.passes.outline import OutlineRegion as OutlineRegion

OURS: dict[str, str]
