"""One model in both compilers: `wb.compare_compilers`.

Each compiler runs in child processes of its own environment (`pipeline/elsewhere.py`), and graphs come as JSON. `run.py` has the
call, `side.py` what one compiler makes, `outputs.py` the check of the outputs, `turns.py` the race between processes,
`differences.py` the kernels of both aligned by the model's nodes, with the reasons, and `result.py` the result.
"""
