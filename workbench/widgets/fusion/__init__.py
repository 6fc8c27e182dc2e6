"""FusionInspector: the kernels FuseOps makes of a program, the reason for each boundary, and edits of them."""
