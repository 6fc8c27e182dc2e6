"""Remarks: each decision of the passes as a record, in the form of LLVM's optimisation remarks.

`collect.py` has `wb.remarks`. `fusion.py`, `merges.py` and `folds.py` make the records of one kind of pass each, `places.py` adds the
function, layer and source line. `result.py` has the list and its comparison, `files.py` writes and reads the two formats.
"""
