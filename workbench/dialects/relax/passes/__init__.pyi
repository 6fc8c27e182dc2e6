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
from workbench.dialects.relax.passes.combine import CombineParallelConv2D as CombineParallelConv2D

OURS: dict[str, str]
