"""`wb.reduce`: a small program that shows the symptom of a large one.

`run.py` has `wb.reduce`, its result and the order of the phases, which are in `phases.py`. A phase offers edits to the `search.py`, which
makes the program in the child process, probes it and keeps it or not. `size.py` compares two programs, `script.py` writes one for an issue.
"""
