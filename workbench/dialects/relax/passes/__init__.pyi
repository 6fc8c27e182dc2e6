"""Our passes and their modules: the one list of them."""

from workbench.dialects.relax.passes.combine import CombineParallelConv2D as CombineParallelConv2D
from workbench.dialects.relax.passes.cut import CutFusion as CutFusion
from workbench.dialects.relax.passes.extract import ExtractRegion as ExtractRegion
from workbench.dialects.relax.passes.fill import FillConstants as FillConstants
from workbench.dialects.relax.passes.force import ForceFusion as ForceFusion
from workbench.dialects.relax.passes.inline import InlineFunctions as InlineFunctions
from workbench.dialects.relax.passes.keep import KeepOperators as KeepOperators
from workbench.dialects.relax.passes.outline import OutlineRegion as OutlineRegion
from workbench.dialects.relax.passes.replace import ReplaceValues as ReplaceValues
from workbench.dialects.relax.passes.resize import ResizeDimensions as ResizeDimensions
from workbench.dialects.relax.passes.retype import ChangeDtype as ChangeDtype

OURS: dict[str, str]
