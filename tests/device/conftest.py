"""The device lane runs on request, `.ci/lanes device`; where there is no device each test says so and why."""

from __future__ import annotations

import pytest

import workbench as wb


@pytest.fixture(scope="session")
def cuda():
    """Nothing, on a machine where CUDA code can be timed; elsewhere the test is skipped with what measure says is missing."""
    row = wb.measure(wb.samples.load("mlp", layers=1, width=8), [0], ["cuda"], budget=0.01, check=False).iloc[0]
    if row["status"] == "not measured":
        pytest.skip(row["message"])
