"""Files and JSON from elsewhere: what is read, what is refused, and that neither takes much memory, time or stack."""

from __future__ import annotations

import io
import json
import math
import os
import re
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import json_values

import workbench as wb
from workbench.analysis.patterns.pattern import code
from workbench.analysis.patterns.text import parse as parse_pattern
from workbench.analysis.tensors import size_of
from workbench.debugging.lints.schedules import read_log
from workbench.debugging.remarks.result import Remarks
from workbench.dialects.importers import onnx_model, tflite_model
from workbench.dialects.importers.params import LIST, read_params
from workbench.dialects.relax.parser.expressions import Vocabulary
from workbench.dialects.relax.parser.source import find_program
from workbench.errors import LoadError
from workbench.experiments.schedules.database import begun, mend
from workbench.experiments.tuning import trial_log
from workbench.experiments.tuning.evaluate import Evaluator
from workbench.graph.received import DEPTH, Damaged, contents, fields, literal, parse, place
from workbench.target_text import target_text
from workbench.widgets.workbench import presets


@given(json_values)
def test_json_reads_back_equal(value):
    assert parse(json.dumps(value)) == value
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ('{"a":1,}', "not JSON"),
        ('["\x00"]', "not JSON"),
        ('"abc\\', "not JSON"),
        (b"\xff\xfe[\x00]\x00", "UTF-8"),
        ("\ufeff[]", "not JSON"),
        ('"\\ud800"', "UTF-8"),
        ('"\ud800"', "UTF-8"),
        ("[" * 10_000, "deeper"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "deeper"),
        ("[" * (DEPTH + 1) + "]" * (DEPTH + 1), "deeper"),
        ("1" * 100_000, "digits"),
        ("1e400", "the number 1e400"),
        ("[-1e999]", "the number -1e999"),
        ('{"a":1,"a":2}', "one key twice"),
        ("[" + "[]," * 200_000 + "1]", "more than 300000"),
        ('"' + '\\"' * 100_000, "not JSON"),
    ],
)
def test_unsound_json_is_refused(text, words):
    with pytest.raises(Damaged, match=words) as caught:
        parse(text, values=300_000)
    assert len(str(caught.value)) < 120


def test_brackets_and_commas_in_strings_do_not_count():
    value = {"text": '[[[,,,"\\' * 1000, "é\U0001f600": ["\\", "]"]}
    assert parse(json.dumps(value), values=9) == value


def test_infinite_and_undefined_numbers_are_read_as_python_writes_them():
    assert parse("[Infinity, -Infinity]") == [math.inf, -math.inf]
    assert math.isnan(parse("NaN"))


def test_deepest_json_is_read_far_down_a_stack():
    def call(depth):
        return parse("[" * DEPTH + "]" * DEPTH) if depth == 0 else call(depth - 1)

    assert call(500) == parse("[" * DEPTH + "]" * DEPTH)


def test_many_values_are_refused_before_they_take_memory():
    text = b"[" + b"[]," * 2_000_000 + b"[]]"
    tracemalloc.start()
    with pytest.raises(Damaged, match="more than 1000000 values"):
        parse(text, values=1_000_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 4 * len(text)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "an object is expected where it has a list"),
        ({"seconds": 1.0}, "lacks 'name'"),
        ({"name": None, "seconds": 1.0}, "'name' is null, not a text"),
        ({"name": "", "seconds": True}, "'seconds' is true or false, not a number"),
        ({"name": "", "seconds": 1.0, "depth": 1 << 63}, "'depth' is a number out of range"),
        ({"name": "", "seconds": math.nan}, "'seconds' is a number out of range"),
    ],
)
def test_fields_of_the_wrong_type_are_refused(value, words):
    with pytest.raises(Damaged, match=words):
        fields(value, {"name": str, "seconds": float} | {key: int for key in value if key == "depth"})


def test_optional_fields_may_be_missing():
    assert fields({"a": 1}, {"a": int, "b": int}, optional=True) == {"a": 1}


@pytest.mark.parametrize("value", [-1, 3, True, 1.0, "1", None])
def test_place_outside_is_refused(value):
    with pytest.raises(Damaged, match="refers to nothing"):
        place(value, 3, "start")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f()",
        "{[]: 1}",
        "{{}}",
        "\0",
        "(" * 300,
        "-" * 20_000 + "1",
        "[" * 90 + "+1" * 9000,
        "1+" * 9000 + "1",
        "'" * 70_000,
        "0x" + "f" * 5000,
        "[1, -9" + "9" * 40 + "]",
        "1e999",
    ],
)
def test_text_that_is_no_literal_is_refused(text):
    with pytest.raises(Damaged):
        literal(text)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)))
def test_literals_read_back_equal(value):
    assert literal(repr(value)) == value


