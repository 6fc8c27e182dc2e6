"""The memory of a build: TVM's plan of its tensors and storages.

`plan.py` has the plan as plain values and explains it, `planning.py` has `wb.memory` and makes the plan, `picture.py` arranges it for views.
"""
