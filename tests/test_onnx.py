"""ONNX models in both dialects: what they compute, their layers, and what is said of those that cannot be read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.cli import main
from workbench.dialects import readers
from workbench.dialects.registry import dialect as door
from workbench.errors import LoadError, UnknownName
from workbench.pipeline.outputs import run_once

sys.path.insert(0, str(Path(__file__).parent))
import onnx
from onnx_models import FLOAT, Onnx, bert, chain, convolutions, dense, pooled, reference, tree

from workbench.graph.layers import layered


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("onnx") / "bert.onnx"
    onnx.save(bert(12), path)
    return path


@pytest.fixture(scope="module")
def workload(twelve: Path) -> wb.Workload:
    return wb.load(twelve)


def layers(graph: Any) -> list[str]:
    return [group.name for group in layered(graph).groups if group.kind == "scope" and group.name.startswith("layer")]


@pytest.mark.long
@pytest.mark.one_dialect
def test_bert_loads_steps_and_has_twelve_layers_before_and_after(dialect: str, workload: wb.Workload) -> None:
    assert (workload.name, workload.dialect, workload.notes) == ("bert", dialect, [])
    wanted = [f"layer.{i}" for i in range(12)]
    assert layers(workload.graph) == wanted
    trace = wb.trace(workload, door(dialect).passes.fusing())
    assert trace.failed is None
    assert trace.steps[-1].changed
    assert trace.end.graph.kernel_count < workload.graph.kernel_count
    assert layers(trace.end.graph) == wanted


@pytest.mark.one_dialect
def test_weights_are_parameters_by_their_names(dialect: str, twelve: Path, workload: wb.Workload) -> None:
    weights = [tensor for tensor in onnx.load(twelve).graph.initializer if len(tensor.dims) == 2]
    matrices = {name: array.shape for name, array in workload.params.items() if len(array.shape) == 2}
    assert len(matrices) == len(weights) == 12 * 6 + 2
    named = {node.op for node in workload.graph.nodes if node.kind == "param"}
    assert set(workload.params) < named
    assert named - set(workload.params) == {"input_ids", "attention_mask"}


@pytest.mark.parametrize(
    "model",
    [bert(1), pytest.param(convolutions(), marks=pytest.mark.long), pooled("ReduceMean"), pooled("ReduceSum")],
    ids=["bert", "convolutions", "mean", "sum"],
)
def test_outputs_are_those_of_onnx_itself(dialect: str, model: Any, tell: Any) -> None:
    workload = wb.load(model)
    (ours,), (theirs,) = run_once(workload).outputs, reference(model, workload.limits)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    tell(
        f"{dialect}: ONNX {model.graph.node[0].op_type}... differs from onnx's own by {np.abs(ours - theirs).max():.1e}"
    )


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(chain, marks=pytest.mark.long),
        partial(chain, named=False),
        pytest.param(tree, marks=pytest.mark.long),
    ],
    ids=["chain", "unnamed", "tree"],
)
def test_loading_is_linear_in_the_number_of_nodes(dialect: str, make: Callable[[int], Any], tell: Any) -> None:
    wb.load(make(2))  # what is imported and cached once
    small, large = (_calls(partial(wb.load, make(nodes))) for nodes in (64, 256))
    tell(f"{dialect}: {small} and {large} calls of functions for 64 and 256")
    assert large < 6 * small


def _calls(work: Callable[[], object]) -> int:
    """Return how many functions of Python and of C are called."""
    events: list[str] = []
    sys.setprofile(lambda _frame, event, _argument: events.append(event))
    try:
        work()
    finally:
        sys.setprofile(None)
    return sum(event in ("call", "c_call") for event in events)


def test_an_opset_newer_than_the_converters_is_noted(dialect: str) -> None:
    model = dense()
    assert wb.load(model).notes == []
    model.opset_import[0].version = 99
    (note,) = wb.load(model).notes
    assert "the model is in opset 99" in note


@pytest.mark.one_dialect
@pytest.mark.parametrize(
    ("shape", "said"), [((2, 2), ""), (("n", 2), ""), ((2, 7), "2 x 7"), (("n", 2, 1), "? x 2 x 1")]
)
def test_an_output_of_another_shape_than_declared_is_noted(dialect: str, shape: tuple[Any, ...], said: str) -> None:
    model = dense()
    name = model.graph.output[0].name
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info(name, FLOAT, shape))
    wrong = f"TVM imports the output {name} as 2 x 2, and in the model it is {said}: the outputs are not the model's"
    assert readers.load(model).notes == ([wrong] if said else [])


def test_open_dimensions_are_noted_and_fixed_by_inputs(dialect: str) -> None:
    model = dense("batch")
    (note,) = wb.load(model).notes
    assert "x leaves batch open" in note
    for inputs in ({"x": (2, 4)}, [(2, 4)], [np.ones((2, 4))]):
        fixed = wb.load(model, inputs=inputs)
        assert fixed.notes == []
        assert fixed.graph == wb.load(dense(), name=fixed.name).graph


@pytest.mark.one_dialect
@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({"X1": (2, 4)}, UnknownName, "no input named 'X1'"),
        ([(2, 4)] * 3, LoadError, "the model has 1"),
        ({"x": (1, "x")}, LoadError, "not a shape for the input 'x'"),
        ({"x": (0, 4)}, LoadError, "at least 1"),
    ],
)
def test_inputs_that_do_not_fit_are_told(dialect: str, inputs: Any, error: type[LoadError], words: str) -> None:
    with pytest.raises(error, match=words):
        wb.load(dense(), inputs=inputs)


@pytest.mark.one_dialect
@pytest.mark.parametrize(("shape", "words"), [((1, 8), "1 x 8"), ((1, 8, 16), "1 x 8 x 16")])
def test_a_shape_that_the_file_contradicts_is_named(dialect: str, shape: tuple[int, ...], words: str) -> None:
    m = Onnx()
    model = m.model({"x": (FLOAT, ["batch", "seq", 32])}, m.linear(m.norm("x", 32), "dense", 32, 64))
    match = rf"the file declares the input x as batch x seq x 32, and inputs= gives {words}; TVM cannot convert"
    with pytest.raises(LoadError, match=match):
        wb.load(model, inputs={"x": shape})
    assert wb.load(model, inputs={"x": (2, 8, 32)}).notes == []


def test_a_program_of_another_shape_than_the_file_has_a_note(dialect: str) -> None:
    m = Onnx()
    made = wb.load(m.model({"x": (FLOAT, [4])}, m.op("Relu", "x")), inputs={"x": (8,)})
    assert made.notes == ["the file declares the input x as 4, and inputs= gives 8"]


@pytest.mark.one_dialect
def test_inputs_of_a_program_with_shapes_are_refused(dialect: str) -> None:
    with pytest.raises(wb.WorkbenchError, match="with shapes="):
        wb.load(wb.samples.load("mlp").text(), inputs={"x": (1, 8)})


def test_unsupported_operators_are_listed_all_at_once_with_their_nodes(dialect: str) -> None:
    model = convolutions("NoSuchThing")
    model.graph.node[-2].op_type = "OtherThing"
    with pytest.raises(LoadError) as caught:
        wb.load(model)
    said = str(caught.value)
    assert "2 of the model's ONNX operators" in said
    assert "NoSuchThing (once: '/stem/NoSuchThing')" in said
    assert "OtherThing (once: '/head/Clip')" in said


def test_operators_in_branches_are_looked_at_too(dialect: str) -> None:
    inner = onnx.helper.make_graph(
        [onnx.helper.make_node("NoSuchThing", ["x"], ["y"], "/inside")],
        "b",
        [],
        [onnx.helper.make_tensor_value_info("y", FLOAT, None)],
    )
    m = Onnx()
    out = m.op("If", "c", then_branch=inner, else_branch=inner)
    with pytest.raises(LoadError, match="NoSuchThing"):
        wb.load(m.model({"c": (onnx.TensorProto.BOOL, [1]), "x": (FLOAT, [2])}, out))


def test_a_node_that_does_not_convert_is_named(dialect: str, capsys: pytest.CaptureFixture[str]) -> None:
    m = Onnx()
    m.scope = "/encoder"
    out = m.op("Relu", "x")
    m.scope = "/decoder"
    out = m.op("MatMul", out)
    with pytest.raises(LoadError, match=r"MatMul \(node '/decoder/MatMul'\)") as caught:
        wb.load(m.model({"x": (FLOAT, [1, 1, 2, 2])}, out))
    assert "\n" not in str(caught.value)
    assert capsys.readouterr().out == ""


@pytest.mark.one_dialect
@pytest.mark.parametrize(
    "value",
    [
        "",
        "[",
        "[" * 100_000,
        "-" * 5000,
        "['a', 1]",
        "{}",
        "1",
        "['\\ud800', 'x']",
        "['a\\x1b', 'x']",
        "[[]]",
        "x\0",
        "[]",
    ],
    ids=range(12),
)
def test_malformed_metadata_of_nodes(dialect: str, value: str) -> None:
    model = dense()
    for node in model.graph.node:
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=value)
    graph = wb.load(model).graph
    assert graph.ops
    assert not any("\x1b" in node.span + node.name for node in graph.nodes)


@pytest.mark.one_dialect
def test_control_characters_in_names_are_written_out(dialect: str) -> None:
    evil = "x\x1b]0;title\x07\u2028"
    model = dense("batch")
    for node in model.graph.node:
        node.name = evil
        node.input[:] = [evil if name == "x" else name for name in node.input]
    model.graph.input[0].name = evil
    workload = wb.load(model)
    (note,) = workload.notes
    assert r"leaves batch open" in note
    fixed = wb.load(model, inputs=[(2, 4)])
    for said in (note, repr(workload), fixed.text(), str(fixed.graph.nodes)):
        assert "\x1b" not in said
    assert wb.kernels(fixed).launches
    assert len(run_once(fixed).outputs) == 1


def test_what_todays_torch_says_of_scopes_becomes_layers(dialect: str) -> None:
    model = bert(2)
    for node in model.graph.node:
        path = node.name.strip("/").split("/")[:-1]
        full = [".".join(path[: i + 1]) for i in range(len(path))]
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=repr(["", *full, "op"]))
        node.name = f"node_{node.op_type}"
    assert layers(wb.load(model).graph) == ["layer.0", "layer.1"]


@pytest.mark.one_dialect
@pytest.mark.parametrize("scopes", ["[", "['a', 3, 'b']", "7", "__import__('os')", "[]", "{[]: 1}", "{{}}"])
def test_scopes_that_are_no_list_of_names_are_no_layers(dialect: str, scopes: str) -> None:
    model = dense()
    for node in model.graph.node:
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=scopes)
    assert len(wb.load(model).graph.ops) == len(wb.load(dense()).graph.ops)


@pytest.mark.one_dialect
@pytest.mark.parametrize("damage", ["half", "text", "empty", "graphless"])
def test_a_file_that_is_no_whole_model_is_a_load_error(damage: str, twelve: Path, tmp_path: Path, dialect: str) -> None:
    data = twelve.read_bytes()
    path = tmp_path / "x.onnx"
    path.write_bytes(
        {"half": data[: len(data) // 2], "text": b"def @main() {}", "empty": b"", "graphless": data[:4]}[damage]
    )
    with pytest.raises(LoadError, match=r"x\.onnx is not an ONNX model, or is damaged") as caught:
        wb.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.one_dialect
def test_weights_in_a_file_beside_it_are_read_or_missed_by_name(tmp_path: Path, dialect: str) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(dense(), path, save_as_external_data=True, location="weights.bin", size_threshold=16)
    whole = wb.load(dense())
    loaded = wb.load(path)
    assert all(np.array_equal(loaded.params[name].numpy(), array.numpy()) for name, array in whole.params.items())
    (tmp_path / "weights.bin").write_bytes((tmp_path / "weights.bin").read_bytes()[:9])
    with pytest.raises(LoadError):
        wb.load(path)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(LoadError, match=r"weights that m\.onnx keeps"):
        wb.load(path)


OPSETS = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)]


def function(name: str, *called: str) -> Any:
    """A function of a model that calls others one after another, or Relu."""
    calls = [
        onnx.helper.make_node(each, ["a"], [f"b{place}"], domain="own" if each != "Relu" else "")
        for place, each in enumerate(called)
    ]
    return onnx.helper.make_function("own", name, ["a"], [f"b{len(called) - 1}"], calls, OPSETS)


def model_of(*functions: Any) -> Any:
    values = [onnx.helper.make_tensor_value_info(name, FLOAT, [2]) for name in "xy"]
    call = onnx.helper.make_node("F0", ["x"], ["y"], domain="own")
    graph = onnx.helper.make_graph([call], "g", values[:1], values[1:])
    return onnx.helper.make_model(graph, functions=functions, opset_imports=OPSETS, ir_version=8)


def test_functions_of_a_model_are_inlined(dialect: str) -> None:
    graph = wb.load(model_of(function("F0", "F1"), function("F1", "Relu", "Relu"))).graph
    assert [node.op.rpartition(".")[2] for node in graph.ops][-1] == "relu"


@pytest.mark.one_dialect
def test_functions_that_never_end_are_a_load_error(dialect: str) -> None:
    with pytest.raises(LoadError, match="calls itself"):
        wb.load(model_of(function("F0", "F1"), function("F1", "F0")))
    with pytest.raises(LoadError, match="more than 3,840 nodes"):
        wb.load(model_of(*(function(f"F{i}", *[f"F{i + 1}"] * 10) for i in range(9)), function("F9", "Relu")))


@pytest.mark.one_dialect
def test_names_that_are_not_utf8_are_a_load_error(tmp_path: Path, dialect: str) -> None:
    data = dense().SerializeToString()
    names = [node.name.encode() for node in dense().graph.node if len(node.name) > 3]
    (tmp_path / "m.onnx").write_bytes(data.replace(names[0], b"\xee" * len(names[0])))
    with pytest.raises(LoadError, match="not UTF-8"):
        wb.load(tmp_path / "m.onnx")


@pytest.mark.one_dialect
def test_long_names_do_not_make_long_messages(dialect: str) -> None:
    m = Onnx()
    model = m.model({"x": (FLOAT, [2])}, m.op("x" * 5000, "x"))
    with pytest.raises(LoadError, match="cannot convert") as caught:
        wb.load(model)
    assert len(str(caught.value)) < 2000


def test_weights_that_are_also_inputs_are_one_parameter(dialect: str) -> None:
    """Files before version 4 of the format list each initializer among the inputs."""
    model = bert(1, wide=8)
    named = wb.load(model)
    listed = [onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in model.graph.initializer]
    model.graph.input.extend(listed)
    assert wb.trace(wb.load(model)).failed is None
    assert wb.load(model).graph.to_json() == named.graph.to_json()


@pytest.mark.one_dialect
def test_weights_outside_the_models_folder_are_not_read(tmp_path: Path, dialect: str) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "m.onnx"
    onnx.save(dense(), path, save_as_external_data=True, location="weights.bin", size_threshold=16)
    model = onnx.load(path, load_external_data=False)
    (path.parent / "weights.bin").rename(tmp_path / "secret")
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../secret"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(LoadError, match=r"weights that m\.onnx keeps"):
        wb.load(path)


@pytest.mark.one_dialect
def test_without_onnx_the_message_names_the_extra(twelve: Path, dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(LoadError, match=r"pip install 'tvm-workbench\[onnx\]'"):
        readers.load(twelve)


@pytest.mark.one_dialect
def test_the_command_line_takes_onnx_files(
    twelve: Path, tmp_path: Path, dialect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small.onnx"
    onnx.save(dense("n"), small)
    shapes = ["--input", "x=2,4"]
    assert main(["show", str(small), *shapes, "-o", str(tmp_path / "m.html")]) == 0
    assert (tmp_path / "m.html").stat().st_size > 10_000
    assert (
        main(["trace", str(small), *shapes, "-p", door(dialect).passes.fusing(), "-o", str(tmp_path / "t.wbtrace")])
        == 0
    )
    assert main(["kernels", str(small), *shapes]) == 0
    assert main(["export", str(small), "-o", str(tmp_path / "g.json"), *shapes]) == 0
    assert capsys.readouterr().err == ""
    assert main(["show", str(small), "-o", str(tmp_path / "n.html")]) == 0
    assert "note: the input x leaves n open" in capsys.readouterr().err
    assert main(["show", str(small), "--input", "x", "-o", str(tmp_path / "n.html")]) == 1
    assert "NAME=SHAPE" in capsys.readouterr().err
    assert wb.load(tmp_path / "g.json").graph == wb.Graph.from_json((tmp_path / "g.json").read_text())
