"""A real CUDA device: what was counted is launched, what is launched is right, and what it took is told with the device."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb

HERE = Path(__file__).parent
SAMPLES = ("mlp", "parallel_cast", "branches", "attention", "resnet18")


@pytest.fixture(scope="module")
def rows(cuda):
    configs = [0, 3, {"opt_level": 3, "options": {"relay.FuseOps.max_depth": 1}}]
    return wb.measure(wb.samples.load("resnet18"), configs, ["cuda", "llvm"], budget=0.3, per_kernel=True)


def of_cuda(rows):
    return rows[rows["asked_target"] == "cuda"]


def test_launches_counted_are_launches_seen(cuda, tmp_path, tell):
    compiler = shutil.which("cc")
    assert compiler, "a C compiler builds the counter"
    counter = tmp_path / "launches.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", counter, HERE / "launches.c", "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(counter), "TOPHUB_LOCATION": "NONE"}
    command = [sys.executable, HERE / "launches_seen.py", *SAMPLES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(found) == 4 * len(SAMPLES)
    for row in found:
        tell(f"{row['sample']} opt {row['level']}: {row['launches']} launches counted, {row['seen']} seen")
        assert row["seen"] == row["launches"] if row["exact"] else row["seen"] >= row["launches"], row


def test_outputs_are_those_of_the_reference_on_the_cpu(rows):
    assert list(of_cuda(rows)["status"]) == ["ok"] * 3, list(of_cuda(rows)["message"])
    assert list(of_cuda(rows)["check"]) == ["ok"] * 3


def test_times_come_with_the_device(rows, tell):
    for row in of_cuda(rows).to_dict("records"):
        tell(f"{row['config']} on {row['gpu']}: median {row['median_us']:.1f} us of {len(row['samples'])} samples")
        assert 0 < row["q1_us"] <= row["median_us"] <= row["q3_us"]
        assert row["device"] == "cuda"
        assert row["gpu"]
        assert row["driver"]
        assert row["gpu_clock_mhz"] > 0
        assert "-arch=sm_" in row["target"]


def test_kernels_are_timed_one_by_one(rows):
    for row in of_cuda(rows).to_dict("records"):
        assert row["kernel_method"]
        assert len(row["per_kernel"]) == row["kernels"] - row["noops"]
        assert all(kernel["median_us"] > 0 for kernel in row["per_kernel"])


def test_less_fusion_is_more_launches(rows):
    fused, cut = of_cuda(rows)["launches"].iloc[1:3]
    assert cut > fused
