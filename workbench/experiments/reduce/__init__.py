"""`wb.reduce`: a small program that shows the symptom of a large one.

`run.py` has `wb.reduce`, its result, and the script for an issue. `search.py` has the phases: each offers edits to the search, which makes
the program in the child process, probes it and keeps it or not. `size.py` compares two programs.
"""
