"""What needs no TVM of models from elsewhere: executor graphs, files of parameters, refusals."""

from __future__ import annotations

import copy
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from received_files import executor_graph, tvm_params

import workbench as wb
from workbench.cli import main
from workbench.dialects.importers.converting import refuse
from workbench.dialects.importers.files import build_graph
from workbench.dialects.importers.params import LIST, TENSOR, read_params
from workbench.errors import LoadError

SPLIT = executor_graph()


def test_an_executor_graph_is_read_and_shown_without_tvm(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(SPLIT))
    workload = wb.load(path)
    graph = workload.graph
    assert (graph.name, workload.dialect, len(workload.notes)) == ("graph", "relay", 1)
    assert [(node.kind, node.op, node.type) for node in graph.nodes] == [
        ("param", "x", "Tensor[(4, 6), float32]"),
        ("op", "fused_split", "(Tensor[(4, 3), float32], Tensor[(4, 3), float32])"),
        ("get_item", ".0", "Tensor[(4, 3), float32]"),
        ("get_item", ".1", "Tensor[(4, 3), float32]"),
        ("call", "__nop", "Tensor[(4, 3), float32]"),
        ("op", "fused_add_exp", "float32"),
        ("tuple", "tuple", "(Tensor[(4, 3), float32], float32)"),
    ]
    assert graph.inputs == ((), (0,), (1,), (1,), (2,), (4, 3), (3, 5))
    assert graph.kernel_count == 2, "an operator that does nothing is not a kernel"
    assert graph.nodes[5].attrs == {"storage_id": 3, "device_index": 2}
    assert [group.name for group in graph.groups if group.kind == "primitive"] == [
        "tvmgen_default_fused_split",
        "tvmgen_default_fused_add_exp",
    ]
    assert wb.load(path.read_text()).graph.nodes == graph.nodes
    assert main(["show", str(path), "-o", str(tmp_path / "g.html")]) == 0
    assert main(["export", str(path), str(tmp_path / "g.dot")]) == 0


def test_a_picture_is_refused_where_a_module_is_needed(tmp_path: Path) -> None:
    workload = wb.load(json.dumps(SPLIT))
    for use in (lambda: workload.module, workload.text):
        with pytest.raises(LoadError, match="load the model it was made of"):
            use()


def test_a_saved_graph_is_loaded(tmp_path: Path) -> None:
    graph = build_graph(SPLIT, "g")
    (tmp_path / "g.json").write_text(graph.to_json())
    workload = wb.load(tmp_path / "g.json")
    assert workload.graph == graph
    with pytest.raises(LoadError, match="saved graph"):
        _ = workload.module


def damaged(*path: Any, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(SPLIT)
    at: Any = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (damaged("nodes", 1, "op", value="Convolution"), "'Convolution': a graph of another runtime"),
        (damaged("nodes", 1, "inputs", value=[[3, 0, 0]]), "refers to nothing"),
        (damaged("nodes", 1, "inputs", value=[[0, 1, 0]]), "refers to nothing"),
        (damaged("nodes", 1, "inputs", value=[[-1, 0, 0]]), "refers to nothing"),
        (damaged("heads", value=[[9, 0, 0]]), "refers to nothing"),
        (damaged("node_row_ptr", value=[0]), "damaged"),
        (damaged("nodes", 1, "attrs", value=None), "damaged"),
        (damaged("nodes", 1, "attrs", "num_outputs", value="1000000000"), "outputs"),
        (damaged("attrs", "shape", 1, 0, value=[float("inf")]), "'shape' is a number, not a whole number"),
        (damaged("attrs", "shape", 1, 0, value=[1] * 1000), "does not have the type of a tensor"),
        (damaged("attrs", "storage_id", 1, 0, value={"a": 1}), "'storage_id' is an object"),
        (damaged("node_row_ptr", value=[0, -1, 3, 4, 5]), "node_row_ptr"),
        (damaged("nodes", 0, "name", value=json.loads("[" * 60 + "]" * 60)), "damaged"),
    ],
)
def test_a_damaged_executor_graph_is_a_load_error(data: Any, words: str) -> None:
    with pytest.raises(LoadError, match=words) as caught:
        wb.load(json.dumps(data))
    assert "\n" not in str(caught.value)


