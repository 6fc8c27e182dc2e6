"""`wb.kernel_errors`: each kernel of a build runs on the reference's inputs, so its own error is apart from the inherited one.

`result.py` has the call and its result. The job walks the build: `own_errors.py` runs the reference one node at a time, finds the right value
of each output there, and compares. `counterparts.py` follows a tensor of the build to the reference's, and `forms.py` repeats the layout,
the moves and the scale of a tensor on the reference's value.
"""
