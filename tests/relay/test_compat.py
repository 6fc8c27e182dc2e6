"""TVM 0.17 with the libraries of today."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from tvm import relay

import workbench as wb


def test_quantize_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPHUB_LOCATION", "NONE")  # TVM would ask the network for schedules
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(8, 4, 3, 3))
    convolved = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=8)
    workload = wb.load(relay.Function([x, w], relay.nn.relu(convolved)), {"w": np.ones((8, 4, 3, 3), "float32")})
    images = [{"x": np.ones((1, 4, 8, 8), "float32")}]
    with relay.quantize.qconfig(calibrate_mode="kl_divergence", weight_scale="power2", skip_conv_layers=[]):
        quantised = relay.quantize.quantize(workload.module, workload.params, dataset=images)
    assert "int8" in {str(dtype) for dtype in relay.analysis.all_dtypes(quantised["main"])}


WITHOUT = """
import sys
import tvm.relay
import workbench as wb
# as in a TVM from before MetaSchedule; the build of this one needs it
kept = {name: sys.modules[name] for name in ("tvm.meta_schedule", "tvm.meta_schedule.utils")}
sys.modules.update(dict.fromkeys(kept))
from workbench.dialects.compiler import tuning
sys.modules.update(kept)
from workbench.errors import MeasureError
from workbench.jobs import build
from workbench.pipeline.config import Config
how = {"target": "llvm", "config": Config().context().to_data(), "progress": lambda *_: None}
assert build.build(wb.samples.load("chain"), **how)["calls"]
try:
    build.build(wb.samples.load("chain"), **{**how, "config": {**how["config"], "schedules": "x"}})
except MeasureError as error:
    print(error)
"""


def test_a_tvm_without_meta_schedule_builds() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TOPHUB_LOCATION": "NONE"},
    )
    assert ran.stdout == "this TVM has no MetaSchedule, so it takes no schedules; build without them\n", ran.stderr
