"""Two small graphs and the cell that makes them in a kernel."""

from __future__ import annotations

from pathlib import Path

from browser.lab import PROBE

# Nodes 0 to 6: x, dense, relu, tanh, add; two kernels, (dense, relu) is group 1 and (tanh, add) group 2, in function 0.
PREPARE = (
    PROBE
    + f"TESTS = {str(Path(__file__).parents[1])!r}"
    + """
import os, sys, tempfile
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp()
sys.path.insert(0, TESTS)
import workbench as wb
from widgets import hostile
from workbench.graph.model import GraphBuilder

def made(*ops, w="w"):
    b = GraphBuilder("made", "relay")
    b.group("function", "main", None)
    kernels = [b.group("primitive", name, 0) for name in ("fused_first", "fused_second")]
    kind = {"type": "Tensor[(1, 16), float32]"}
    x = at = b.node("param", "x", name="x", group=0, **kind)
    weight = b.node("constant", w, name=w, group=0, type="Tensor[(16, 16), float32]")
    for place, op in enumerate(ops):
        inputs = (at, weight) if place == 0 else (at, x) if op == "add" else (at,)
        at = b.node("op", op, inputs, group=kernels[place > 1], attrs={"units": 16} if op == "nn.dense" else {}, **kind)
    b.outputs = [at]
    return b.build()

BEFORE = made("nn.dense", "nn.relu", "tanh", "add")
AFTER = made("nn.dense", "nn.relu", "sigmoid", "exp", "add")
"""
)
X, WEIGHT, DENSE, RELU, TANH, ADD = range(6)
