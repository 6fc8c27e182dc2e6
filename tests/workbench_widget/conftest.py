"""A Workbench on two casts, with presets in a folder of the test's own."""

from __future__ import annotations

import pytest
from page_driver import Page
from workbench_widget.driving import PIPELINE

import workbench as wb


@pytest.fixture(autouse=True)
def config_home(tmp_path, monkeypatch):
    """A person's own presets are kept in a folder of the test's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "tvm-workbench"


@pytest.fixture
def cast(dialect):
    return wb.samples.load("parallel_cast")


@pytest.fixture
def bench(cast, dialect):
    made = wb.Workbench(cast, PIPELINE[dialect], auto_measure=False, budget=0.1)
    assert made.wait()
    yield made
    made.cancel()
    made.close()


@pytest.fixture
def page(bench):
    return Page(bench)
