"""Lints: costs of a program that a few passes remove, each with the call that removes it.

`rules.py` has one function a lint, from a trace to its findings. `collect.py` has `wb.lint`, which runs each fix and keeps a finding only if
the fix removes it. `result.py` has the list and its races.
"""
