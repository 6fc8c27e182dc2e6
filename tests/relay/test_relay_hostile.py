"""Types and numbers that TVM's objects cannot hold: each gives a sentence, and nothing is allocated for it."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench.dialects.relay import objects
from workbench.errors import LoadError, TooDeep

BODY = "def @main(%x: Tensor[(2, 2), float32]) {{ {} }}"
CONSTANT = BODY.replace("{}", "add(%x, meta[relay.Constant][{0}] /* ty={1} */)")


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: Tensor[(2), loat32]) { nn.relu(%x) }",
        "def @main(%x: loat32) { %x }",
        BODY.format('cast(%x, dtype="loat32")'),
        BODY.format('add(%x, zeros(shape=[2], dtype="loat32"))'),
        BODY.format("add(%x, 99999999999999999999)"),
        BODY.format(f"add(%x, {'9' * 5000}i64)"),
        BODY.format("add(%x, 300u8)"),
        "def @main(%\ud800: Tensor[(2), float32]) { nn.relu(%\ud800) }",
    ],
)
def test_types_and_numbers_that_tvm_has_not(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LoadError):
        wb.load(text)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "type",
    [
        "Tensor[(99999999, 99999), float32]",
        "Tensor[(400000000), float32]",
        f"Tensor[({'9' * 30}), float32]",
        f"Tensor[({'9' * 6000}), float32]",
        "Tensor[(2, 2), loat32]",
        "Tensor[(2, 2), handle]",
        "Tensor[(2, 2), float32x4]",
    ],
)
def test_constants_that_are_not_made(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []
    made = objects.random_values
    monkeypatch.setattr(
        objects, "random_values", lambda index, shape, dtype: (drawn.append(shape), made(index, shape, dtype))[1]
    )
    workload = wb.load(CONSTANT.format(0, type))
    assert "text only" in repr(workload)
    assert any("TVM makes no module of it" in note for note in workload.notes)
    assert drawn in ([], [(2, 2)])


def test_many_constants_together_are_too_many() -> None:
    one = "meta[relay.Constant][{0}] /* ty=Tensor[(100000000), int8] */"
    sums = "".join(f"%{i} = add({one.format(2 * i)}, {one.format(2 * i + 1)});\n" for i in range(3))
    workload = wb.load(f"def @main() {{ {sums} (%0, %1, %2) }}")
    assert any("more than 268,435,456 elements" in note for note in workload.notes)


def test_a_large_shape_is_a_type_as_others() -> None:
    assert wb.load("def @main(%x: Tensor[(99999999999), float32]) { nn.relu(%x) }").graph


def test_an_index_of_6000_digits() -> None:
    workload = wb.load(CONSTANT.format("9" * 6000, "Tensor[(2, 2), float32]"))
    assert workload.module is not None


HEAD = "def @main(%data: Tensor[(1, 4), float32], %c: bool) {\n"
ENDS_RELAY = {
    "a call of itself": HEAD + "  %2 = add(%data, %data);\n  %2(%2)\n}\n",
    "a value as an attribute": "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(3, 3, 3, 3), float32]) {\n"
    "  nn.conv2d(%x, %w, padding=[1, 1, 1, %x.0])\n}\n",
    "nested if": HEAD + "if (%c) {" * 3000 + "%data" + "} else { %data }" * 3000 + "\n}\n",
    "nested fn": HEAD + "fn () {" * 3000 + "%data" + "}" * 3000 + "\n}\n",
    "an operator without a type relation that fits": HEAD + "  split(%data, indices_or_sections=2.5f)\n}\n",
}


@pytest.mark.parametrize("case", ENDS_RELAY)
def test_relay_text_that_ends_tvm(case: str) -> None:
    with pytest.raises(
        (LoadError, TooDeep), match=r"child process ended|TVM cannot read this|ends the process beyond|at most 2,000"
    ):
        wb.load(ENDS_RELAY[case])


def test_arrays_given_beside_a_text() -> None:
    loaded = wb.load("fn (%x) { nn.relu(%x) }", {"x": np.zeros((2, 3), "float32")})
    assert "(2, 3)" in next(node.type for node in loaded.graph.ops)
