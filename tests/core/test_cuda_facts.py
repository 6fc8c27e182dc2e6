"""Why CUDA code cannot be timed: each reason from facts that are made up here, for no machine has them all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.worker.cuda import CudaFacts, architecture, why_not

GOOD = CudaFacts(
    gpu="NVIDIA H100",
    compute=(9, 0),
    driver_cuda=(12, 4),
    runtime_cuda=(12, 9),
    compiler="nvcc 12.4",
    architectures=(50, 60, 70, 75, 80, 86, 89, 90),
)


@pytest.mark.parametrize("target", ["cuda", "cuda -arch=sm_90", "cuda -arch=sm_80"])
def test_nothing_stands_in_the_way(target: str) -> None:
    assert why_not(GOOD, target) == ""


@pytest.mark.parametrize(
    ("facts", "target", "said"),
    [
        ({"built": False}, "cuda", "built without CUDA"),
        ({"driver_library": False, "devices": 0}, "cuda", "no NVIDIA driver is installed"),
        ({"status": 34, "devices": 0}, "cuda", "stub"),
        ({"status": 100, "devices": 0}, "cuda", "finds no GPU"),
        ({"devices": 0}, "cuda", "finds no GPU"),
        ({"status": 999, "devices": 0}, "cuda", "cuInit answers 999"),
        ({"status": 803, "devices": 0}, "cuda", "restart the machine"),
        ({"driver_cuda": (11, 4)}, "cuda", "too old: it serves CUDA 11.4 and this TVM uses CUDA 12.9"),
        ({"status": 35, "devices": 0}, "cuda", "too old"),
        ({"compiler": "", "architectures": ()}, "cuda", "nvcc is missing: NVIDIA H100"),
        (
            {"compute": (12, 0)},
            "cuda",
            "unknown architecture: NVIDIA H100 is sm_120, and nvcc 12.4 compiles for sm_50 to sm_90",
        ),
        ({"compute": (3, 5)}, "cuda", "unknown architecture: NVIDIA H100 is sm_35"),
        ({}, "cuda -arch=sm_100", "unknown architecture: the target asks for sm_100"),
        ({"compute": (8, 0)}, "cuda -arch=sm_90", "asks for sm_90, and NVIDIA H100 is sm_80; write -arch=sm_80"),
        ({"seen_by_tvm": False}, "cuda", "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_each_reason_is_said_exactly(facts: dict, target: str, said: str) -> None:
    sentence = why_not(replace(GOOD, **facts), target)
    assert said in sentence
    assert "\n" not in sentence


def test_a_driver_that_is_missing_is_said_before_a_compiler_that_is() -> None:
    assert "driver" in why_not(CudaFacts(driver_library=False, devices=0, compiler=""))


def test_an_older_driver_of_the_same_major_version_serves() -> None:
    assert why_not(replace(GOOD, driver_cuda=(12, 0))) == ""


def test_a_compiler_that_does_not_tell_its_architectures_is_tried() -> None:
    assert why_not(replace(GOOD, architectures=())) == ""


def test_facts_come_back_from_json() -> None:
    import json
    from dataclasses import asdict

    assert CudaFacts.of(json.loads(json.dumps(asdict(GOOD)))) == GOOD


@pytest.mark.parametrize(("text", "number"), [("cuda -arch=sm_86 -max_threads=4", 86), ("cuda", None), ("llvm", None)])
def test_the_architecture_of_a_target(text: str, number: int | None) -> None:
    assert architecture(text) == number
