"""A TFLite model in both dialects, written with the format's own builder: max(x + w, 0)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
import tflite

import workbench as wb
from workbench.dialects import readers
from workbench.errors import LoadError
from workbench.pipeline.outputs import run_once

WEIGHTS = np.array([[1, -2, 3]], "float32")


def vector(b: Any, start: Any, values: list[int], offsets: bool = True) -> int:
    start(b, len(values))
    for value in reversed(values):
        b.PrependUOffsetTRelative(value) if offsets else b.PrependInt32(value)
    return b.EndVector()


def operator(b: Any, code: int, inputs: list[int], outputs: list[int]) -> int:
    read = vector(b, tflite.OperatorStartInputsVector, inputs, offsets=False)
    written = vector(b, tflite.OperatorStartOutputsVector, outputs, offsets=False)
    tflite.AddOptionsStart(b)
    options = tflite.AddOptionsEnd(b)
    tflite.OperatorStart(b)
    tflite.OperatorAddOpcodeIndex(b, code)
    tflite.OperatorAddInputs(b, read)
    tflite.OperatorAddOutputs(b, written)
    if code == 0:
        tflite.OperatorAddBuiltinOptionsType(b, tflite.BuiltinOptions.AddOptions)
        tflite.OperatorAddBuiltinOptions(b, options)
    return tflite.OperatorEnd(b)


def model(*codes: int) -> bytes:
    """The bytes of a model of two operators: the first adds, the second takes what it gives."""
    b = flatbuffers.Builder(1024)
    data = b.CreateByteVector(WEIGHTS.tobytes())
    buffers = []
    for content in (None, data):
        tflite.BufferStart(b)
        if content is not None:
            tflite.BufferAddData(b, content)
        buffers.append(tflite.BufferEnd(b))
    tensors = []
    for name, buffer in (("x", 0), ("w", 1), ("block/sum", 0), ("block/out", 0)):
        text = b.CreateString(name)
        shape = vector(b, tflite.TensorStartShapeVector, [1, 3], offsets=False)
        tflite.TensorStart(b)
        tflite.TensorAddName(b, text)
        tflite.TensorAddShape(b, shape)
        tflite.TensorAddType(b, tflite.TensorType.FLOAT32)
        tflite.TensorAddBuffer(b, buffer)
        tensors.append(tflite.TensorEnd(b))
    operators = [operator(b, 0, [0, 1], [2]), operator(b, 1, [2], [3])]
    parts = [
        vector(b, tflite.SubGraphStartTensorsVector, tensors),
        vector(b, tflite.SubGraphStartInputsVector, [0], offsets=False),
        vector(b, tflite.SubGraphStartOutputsVector, [3], offsets=False),
        vector(b, tflite.SubGraphStartOperatorsVector, operators),
    ]
    tflite.SubGraphStart(b)
    for add, part in zip(
        (tflite.SubGraphAddTensors, tflite.SubGraphAddInputs, tflite.SubGraphAddOutputs, tflite.SubGraphAddOperators),
        parts,
        strict=True,
    ):
        add(b, part)
    graph = tflite.SubGraphEnd(b)
    made = []
    for code in codes:
        tflite.OperatorCodeStart(b)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(code, 127))
        tflite.OperatorCodeAddBuiltinCode(b, code)
        made.append(tflite.OperatorCodeEnd(b))
    tables = [
        vector(b, tflite.ModelStartOperatorCodesVector, made),
        vector(b, tflite.ModelStartSubgraphsVector, [graph]),
        vector(b, tflite.ModelStartBuffersVector, buffers),
    ]
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, 3)
    for add, part in zip(
        (tflite.ModelAddOperatorCodes, tflite.ModelAddSubgraphs, tflite.ModelAddBuffers), tables, strict=True
    ):
        add(b, part)
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    return bytes(b.Output())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "m.tflite"
    made.write_bytes(model(tflite.BuiltinOperator.ADD, tflite.BuiltinOperator.RELU))
    return made


def test_it_loads_and_computes(path: Path, dialect: str) -> None:
    from workbench.dialects.compiler.inputs import random_values

    workload = wb.load(path)
    assert [node.op.rpartition(".")[2] for node in workload.graph.ops][-1] == "relu"
    x = random_values("x", (1, 3), "float32", 0)
    (ours,) = run_once(workload).outputs
    np.testing.assert_allclose(ours, np.maximum(x + WEIGHTS, 0), rtol=1e-6)
    assert all(name != "x" for name in workload.params)


def test_an_operator_that_tvm_lacks_is_told(tmp_path: Path, dialect: str) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(model(tflite.BuiltinOperator.ADD, tflite.BuiltinOperator.HASHTABLE))
    with pytest.raises(LoadError, match="HASHTABLE"):
        wb.load(path)


@pytest.mark.one_dialect
@pytest.mark.parametrize("cut", [0, 6, 40, 200])
def test_a_damaged_file_is_a_load_error(path: Path, cut: int, dialect: str) -> None:
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(LoadError, match=r"m\.tflite is (not a TFLite model|damaged)"):
        wb.load(path)


@pytest.mark.one_dialect
def test_without_tflite_the_message_names_the_extra(path: Path, dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tflite", None)
    with pytest.raises(LoadError, match=r"pip install 'tvm-workbench\[tflite\]'"):
        readers.load(path)
