"""Relay that `wb.load` refuses, with the sentence for it; the programs that it takes are in tests/test_dialect_contract.py."""

from __future__ import annotations

import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.errors import LoadError

X = relay.var("x", shape=(2, 3))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def @main(", "line 1"),
        ("def @main(%x: Tensor[(2), float32]) { nosuch(%x) }", "no operator nosuch"),
        ("fn (%x: Nonsense[(1, 2)]) {\n  nosuch(%x)\n}\n", "no operator nosuch"),
        ("def @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { add(%x, %y) }", ""),
    ],
)
def test_text_that_is_no_module_is_a_load_error(text, words):
    with pytest.raises(LoadError) as caught:
        wb.load(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_binary_file_is_a_load_error(tmp_path):
    path = tmp_path / "x.relay"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LoadError, match="not text"):
        wb.load(path)


def test_a_function_with_unbound_variables_is_a_load_error_that_names_them():
    with pytest.raises(LoadError, match="x"):
        wb.load(relay.Function([], relay.exp(X)))


def test_function_that_binds_a_variable_twice():
    functions = [relay.Function([X], op(X)) for op in (relay.exp, relay.log)]
    with pytest.raises(LoadError, match="bind each variable once"):
        wb.load(relay.Function([], relay.Tuple(functions)))


def test_a_module_that_does_not_type_check_is_a_load_error():
    y = relay.var("y", shape=(4, 5))
    with pytest.raises(LoadError, match="type-check"):
        wb.load(tvm.IRModule.from_expr(relay.Function([X, y], relay.add(X, y))))
