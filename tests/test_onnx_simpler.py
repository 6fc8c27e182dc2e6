"""Models that a converter refuses as exported, and loads as onnxscript simplifies them."""

import logging
import sys
import warnings

import numpy as np
import onnx
import pytest
from onnx_models import FLOAT, Onnx, convolutions, counted, halved, padded, reference, reshaped, upsampled

import workbench as wb
from workbench.dialects import readers
from workbench.dialects.importers import onnx_model
from workbench.dialects.importers.converting import Converting, unknown_shapes
from workbench.dialects.importers.files import importer
from workbench.errors import LoadError, Unconverted
from workbench.pipeline.outputs import run_once


def outputs_like(model, workload):
    found, expected = run_once(workload).outputs, reference(model, workload.limits)
    return all(np.allclose(*pair, atol=1e-5) for pair in zip(found, expected, strict=True))


@pytest.mark.parametrize(("make", "ops"), [(padded, 2), (reshaped, 2), (upsampled, 2), (halved, 3), (counted, 4)])
@pytest.mark.parametrize("batch", [2, "n"])
def test_computed_settings_load_and_give_the_models_outputs(dialect, make, ops, batch):
    loaded = wb.load(make(batch), inputs={"x": (2, 3, 4, 4)})
    assert len(loaded.graph.ops) == ops, loaded.graph.ops
    assert outputs_like(make(), loaded)


def test_shapes_that_only_a_run_decides_are_noted(dialect):
    m = Onnx()
    model = m.model({"x": (FLOAT, [3, 4])}, m.op("Cast", m.op("NonZero", m.op("Relu", "x")), to=FLOAT))
    (note,) = wb.load(model).notes
    assert note.startswith("the inputs have known shapes, and TVM cannot tell")
    assert note.lower().endswith("nonzero: only a run decides them")
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    (note,) = wb.load(model).notes
    assert note.startswith("the input x leaves n open")


@pytest.mark.one_dialect
def test_unknown_shapes_without_onnxscript_are_noted(dialect, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript.optimizer", None)
    loaded = readers.load(halved())
    # one dialect's importer knows these shapes by itself
    noted = [note.endswith("pip install 'tvm-workbench[simplify]'") for note in loaded.notes]
    assert noted == [True] * bool(unknown_shapes(loaded.graph))


def refusing(dialect, operator):
    """The dialect's importer, which refuses an operator besides."""
    convert = importer("onnx", dialect)

    def workload(model, name, inputs):
        if any(node.op_type == operator for node in model.graph.node):
            raise Unconverted(f"TVM cannot convert {operator} (node '/x'): no; replace it")
        return convert(model, name, inputs)

    return workload


@pytest.mark.one_dialect
def test_simplified_model_has_a_note_and_its_names(dialect):
    loaded = onnx_model.workload(refusing(dialect, "Concat"), padded(), "padded", None)
    assert loaded.notes[0].startswith("TVM cannot convert Concat (node '/x') as exported, so onnxscript simplified")
    assert outputs_like(padded(), loaded)


@pytest.mark.one_dialect
def test_model_as_given_is_not_changed(dialect):
    model = reshaped("n")
    before = model.SerializeToString()
    onnx_model.workload(refusing(dialect, "Concat"), model, "reshaped", {"x": (2, 3, 4, 4)})
    assert model.SerializeToString() == before


def test_model_that_stays_refused_has_the_first_message(dialect):
    with pytest.raises(LoadError, match=r"TVM cannot convert Relu \(node '/x'\): no; replace it$"):
        onnx_model.workload(refusing(dialect, "Relu"), padded(), "padded", None)
    with pytest.raises(LoadError, match="NoSuchThing") as caught:
        wb.load(convolutions("NoSuchThing"))
    assert "simplif" not in str(caught.value)


@pytest.mark.parametrize(("size", "kept"), [(onnx_model.FILLED, False), (onnx_model.FILLED + 1, True)])
def test_large_fillings_are_not_written_out(size, kept):
    model = padded()
    sizes = next(tensor for tensor in model.graph.initializer if tensor.name == model.graph.node[0].input[0])
    sizes.CopyFrom(onnx.numpy_helper.from_array(np.array([size]), sizes.name))
    simple = onnx_model._simplified(onnx_model._optimizer(), model, {})
    assert ("ConstantOfShape" in [node.op_type for node in simple.graph.node]) is kept


@pytest.mark.one_dialect
def test_without_onnxscript_the_message_names_the_extra(dialect, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript.optimizer", None)
    with pytest.raises(
        LoadError, match=r"no; replace it; .*package onnxscript; pip install 'tvm-workbench\[simplify\]'"
    ):
        onnx_model.workload(refusing(dialect, "Concat"), padded(), "padded", None)
    assert readers.load(convolutions()).notes == []


def test_what_converters_log_and_warn_is_kept_once(capfd):
    converting = Converting()
    with converting:
        for _ in range(2):
            logging.getLogger("Frontend").warning("Untyped Tensor found, assume it is %s", "float32")
            warnings.warn("the mask is ignored", stacklevel=1)
    assert converting.warnings == ["the mask is ignored", "Untyped Tensor found, assume it is float32"]
    assert capfd.readouterr() == ("", "")


def test_logger_propagates_after_conversions_that_overlap():
    first, second = Converting(), Converting()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert logging.getLogger("Frontend").propagate
