"""Run what `tuned.py` builds, in a process that has TVM and may not see the workbench: both TVMs are spoken to here."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.modules["workbench"] = None  # pyright: ignore[reportArgumentType]
sys.path.insert(0, str(Path.cwd()))

import tuned  # noqa: E402  # pyright: ignore[reportMissingImports]  what the test wrote
import tvm  # noqa: E402

array = tvm.nd.array if hasattr(tvm, "nd") else tvm.runtime.tensor
params = {name: array(value) for name, value in np.load("params.npz").items()}
inputs = {name: array(value) for name, value in np.load("inputs.npz").items()}
mod = tvm.ir.load_json(Path("module.json").read_text())
made = tuned.built(mod, params)
if hasattr(tvm, "relay"):
    from tvm.contrib.graph_executor import GraphModule

    machine = GraphModule(made["default"](tvm.cpu()))
    machine.run(**inputs)
    found = machine.get_output(0)
else:
    machine = tvm.relax.VirtualMachine(made, tvm.cpu())
    found = machine["main"](*[{**params, **inputs}[each.name] for each in mod["main"].params])
np.save("found.npy", found.numpy())
