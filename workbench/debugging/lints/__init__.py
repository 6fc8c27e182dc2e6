"""Lints: avoidable costs of a program, each with the call that avoids it.

`rules.py` has one function a lint, from a trace to its findings. `reshapes.py` reads the plan of a build's kernels, `records.py` the database of
tuned schedules that a build looks up, `fallbacks.py` the kernels without a schedule for them; `autotvm_log.py` is the reader of AutoTVM's log. `collect.py` has `wb.lint`, which runs each fix and keeps a finding only if the fix removes it.
`result.py` has the list and its races.
"""
