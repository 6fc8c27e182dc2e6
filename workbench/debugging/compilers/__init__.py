"""One model in two compilers: `wb.compare_compilers`.

Each compiler runs in child processes of its own environment (`pipeline/elsewhere.py`), and graphs come as JSON. `run.py` has the call,
`models.py` the model, `side.py` a compiler as the caller describes it and what it makes, `runner.py` the runs of both builds with their
race and the check of their outputs, `suggestions.py` the changes that are tried, and `result.py` the result, with the kernels of both aligned.
"""
