"""Builds, counts and timings, in a child process, with the conditions beside every number.

`timing.py` takes one configuration from the build to its row (`row.py`): count, check against the reference, run. `store.py`
keeps each row before `measure` goes on. Decisions are pure functions: how often to sample (`sampling.py`), and
everything that may be claimed of two times (`verdict.py`). `wb.count` runs the graph-level passes alone, `wb.kernels` a whole build;
tests hold the two equal.
"""
