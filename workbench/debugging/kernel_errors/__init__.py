"""`wb.kernel_errors`: each kernel of a build runs on the reference's inputs, so its own error is apart from the inherited one.

`found.py` has the call and its result. The job walks the build: `build_values.py` gives its tensors, `reference_run.py` runs the reference
one node at a time, `counterparts.py` follows a tensor to its node there, and `own_errors.py` compares. Where a tensor has another form than its
counterpart, `layouts.py`, `moves.py` and `scales.py` repeat the form on the reference's value, which `right_values.py` returns.
"""
