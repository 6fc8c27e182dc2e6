"""The memory of a build: TVM's plan of its tensors and storages.

`plan.py` has the plan as plain values, explains it and arranges it for views; `planning.py` has `wb.memory` and makes the plan.
"""