def test_half_an_executor_graph_is_told() -> None:
    text = json.dumps(SPLIT)
    with pytest.raises(LoadError, match="damaged"):
        wb.load(text[: text.index('"attrs": {"dltype')])


# -- parameters

ARRAYS = {
    "w": np.arange(6, dtype="float32").reshape(2, 3),
    "é.b": np.array(True),
    "h": np.array([1.5, -2], "float16"),
    "n": np.zeros((0, 3), "int64"),
}


@pytest.mark.parametrize("suffix", ["params", "npz"])
def test_parameters_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"p.{suffix}"
    np.savez(path, **ARRAYS) if suffix == "npz" else path.write_bytes(tvm_params(ARRAYS))
    found = read_params(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("cut", [0, 5, 30, 100, -1])
def test_parameters_that_are_cut_short_are_a_load_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "p.params"
    path.write_bytes(tvm_params(ARRAYS)[:cut])
    with pytest.raises(LoadError, match="cannot be read as parameters") as caught:
        read_params(path)
    assert "\n" not in str(caught.value)


def test_pickles_in_an_archive_are_not_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", a=np.array([object()], dtype=object))
    with pytest.raises(LoadError, match="cannot be read as parameters"):
        read_params(tmp_path / "p.npz")


def npy(header: str, values: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + values


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"


@pytest.mark.parametrize(
    "member",
    [
        b"",
        b"no array",
        npy(HEADER % "1000000000000,"),
        npy(HEADER % "2, 2", bytes(12)),
        npy(HEADER % "-1,", bytes(4)),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", bytes(8)),
        npy("{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", bytes(4)),
        npy("__import__('os').getpid()"),
        npy("[" * 5000),
        bytes(300 << 20),
    ],
    ids=["empty", "text", "huge", "short", "negative", "objects", "texts", "code", "deep", "bomb"],
)
def test_archive_with_a_damaged_member_is_a_load_error(tmp_path: Path, member: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "p.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("../w.npy", member)
    with pytest.raises(LoadError, match="cannot be read as parameters"):
        read_params(tmp_path / "p.npz")


def test_tensor_of_very_many_dimensions_is_a_load_error(tmp_path: Path) -> None:
    rank = 200_000
    tensor = struct.pack("<QQiiiBBH", TENSOR, 0, 1, 0, rank, 2, 32, 1) + struct.pack("<q", 1 << 60) * rank
    head = struct.pack("<QQQ", LIST, 0, 1) + struct.pack("<Q", 1) + b"w" + struct.pack("<Q", 1)
    (tmp_path / "p.params").write_bytes(head + tensor)
    with pytest.raises(LoadError, match="200000 dimensions"):
        read_params(tmp_path / "p.params")


# -- refusals


@pytest.mark.parametrize(
    "source", ["a\0.json", Path("a\0.json"), Path("a\0.relay"), "x" * 3000 + ".json", "\ud800 = add(%x)\n"]
)
def test_source_that_cannot_be_a_path_or_a_text_is_a_load_error(source: Any) -> None:
    with pytest.raises(LoadError) as caught:
        wb.load(source)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".pt2", ".PT"])
def test_files_of_pytorch_are_not_opened_and_the_message_says_why_and_what_instead(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(LoadError, match=r"may run its author's code.*wb\.load\(torch\.export\.load"):
        wb.load(tmp_path / f"absent{suffix}")


def test_unsupported_operators_are_said_at_once_with_places() -> None:
    found = [("A", "a1"), ("B", ""), ("C", "c1"), ("A", "a2"), ("A", "a3"), ("A", "a4"), ("B", "")]
    with pytest.raises(LoadError) as caught:
        refuse(found, {"C"}, "operators")
    assert "2 of the model's operators: A (4 times: 'a1', 'a2', 'a3', ...); B (2 times);" in str(caught.value)
    refuse(found, {"A", "B", "C"}, "operators")
