"""Everything `wb.load` takes, and the sentence for what it does not take."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relay

import workbench as wb
from workbench.errors import LoadError, UnknownName

X = relay.var("x", shape=(2, 3))
F = relay.Function([X], relay.exp(X))
MODULE = tvm.IRModule.from_expr(F)


@pytest.mark.parametrize("source", [MODULE, F, (MODULE, {}), (F, {}), relay.exp(relay.const(1.0)), MODULE.astext()])
def test_modules_functions_pairs_and_text_load(source):
    workload = wb.load(source)
    assert (workload.dialect, [node.op for node in workload.graph.ops]) == ("relay", ["exp"])


def test_a_workload_is_itself():
    workload = wb.load(F)
    assert wb.load(workload) is workload


def test_arrays_become_parameters():
    workload = wb.load(F, {"x": np.ones((2, 3), "float32")}, name="mine")
    assert (workload.name, list(workload.params)) == ("mine", ["x"])


@pytest.mark.parametrize("suffix", [".relay", ".txt", ".json"])
def test_files_load_under_their_name(tmp_path, suffix):
    path = tmp_path / f"small{suffix}"
    path.write_text(tvm.ir.save_json(MODULE) if suffix == ".json" else MODULE.astext())
    for source in (path, str(path)):
        workload = wb.load(source)
        assert workload.name == "small"
        assert tvm.ir.structural_equal(workload.module, wb.load(MODULE).module)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def @main(", "line 1"),
        ("def @main(%x: Tensor[(2), float32]) { nosuch(%x) }", "no operator nosuch"),
        ("{", "save_json"),
        ('{"a": 1}', "save_json"),
        ("def @main(%x: Tensor[(2), float32], %y: Tensor[(3), float32]) { add(%x, %y) }", ""),
    ],
)
def test_text_that_is_no_module_is_a_load_error(text, words):
    with pytest.raises(LoadError) as caught:
        wb.load(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("source", [None, 3, b"bytes", [], {}, object()])
def test_other_things_are_a_load_error_by_type(source):
    with pytest.raises(LoadError, match=type(source).__name__):
        wb.load(source)


@pytest.mark.parametrize(
    ("name", "words"), [("absent.relay", "No such file"), ("model.caffemodel", "not a file that can be loaded")]
)
def test_a_file_that_cannot_be_read_is_a_load_error(tmp_path, name, words):
    with pytest.raises(LoadError, match=words):
        wb.load(tmp_path / name)


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


@pytest.mark.parametrize("name", wb.samples.names("relay"))
def test_a_sample_builds_and_says_what_options_it_lacks(name):
    with pytest.raises(LoadError, match="nothing"):
        wb.samples.load(name, nothing=1)


def test_an_unknown_sample_offers_near_names():
    with pytest.raises(UnknownName, match="parallel_cast"):
        wb.samples.load("paralel_cast")


def test_dump_and_restore_give_the_same_workload(tmp_path):
    from workbench.dialects.registry import dialect

    workload = wb.samples.load("mlp")
    dialect("relay").frontend.dump(workload, tmp_path)
    restored = dialect("relay").frontend.restore(tmp_path)
    assert tvm.ir.structural_equal(restored.module, workload.module)
    assert all(np.array_equal(restored.params[k].numpy(), workload.params[k].numpy()) for k in workload.params)


def test_a_type_and_an_operator_that_tvm_does_not_have_are_one_sentence():
    with pytest.raises(LoadError) as caught:
        wb.load("fn (%x: Nonsense[(1, 2)]) {\n  nosuch(%x)\n}\n")
    assert "\n" not in str(caught.value)
