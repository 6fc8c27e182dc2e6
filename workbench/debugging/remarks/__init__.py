"""Remarks: each decision of the passes as a record, in the form of LLVM's optimisation remarks.

`result.py` has `wb.remarks`, the list and its comparison; `remark.py` one record and the two formats of files; `decisions.py` makes the records
of each kind of pass, with their function, layer and source line.
"""
