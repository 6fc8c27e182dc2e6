"""Builds, counts and timings in a child process; every number is kept with its conditions.

`build_and_time.py` takes one configuration from the build to its row (`row.py`): count, check against the reference, run. `store.py`
keeps each row before `measure` continues. Decisions are pure functions: the number of samples (`repeats.py`), and every
claim about two times (`verdict.py`). `wb.count` runs the graph-level passes alone, `wb.kernels` a whole build; tests check
that both count the same.
"""
