"""notebooks/data, Relay's half of notebook 40, is what Relay says today."""

from __future__ import annotations

import json

import numpy as np
import pytest
from relay import notebook_data as saved

import workbench as wb


@pytest.fixture(scope="module")
def context() -> wb.Workload:
    return saved.context()


def test_the_text_and_the_outputs(context: wb.Workload) -> None:
    assert (saved.DATA / "context.relay").read_text(encoding="utf-8") == context.text()
    seen, now = np.load(saved.DATA / "context.npz"), saved.arrays(context)
    assert set(seen.files) == set(now)
    for name in seen.files:
        np.testing.assert_allclose(now[name], seen[name], rtol=1e-5, err_msg=name)


def test_the_trace_ends_in_todays_kernels(context: wb.Workload) -> None:
    seen = wb.Trace.open(saved.DATA / "context.wbtrace")
    (fused,) = (step.after for step in seen.steps if step.name == "FuseOps")
    now = wb.trace_build(context, opt_level=saved.OPT_LEVEL)
    assert [fused.kernel_count] == [step.after.kernel_count for step in now.steps if step.name == "FuseOps"]


# What is left out holds int8 products, which a target with instructions for them legalises its own way.
@pytest.mark.parametrize("name", ["branches", "conv_bias_batch_norm", "mlp"])
def test_the_counts(name: str) -> None:
    said = json.loads((saved.DATA / "relay_side.json").read_text(encoding="utf-8"))
    assert said["samples"][name] == saved.counted(wb.samples.load(name, **saved.SAMPLES[name]))
    assert said["sizes"] == saved.SAMPLES
