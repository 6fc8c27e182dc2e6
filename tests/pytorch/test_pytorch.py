"""PyTorch's own exporters, in both dialects: torch.onnx, torch.export, TorchScript. `make pytorch` installs what this needs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.errors import LoadError
from workbench.graph.layers import layered
from workbench.pipeline.outputs import run_once

pytestmark = [
    pytest.mark.long,
    # the exporters warn of themselves
    pytest.mark.filterwarnings("ignore"),
]

FUSE = {"relay": "SimplifyInference,FuseOps{fuse_opt_level=2}", "relax": "LegalizeOps,AnnotateTIROpPattern,FuseOps"}
WIDE, LENGTH = 16, 8


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (torch.nn.Linear(WIDE, WIDE) for _ in range(4))
        self.up, self.down = torch.nn.Linear(WIDE, 2 * WIDE), torch.nn.Linear(2 * WIDE, WIDE)
        self.first, self.second = torch.nn.LayerNorm(WIDE), torch.nn.LayerNorm(WIDE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.heads(part(x)) for part in (self.query, self.key, self.value))
        mixed = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1) @ v
        x = self.first(x + self.output(mixed.transpose(1, 2).reshape(x.shape)))
        return self.second(x + self.down(torch.nn.functional.gelu(self.up(x))))

    def heads(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(x.shape[0], x.shape[1], 2, WIDE // 2).transpose(1, 2)


class Transformer(torch.nn.Module):
    def __init__(self, layers: int = 3) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(layers))
        self.head = torch.nn.Linear(WIDE, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0])


class Small(torch.nn.Module):
    """What a convolutional network is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
        self.head = torch.nn.Linear(4, 2)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.max_pool2d(self.stem(image), 2)
        return self.head(torch.nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


@pytest.fixture(scope="module")
def transformer() -> Transformer:
    torch.manual_seed(0)
    return Transformer().eval()


@pytest.fixture(scope="module")
def small() -> Small:
    torch.manual_seed(0)
    module = Small()
    module(torch.randn(8, 3, 6, 6))  # so that its statistics are some
    return module.eval()


def onnx_of(module: torch.nn.Module, example: torch.Tensor, path: Path, **how: Any) -> Path:
    pytest.importorskip("onnxscript", reason="torch.onnx.export needs it; make pytorch")
    torch.onnx.export(module, (example,), str(path), **how)
    return path


def sources(
    module: torch.nn.Module, example: torch.Tensor, dialect: str, folder: Path
) -> dict[str, Callable[[], wb.Workload]]:
    """The ways a module can come into a dialect."""
    ways: dict[str, Callable[[], wb.Workload]] = {
        "onnx": lambda: wb.load(onnx_of(module, example, folder / "m.onnx")),
        "older onnx": lambda: wb.load(onnx_of(module, example, folder / "o.onnx", dynamo=False, opset_version=17)),
        "module": lambda: wb.load(module, inputs=[example]),
    }
    if dialect == "relax":
        return {**ways, "export": lambda: wb.load(torch.export.export(module, (example,)))}
    return {**ways, "script": lambda: wb.load(torch.jit.trace(module, example))}


WAYS = ["onnx", "older onnx", "module", "own"]


def loaded(way: str, module: torch.nn.Module, example: torch.Tensor, dialect: str, folder: Path) -> wb.Workload:
    ways = sources(module, example, dialect, folder)
    return ways[way]() if way in ways else list(ways.values())[-1]()


def expected(workload: wb.Workload, module: torch.nn.Module) -> np.ndarray:
    """What the module gives for the inputs that the workbench makes."""
    from workbench.dialects.compiler.inputs import random_values

    (name,) = {node.op for node in workload.graph.nodes if node.kind == "param"} - set(workload.params)
    shape = (1, LENGTH, WIDE) if isinstance(module, Transformer) else (1, 3, 6, 6)
    with torch.no_grad():
        return module(torch.from_numpy(random_values(name, shape, "float32", 0))).numpy()


@pytest.mark.parametrize("way", WAYS)
def test_a_transformer_computes_the_same_has_its_layers_and_steps(
    way: str, transformer: Transformer, dialect: str, tmp_path: Path, tell: Any
) -> None:
    workload = loaded(way, transformer, torch.zeros(1, LENGTH, WIDE), dialect, tmp_path)
    trace = wb.trace(workload, FUSE[dialect])
    assert trace.failed is None
    for graph in (workload.graph, trace.end.graph):
        named = [group.name for group in layered(graph).groups if group.kind == "scope"]
        assert [name for name in named if name.startswith("layers.")] == ["layers.0", "layers.1", "layers.2"]
    (ours,), theirs = run_once(workload).outputs, expected(workload, transformer)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)
    tell(f"{dialect}, a transformer by {way}: differs from torch by {np.abs(ours - theirs).max():.1e}")


