"""Layer 4: one function a plot, `(DataFrame, ax=None) -> Axes`. No global state is touched when an Axes is given."""

from workbench.plots.counts import kernel_count
from workbench.plots.times import runtime

__all__ = ["kernel_count", "runtime"]
