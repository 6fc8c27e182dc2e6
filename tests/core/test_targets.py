"""Whatever TVM accepts as a target is one canonical text; everything else is an error in one sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import WorkbenchError
from workbench.measurement.remote.tracker import target_there
from workbench.measurement.row import device_of
from workbench.plots.rows import kind
from workbench.target_text import kind_of, target_fields, target_text, target_texts, with_option
from workbench.worker.cuda import architecture

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
_values = st.one_of(_words, st.booleans(), st.integers(-(2**70), 2**70), st.lists(_words, max_size=3))
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
