"""Layer 4: one function a plot, `(DataFrame, ax=None) -> Axes`. No global state is touched when an Axes is given."""
