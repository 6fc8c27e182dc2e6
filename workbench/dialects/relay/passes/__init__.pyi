"""Our passes and their modules: the one list of them."""

from workbench.dialects.relay.passes.combine import CombineParallelOps as CombineParallelOps
from workbench.dialects.relay.passes.cut import CutFusion as CutFusion
from workbench.dialects.relay.passes.extract import ExtractRegion as ExtractRegion
from workbench.dialects.relay.passes.fill import FillConstants as FillConstants
from workbench.dialects.relay.passes.force import ForceFusion as ForceFusion
from workbench.dialects.relay.passes.inline import InlineFunctions as InlineFunctions
from workbench.dialects.relay.passes.keep import KeepOperators as KeepOperators
from workbench.dialects.relay.passes.merge import MergeIdenticalKernels as MergeIdenticalKernels
from workbench.dialects.relay.passes.outline import OutlineRegion as OutlineRegion
from workbench.dialects.relay.passes.replace import ReplaceValues as ReplaceValues
from workbench.dialects.relay.passes.resize import ResizeDimensions as ResizeDimensions
from workbench.dialects.relay.passes.retype import ChangeDtype as ChangeDtype

OURS: dict[str, str]
