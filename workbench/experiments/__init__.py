"""Searches over variants of a configuration or of a program: each makes variants, runs them in the child, and keeps a row each.

The strategies differ in the variant that comes next. `waterfall.py` and `ablation.py` switch passes, `explore.py` tries each, `bisect/`
halves changes, `reduce/` halves programs, `tuning/` and `schedules/` search by results. `engine.py` has the run of a long search, with its
budget, pauses and threads; `symptoms.py` the questions of `bisect` and `reduce`. One variant is measured in `measurement/`.
"""
