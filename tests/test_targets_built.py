"""Whatever this TVM accepts as a target builds the same; what it refuses is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.target_text import kind_of, target_text


@pytest.fixture
def w(dialect: str) -> wb.Workload:
    return wb.samples.load("mlp", layers=1, width=4)


def objects(text: str) -> Any:
    import tvm

    return tvm.target.Target(text)


def test_every_form_of_llvm_builds_the_same(w: wb.Workload) -> None:
    usual = wb.kernels(w, "llvm")
    for given in ('{"kind":"llvm"}', {"kind": "llvm"}, objects("llvm")):
        found = wb.kernels(w, given)
        assert (found.target, found.launches, found.calls) == (usual.target, usual.launches, usual.calls)
        assert wb.count(w, given) == wb.count(w)
    assert usual.launches > 0


def test_forms_of_cuda_build_the_same(w: wb.Workload) -> None:
    target = {"kind": "cuda", "arch": "sm_80", "host": {"kind": "llvm"}}
    usual = wb.kernels(w, "cuda -arch=sm_80")
    import tvm

    for given in (target, target_text(target), tvm.target.Target(target)):
        found = wb.kernels(w, given)
        assert (found.launches, found.forms()[0]) == (usual.launches, "cuda")
        assert kind_of(found.target) == "cuda"


@pytest.mark.one_dialect
def test_object_keeps_what_it_was_given(dialect: str) -> None:
    assert target_text(objects("llvm")) == "llvm"
    assert target_text(objects('{"kind": "llvm", "mcpu": "core-avx2"}')) == "llvm -mcpu=core-avx2"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("cuda -arch=sm_9999", "CUDA architecture sm_9999"),
        ("cuda -arch=foo", "foo"),
        ("nosuch", "nosuch"),
        ("llvm -nosuch=1", "nosuch"),
        ("llvm\0x", "control characters"),
        (None, "None"),
        (["llvm"], "list"),
        ({"kind": 5}, "kind of a target"),
        ({"kind": "llvm", "num-cores": 2**70}, "18 digits"),
        ({"kind": "llvm", "host": {"kind": "nosuch"}}, "nosuch"),
    ],
)
def test_refused_target_is_one_sentence(w: wb.Workload, bad: Any, words: str) -> None:
    for call in (wb.kernels, wb.count, wb.trace_build):
        with pytest.raises(WorkbenchError, match=words) as error:
            call(w, bad)
        assert "\n" not in str(error.value)
        assert "Stack trace" not in str(error.value)


@pytest.mark.one_dialect
def test_json_target_is_measured(w: wb.Workload) -> None:
    rows = wb.measure(w, [0], ['{"kind": "llvm"}', {"kind": "llvm", "mcpu": "core-avx2"}], budget=0.02)
    assert list(rows.status) == ["ok", "ok"]
    assert list(rows.asked_target) == ["llvm", "llvm -mcpu=core-avx2"]
    assert set(rows.device) == {"cpu"}
    assert list(wb.measure(w, [0], "llvm", budget=0.02).status) == ["ok"]
    with pytest.raises(WorkbenchError, match="None"):
        wb.measure(w, [0], [None])  # pyright: ignore[reportArgumentType]  a mistake of a user


@pytest.mark.one_dialect
def test_tuning_takes_a_json_target(w: wb.Workload) -> None:
    found = wb.tune(w, targets={"kind": "llvm"}, objective="kernels", trials=2, budget=60, check=False, race=0)
    assert found.targets == ("llvm",)
    assert found.best_for('{"kind": "llvm"}') == found.best


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine for which TVM's default triple is not."""
    from workbench.dialects.compiler.tvm_target import missing_triple

    missing_triple.cache_clear()
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    yield
    missing_triple.cache_clear()


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("text", "triple", "host"),
    [
        ("llvm", "aarch64-unknown-linux-gnu", ""),
        ("llvm -mtriple=x86_64-linux-gnu", "x86_64-linux-gnu", ""),
        ("cuda -arch=sm_80", "", "aarch64-unknown-linux-gnu"),
        ("c", "", ""),
    ],
)
def test_triple_of_this_machine_is_added(dialect: str, text: str, triple: str, host: str) -> None:
    from workbench.dialects.compiler.tvm_target import make_target

    made = make_target(text)
    assert made.attrs.get("mtriple", "") == triple
    assert (made.host.attrs["mtriple"] if made.host else "") == host


def test_default_triple_is_left_as_it_is(dialect: str) -> None:
    from workbench.dialects.compiler.tvm_target import make_target

    assert str(make_target("llvm")) == str(objects("llvm"))
