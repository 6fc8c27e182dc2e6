"""Our passes and their modules: the one list of them."""

from workbench.dialects.edits import ChangeDtype as ChangeDtype
from workbench.dialects.edits import CutFusion as CutFusion
from workbench.dialects.edits import ExtractRegion as ExtractRegion
from workbench.dialects.edits import FillConstants as FillConstants
from workbench.dialects.edits import ForceFusion as ForceFusion
from workbench.dialects.edits import InlineFunctions as InlineFunctions
from workbench.dialects.edits import KeepOperators as KeepOperators
from workbench.dialects.edits import OutlineRegion as OutlineRegion
from workbench.dialects.edits import ReplaceValues as ReplaceValues
from workbench.dialects.edits import ResizeDimensions as ResizeDimensions
from workbench.dialects.relay.passes.combine import CombineParallelOps as CombineParallelOps
from workbench.dialects.relay.passes.merge import MergeIdenticalKernels as MergeIdenticalKernels

OURS: dict[str, str]
