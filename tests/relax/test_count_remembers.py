"""Counting remembers what LegalizeOps made; a count that does is the one that does not."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.dialects.relax import legalized
from workbench.dialects.relax.compiler import kernels
from workbench.pipeline.config import Config

TOGGLES = [(), ("FoldConstant",), ("FuseOps",), ("LegalizeOps",), ("DeadCodeElimination",), ("DispatchSortScan",)]


def count(workload: wb.Workload, target: str, disabled: tuple[str, ...]) -> dict:
    return kernels.count(workload, target, Config(opt_level=3, disabled=disabled).to_data())


@pytest.mark.parametrize("target", ["llvm", "cuda -arch=sm_80"])
@pytest.mark.parametrize("sample", ["mlp", "parallel_cast", "branches"])
def test_a_toggled_count_is_the_same_remembered_and_not(
    sample: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legalized, "_known", [])
    workload = wb.samples.load(sample)
    remembered = [count(workload, target, disabled) for disabled in [*TOGGLES, *TOGGLES]]
    assert legalized._known
    fresh = []
    for disabled in TOGGLES:
        legalized._known.clear()
        fresh.append(count(workload, target, disabled))
    assert remembered == fresh + fresh
    assert len({str(counts) for counts in fresh}) > 1


def test_it_is_remembered_where_a_pass_behind_it_is_toggled_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legalized, "_known", [])
    workload = wb.samples.load("mlp")
    count(workload, "llvm", ())
    (made,) = legalized._known
    assert "LegalizeOps" in made.passes
    assert "FuseOps" not in made.passes
    settings = made.settings
    assert legalized.known(workload.module, settings, ["FuseOps"]) is made
    assert legalized.known(workload.module, settings, ["LegalizeOps"]) is None
    assert legalized.known(wb.samples.load("mlp", width=8).module, settings, []) is None
    same, other = ({**Config(opt_level=level).to_data(), "name": "mine"} for level in (3, 0))
    assert legalized.settings_of("llvm", same) == settings
    assert legalized.known(workload.module, legalized.settings_of("llvm", other), []) is None
