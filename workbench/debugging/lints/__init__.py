"""Lints: avoidable costs of a program, each with the call that avoids it.

`rules.py` has `wb.lint`, with one function a lint, from a trace to its findings; it runs each fix and keeps a finding only if the fix removes
it. `schedules.py` asks builds about kernels without a schedule and about records that are not used. `result.py` has the list and its races.
"""
