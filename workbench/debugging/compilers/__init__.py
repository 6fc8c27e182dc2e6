"""One model in two compilers: `wb.compare_compilers`.

Each compiler runs in child processes of its own environment, and graphs come as JSON. `run.py` has the call and the changes that are tried,
`models.py` the model and the environments, `side.py` a compiler as the caller describes it and what it makes, `runner.py` the runs of both
builds with their race and the check of their outputs, and `result.py` the result, with the kernels of both aligned.
"""
