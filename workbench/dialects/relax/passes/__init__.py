"""Our passes for Relax. Each is a TVM Pass: it runs in a Pipeline, by name or as an object, and in TVM's own Sequential.

Importing this module needs TVM; `workbench.dialects.relax.passes.catalog` lists them with TVM's.
"""

from __future__ import annotations

import tvm_ffi

from workbench.analysis.legality import IllegalEdit
from workbench.dialects.relax.passes.combine import CombineParallelConv2D
from workbench.dialects.relax.passes.cut import CutFusion
from workbench.dialects.relax.passes.force import ForceFusion
from workbench.dialects.relax.passes.outline import OutlineRegion
from workbench.errors import PipelineError

# TVM calls a pass, and keeps only the errors that it knows; others come back as a RuntimeError.
for error in (IllegalEdit, PipelineError):
    tvm_ffi.register_error(error.__name__, error)

OURS = (CombineParallelConv2D, CutFusion, ForceFusion, OutlineRegion)
"the passes, in alphabetical order"

__all__ = ["OURS", *(made.__name__ for made in OURS)]  # pyright: ignore[reportUnsupportedDunderAll]  one list, OURS
