"""TVM 0.17 with the libraries of today."""

from __future__ import annotations

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