READERS: dict[str, Callable[[Path], object]] = {
    **{f"m{suffix}": wb.load for suffix in (".relay", ".txt", ".log", ".json", ".py")},
    "m.onnx": onnx_model.read,
    "m.tflite": tflite_model.read,
    "m.params": read_params,
    "m.wbtrace": wb.Trace.open,
    "m.yaml": Remarks.open,
    "autotvm.log": read_log,
    "trials.jsonl": lambda path: trial_log.Trials(Evaluator(wb.load(_RELAY), ("time",)), path),
    "presets.json": lambda _: presets.load(),
    "about.json": lambda path: begun(path.parent, {}),
    "database_workload.json": lambda path: mend(path.parent),
}
"name of a file -> what reads it"
_RELAY = "def @main(%x: Tensor[(1), float32]) { exp(%x) }"


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def make_sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate((1 << 36) + 1)


@pytest.mark.parametrize("make", [make_pipe, make_link_to_a_device, make_sparse])
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_or_too_large_is_not_read(name, make, tmp_path, monkeypatch):
    path = tmp_path / name
    make(path)
    monkeypatch.setattr(presets, "place", lambda: path)
    monkeypatch.setattr(trial_log, "header", lambda _: {})
    tracemalloc.start()
    with pytest.raises((wb.WorkbenchError, OSError), match=r"not a file|bytes"):
        READERS[name](path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 24


OWN = {
    "dialects/arrays.py": "a folder that this package wrote",
    "dialects/importers/params.py": "the size is looked at, then the file is read value by value",
    "dialects/programs.py": "a folder that this package wrote",
    "dialects/relax/saved.py": "a folder that this package wrote",
    "dialects/relay/saved.py": "a folder that this package wrote",
    "environments/": "packages, and files that this package wrote",
    "graph/received.py": "the reader of received files",
    "lazy.py": "this package's own list of names",
    "measurement/boundaries/calibration.py": "a file of this package",
    "measurement/remote/executor.py": "a folder that this package wrote",
    "measurement/store.py": "the first bytes; then SQLite reads pages",
    "pipeline/load.py": "a folder that this package wrote",
    "widgets/base.py": "a file of this package",
    "worker/": "Linux's files about processes and memory",
}
"source -> the files that it reads without `received.contents`"


def test_received_files_are_read_by_one_function():
    package = Path(wb.__file__).parent
    reading = re.compile(r"\.read_(?:bytes|text)\(|open\([^()]*\"rb\"|\b(?:memmap|fromfile|loadtxt)\(")
    found = {str(path.relative_to(package)) for path in package.rglob("*.py") if reading.search(path.read_text())}
    assert not {name for name in found if not name.startswith(tuple(OWN))}
    assert all(any(name.startswith(own) for name in found) for own in OWN)


def test_a_file_is_read_up_to_its_limit(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert contents(path, 5) == b"12345"
    with pytest.raises(OSError, match=r"5 bytes.*at most 4"):
        contents(path, 4)


def npz(header: str, name: str = "w.npy") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (npz("-" * 9000), "nests too deep|header"),
        (npz("(" * 9000), "damaged|header"),
        (npz("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",)}"), "header|digits"),
        (npz("{'descr': '<f4', 'fortran_order': False, 'shape': (" + "9" * 30 + ",)}"), "cut short"),
        (struct.pack("<QQQQ", LIST, 0, 1, 1 << 20) + bytes(1 << 20), "a name in it has 1048576 bytes"),
        (struct.pack("<QQQ", LIST, 0, 1 << 40) + bytes(1 << 20), "two parameters of the name ''"),
    ],
)
def test_parameters_that_claim_too_much_are_refused(data, words, tmp_path):
    path = tmp_path / "m.params"
    path.write_bytes(data)
    with pytest.raises(LoadError, match=words):
        read_params(path)


_NAMES = Vocabulary(frozenset(), frozenset({"R.Tensor"}))
LONG = ("0x" + "f" * 5000, "9" * 5000, "-" + "9" * 50, "1" * 41)


@pytest.mark.parametrize("number", LONG, ids=["hex", "5000", "negative", "41"])
@pytest.mark.parametrize(
    "read",
    [
        lambda number: repr(wb.Pipeline.parse(f"FuseOps{{fuse_opt_level={number}}}")),
        lambda number: code(parse_pattern(f"wildcard().has_attr({{'a': {number}}})")),
        lambda number: target_text(f'{{"kind": "llvm", "num-cores": {number}}}'),
        lambda number: find_program(f"@R.function\ndef main(x: R.Tensor(({number},))):\n    return x\n", _NAMES),
        lambda number: literal(number),
        lambda number: parse(f"[{number}]"),
    ],
)
def test_numbers_of_many_digits_are_refused(number, read):
    with pytest.raises((wb.WorkbenchError, Damaged)):
        read(number)


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 50, "9" * 19])
def test_numbers_of_many_digits_in_relay_text_and_types_are_written_again(number):
    assert target_text(f"llvm -num-cores={number}") == f"llvm -num-cores={number}"
    assert size_of(f"Tensor[({number}), float{number}]") is None or len(number) < 20
    text = f"def @main(%x: Tensor[({number}), float32]) {{ clip(%x, a_min={number}, a_max={number}f, b={number}i64) }}"
    graph = wb.load(text).graph
    assert wb.Graph.from_json(graph.to_json()).ops[0].op == "clip"


def test_arrays_of_an_archive_are_read(tmp_path):
    np.savez(tmp_path / "m.npz", w=np.arange(6.0).reshape(2, 3))
    assert read_params(tmp_path / "m.npz")["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
