"""One model in two compilers: `wb.compare_compilers`.

Each compiler runs in child processes of its own environment (`pipeline/elsewhere.py`), and graphs come as JSON. `run.py` has the
call, `compiler.py` a side as the caller describes it, `models.py` the model, `side.py` what one compiler makes, `outputs.py` the check of
the outputs, `turns.py` the race between processes, `suggestions.py` the changes that are tried, `differences.py` the kernels of both
aligned by the model's nodes, with the reasons, and `result.py` the result.
"""
