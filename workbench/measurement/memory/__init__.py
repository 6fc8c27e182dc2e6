"""The memory of a build: TVM's plan of its tensors and storages.

`plan.py` has the plan as plain values, `compose.py` makes it and `reasons.py` explains it.
"""
