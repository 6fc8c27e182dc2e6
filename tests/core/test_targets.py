"""Whatever TVM accepts as a target is one canonical text, everything else an error; and why CUDA code cannot be timed."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import WorkbenchError
from workbench.measurement.remote.tracker import target_there
from workbench.measurement.row import device_of
from workbench.plots.rows import kind
from workbench.target_text import kind_of, target_fields, target_text, target_texts, with_option
from workbench.worker.cuda import CudaFacts, architecture, why_not

SAME = {
    "llvm": ["llvm", " llvm ", '{"kind": "llvm"}', {"kind": "llvm"}, {"kind": "llvm", "tag": ""}],
    "llvm -mcpu=core-avx2": ["llvm -mcpu core-avx2", '{"kind":"llvm","mcpu":"core-avx2"}', "llvm --mcpu=core-avx2"],
    "llvm -num-cores=4 -mattr=+a,+b": [{"kind": "llvm", "num-cores": 4, "mattr": ["+a", "+b"]}],
    "nvidia/nvidia-h100": [{"tag": "nvidia/nvidia-h100"}],
    '{"kind": "cuda", "arch": "sm_80", "host": {"kind": "llvm"}}': [
        {"kind": "cuda", "arch": "sm_80", "host": "llvm"},
        {"arch": "sm_80", "host": {"kind": "llvm"}, "kind": "cuda"},
    ],
    '{"kind": "llvm", "device": "a b"}': ["llvm -device='a b'"],
    '{"kind": "vulkan", "supports_float16": true}': ["vulkan -supports_float16"],
    '{"kind": "llvm", "mcpu": "7"}': [{"kind": "llvm", "mcpu": "7"}],
}


def nested(depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {"kind": "llvm"}
    for _ in range(depth):
        made = {"kind": "llvm", "host": made}
    return made


@pytest.mark.parametrize(("text", "given"), [(text, given) for text, all in SAME.items() for given in [text, *all]])
def test_one_target_has_one_text(text: str, given: Any) -> None:
    assert target_text(given) == text
    assert target_fields(text) == target_fields(target_text(given))


@pytest.mark.parametrize(
    "bad",
    [
        *(
            None,
            "",
            "  ",
            "llvm\0x",
            "\x1b[2J",
            5,
            b"llvm",
            [],
            ["llvm"],
            {},
            {"kind": 5},
            {"kind": ""},
            {"kind": "a b"},
        ),
        *("{", "{}", '{"kind": 5}', '{"kind": "llvm", "host": 5}', "llvm x", "llvm -", "llvm '", '{"a":' * 100_000),
        *({"kind": "llvm", "x": object()}, {"kind": "llvm", "x": b"1"}, {"kind": "llvm", "x": float("nan")}, {1: 2}),
        *(nested(100_000), {"kind": "llvm", "x": None}, '{"kind": "llvm", "x": null}'),
    ],
    ids=lambda bad: type(bad).__name__,
)
def test_bad_target_is_one_sentence(bad: Any) -> None:
    with pytest.raises(WorkbenchError) as error:
        target_text(bad)
    assert len(str(error.value)) < 500
    assert "\n" not in str(error.value)
    assert str(error.value).isprintable()


_words = st.text("abc-+_=.,'\"\\ 019é", max_size=6)
_values = st.one_of(_words, st.booleans(), st.integers(1 - 10**18, 10**18 - 1), st.lists(_words, max_size=3))
_names = st.one_of(st.sampled_from(["mcpu", "mattr", "keys", "num-cores"]), _words)


@given(st.dictionaries(_names, _values, max_size=4))
def test_text_keeps_every_field(fields: dict[str, Any]) -> None:
    wanted = {"kind": "llvm", **{name: v for name, v in fields.items() if name not in ("kind", "tag", "host")}}
    text = target_text(wanted)
    assert json.dumps(target_fields(text), sort_keys=True) == json.dumps(wanted, sort_keys=True)
    assert target_text(text) == text


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(WorkbenchError):
        assert target_text(target_text(text)) == target_text(text)


def test_several_targets_and_one() -> None:
    assert target_texts("llvm") == target_texts(["llvm"]) == target_texts({"kind": "llvm"}) == ("llvm",)
    assert target_texts(["llvm", '{"kind": "cuda"}']) == ("llvm", "cuda")
    with pytest.raises(WorkbenchError, match="list of targets"):
        target_texts(5)  # pyright: ignore[reportArgumentType]  a mistake of a user


@pytest.mark.parametrize("text", ["cuda -arch=sm_80", '{"kind": "cuda", "arch": "sm_80", "host": {"kind": "llvm"}}'])
def test_json_is_read_where_text_is(text: str) -> None:
    assert (kind_of(text), device_of(text), kind(text), architecture(text)) == ("cuda", "cuda", "CUDA", 80)
    assert target_there(text) == text
    assert target_fields(with_option(text, "max_num_threads", 512))["max_num_threads"] == 512


def test_host_options_are_not_those_of_the_target() -> None:
    assert target_there('{"kind": "llvm", "host": {"kind": "llvm", "mcpu": "x"}}').count("generic") == 1


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