@pytest.mark.parametrize("way", WAYS)
def test_a_convolutional_network_computes_the_same(way: str, small: Small, dialect: str, tmp_path: Path) -> None:
    workload = loaded(way, small, torch.zeros(1, 3, 6, 6), dialect, tmp_path)
    (ours,) = run_once(workload).outputs
    np.testing.assert_allclose(ours, expected(workload, small), rtol=1e-3, atol=1e-4)


class Strange(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.i0(self.inner(x)) + torch.linalg.det(x) + torch.special.i1(x)


def test_operators_that_tvm_lacks_are_listed_at_once(dialect: str) -> None:
    with pytest.raises(LoadError, match="3 of the model's PyTorch operators") as caught:
        wb.load(Strange().eval(), inputs=[(4, 4)])
    assert all(name in str(caught.value) for name in ("i0", "i1", "det"))


def test_the_same_model_has_the_same_layers_each_time(transformer: Transformer, dialect: str) -> None:
    first, second = (layered(wb.load(transformer, inputs=[(1, LENGTH, WIDE)]).graph) for _ in range(2))
    assert [group.name for group in first.groups] == [group.name for group in second.groups]


def test_a_script_that_was_not_traced_needs_shapes(small: Small, dialect: str) -> None:
    words = r"the shape of the input input is not in the script" if dialect == "relay" else "not TorchScript"
    with pytest.raises(LoadError, match=words):
        wb.load(torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 3)).eval()))
    if dialect == "relay":
        script = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 3)).eval())
        assert wb.load(script, inputs=[(2, 4)]).graph.ops[0].op == "nn.dense"


def test_a_module_in_training_is_refused(dialect: str) -> None:
    with pytest.raises(LoadError, match=r"call model\.eval\(\) first"):
        wb.load(Small(), inputs=[(1, 3, 6, 6)])


def test_a_module_alone_needs_inputs(small: Small, dialect: str) -> None:
    with pytest.raises(LoadError, match=r"wb\.load\(model, inputs="):
        wb.load(small)


def test_the_other_dialects_program_is_refused_with_the_way_out(small: Small, dialect: str) -> None:
    example = torch.zeros(1, 3, 6, 6)
    theirs = torch.jit.trace(small, example) if dialect == "relax" else torch.export.export(small, (example,))
    with pytest.raises(LoadError, match="give the model itself with example inputs"):
        wb.load(theirs)


def test_files_are_refused_and_what_a_person_opened_is_taken(small: Small, dialect: str, tmp_path: Path) -> None:
    example, path = torch.zeros(1, 3, 6, 6), tmp_path / "m.pt2"
    if dialect == "relax":
        torch.export.save(torch.export.export(small, (example,)), path)
    else:
        torch.jit.trace(small, example).save(str(path))
    with pytest.raises(LoadError, match=r"may run its author.s code"):
        wb.load(path)
    opened = torch.export.load(path) if dialect == "relax" else torch.jit.load(str(path))
    assert wb.load(opened, inputs=None if dialect == "relax" else [(1, 3, 6, 6)]).graph.ops


