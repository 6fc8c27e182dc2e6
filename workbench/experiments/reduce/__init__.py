"""`wb.reduce`: the smallest program that still shows a symptom.

`run.py` has the function and the order of its phases. A phase (`operators.py`, `values.py`) offers edits, each one pass of ours, to
the search (`search.py`), which makes the program in the child process, probes it, and keeps it if it is smaller (`size.py`) and
shows the same symptom. `configuration.py` leaves out passes and options at the end. `result.py` has the result, `script.py` the
Python for an issue report.
"""
