"""The cost of a boundary between two kernels: bytes, launches, and seconds where a calibration supports them.

`costs.py` has `wb.boundary_costs` and its rows. `trial.py` races the two parts of a boundary alone, and compares memory plans.
`calibration.py` measures this machine, and decides from `calibration.json` whether seconds are shown.
"""
