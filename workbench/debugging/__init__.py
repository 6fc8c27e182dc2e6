"""Find the cause of a wrong, slow or large build, beyond the searches over variants of `experiments/`.

`kernel_errors/` finds the kernel with an error of its own, `compilers/` compares two builds of a model kernel by kernel, `remarks/` has each
decision of the passes as a record, `lints/` the costs that a few passes remove.
"""
