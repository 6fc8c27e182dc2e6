"""The cost of a boundary between two kernels: bytes, launches, and seconds where a calibration supports them.

`costs.py` has `wb.boundary_costs`, and `cost.py` one row. `trial.py` races the two parts of a boundary alone, `peak.py` compares two
memory plans. `machine_costs.py` measures this machine; `calibration.py` decides from `calibration.json` whether seconds are shown.
"""
