"""What only Relax has of models from elsewhere: modules of relax.frontend.nn, and layers in the names of variables."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm.relax.frontend import nn

import workbench as wb
from workbench.dialects.importers.params import read_params
from workbench.errors import LoadError
from workbench.pipeline.outputs import run_once

sys.path.insert(0, str(Path(__file__).parents[1]))
from onnx_models import bert


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 3)

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return nn.op.relu(self.first(x))


@pytest.mark.parametrize("inputs", [{"x": (2, 4)}, [(2, 4)], [np.zeros((2, 4), "float32")]])
def test_a_module_of_the_nn_frontend_loads(inputs: object) -> None:
    module = Dense()
    module.first.weight.data = np.ones((3, 4), "float32")
    workload = wb.load(module, inputs=inputs)
    assert (workload.name, list(workload.params)) == ("Dense", ["first.weight"])
    graph = workload.graph
    assert graph.groups[0].name == "main"
    assert graph.ops[-1].op == "relax.nn.relu"
    assert graph.nodes[graph.outputs[0]].type == wb.load(module, inputs=[(2, 4)]).graph.ops[-1].type
    assert run_once(workload).outputs[0].shape == (2, 3)


def test_a_module_whose_shapes_nobody_gave_is_a_load_error() -> None:
    with pytest.raises(LoadError, match=r"the shapes of x are not in the module"):
        wb.load(Dense())


def test_layers_survive_the_passes_that_lower_and_fuse() -> None:
    workload = wb.load(bert(2))
    trace = wb.trace(workload, "DecomposeOpsForInference,LegalizeOps,AnnotateTIROpPattern,FuseOps,FuseTIR")
    for step in trace.steps:
        scopes = {node.scope.split("/")[2] for node in step.after.ops if node.scope.startswith("bert/encoder/")}
        assert scopes == {"layer.0", "layer.1"}, step.name


def test_a_nodes_name_is_the_one_in_the_printed_text() -> None:
    workload = wb.load(bert(1))
    text = workload.text()
    named = [node for node in workload.graph.ops if node.scope]
    assert named
    assert all(f"{node.name}: R." in text for node in named)


def test_paths_in_names_change_nothing_else() -> None:
    workload = wb.load(bert(1))
    printed = tvm.script.from_source(workload.module.script(show_meta=True))
    from workbench.dialects.relax.compat import structural_equal

    assert structural_equal(printed, workload.module)
    assert {node.scope for node in workload.graph.ops} != {""}


def test_renamed_variable_has_the_type_object_of_its_value() -> None:
    bindings = [each for block in wb.load(bert(1)).module["main"].body.blocks for each in block.bindings]
    assert all(each.var.ty.same_as(each.value.ty) for each in bindings if "." in each.var.name)
    assert sum("." in each.var.name for each in bindings) > 20


def test_parameters_of_todays_tvm_are_read(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(6, dtype="float32").reshape(2, 3),
        "b": np.array([True, False]),
        "c": np.ones(2, "float16"),
    }
    path = tmp_path / "p.params"
    path.write_bytes(tvm.runtime.save_param_dict({name: tvm.runtime.tensor(array) for name, array in arrays.items()}))
    found = read_params(path)
    assert all(
        np.array_equal(found[name], array) and found[name].dtype == array.dtype for name, array in arrays.items()
    )