def test_looking_at_other_objects_does_not_import_torch(dialect: str) -> None:
    import subprocess

    code = "import sys, workbench as wb\ntry: wb.load(object())\nexcept wb.WorkbenchError: pass\nprint('torch' in sys.modules, 'onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("name", ["transformer", "small"])
def test_both_compilers_take_an_exported_program(name: str, dialect: str, request: Any, tell: Any) -> None:
    pytest.importorskip("onnxscript", reason="torch.onnx.export needs it; make pytorch")
    module = request.getfixturevalue(name)
    example = torch.zeros(1, LENGTH, WIDE) if name == "transformer" else torch.zeros(1, 3, 6, 6)
    found = wb.compare_compilers(torch.export.export(module, (example,)), budget=0)
    (pair,) = found.pairs
    tell(f"{name} exported, from {dialect}: {pair.exact:.1%} aligned exactly\n{found}")
    assert [side.status for side in pair.sides] == ["ok", "ok"], str(found)
    assert [check.same for check in pair.checks] == [True] * 3, str(found)
    assert pair.exact > 0.95
    layer = "layers.0.query." if name == "transformer" else "stem."
    assert any(source.startswith(layer) for row in pair.rows for source in row.sources)


def test_an_exported_program_with_open_dimensions_takes_shapes(small: Small, dialect: str) -> None:
    pytest.importorskip("onnxscript", reason="torch.onnx.export needs it; make pytorch")
    batch = torch.export.Dim("batch", min=1, max=8)
    program = torch.export.export(small, (torch.zeros(2, 3, 6, 6),), dynamic_shapes=({0: batch},))
    (pair,) = wb.compare_compilers(program, {"image": (3, 3, 6, 6)}, budget=0).pairs
    assert [check.same for check in pair.checks] == [True] * 3, str(pair)
    assert pair.left.kernels is not None
    assert "(3, 2) float32" in str(pair.left.kernels.rows[-1]["outputs"])


def test_a_program_that_cannot_be_exported_gives_a_sentence(
    small: Small, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LoadError, match=r"a PyTorch module is not exported; give torch\.export\.export"):
        wb.compare_compilers(small)
    program = torch.export.export(Strange().eval(), (torch.zeros(4, 4),))
    with pytest.raises(LoadError, match=r"PyTorch cannot write the program as ONNX: .*; write the file with"):
        wb.compare_compilers(program)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(LoadError, match=r"needs the package onnxscript; pip install"):
        wb.compare_compilers(program)


class Sampled(torch.nn.Module):
    def forward(self, x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.grid_sample(x, grid, align_corners=False).relu()


class Noisy(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.randn(2, 3)


class Chunked(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=1)
        return torch.cat([second, first.relu()], 1)


def test_a_shape_that_the_importer_has_wrong_is_noted(dialect: str) -> None:
    loaded = wb.load(Sampled().eval(), inputs=[(1, 2, 5, 6), (1, 3, 4, 2)])
    wrong = "TVM imports the node grid_sampler_2d as 1 x 2 x 4 x 2, and in the model it is 1 x 2 x 3 x 4 (and 1 more)"
    # Relay's importer transposes the grid
    assert [note.partition(":")[0] for note in loaded.notes] == [wrong] * (dialect == "relax")


def test_random_numbers_of_the_import_are_noted(dialect: str) -> None:
    # PyTorch warns of it too when it traces the module
    notes = [
        note for note in wb.load(Noisy().eval(), inputs=[(2, 3)]).notes if note.startswith("the model draws random")
    ]
    assert [("randn" in note, "the same ones in each run" in note) for note in notes] == [(True, True)]


def test_chunks_of_the_older_exporter_have_shapes(dialect: str, tmp_path: Path) -> None:
    example = torch.ones(1, 4, 3, 3)
    path = onnx_of(Chunked().eval(), example, tmp_path / "m.onnx", dynamo=False, opset_version=17)
    assert [node.op.removeprefix("relax.") for node in wb.load(path).graph.ops][:2] == ["strided_slice"] * 2
