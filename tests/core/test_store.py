"""The file of measurements: every row is kept at once, whoever else writes, and what is damaged is set aside."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing

import numpy as np
import pytest

import workbench as wb
from workbench.errors import StoreError
from workbench.measurement import store as stored
from workbench.measurement.row import Row, table
from workbench.measurement.store import VARIABLE, Store, append, place


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "rows.sqlite"


@pytest.fixture
def store(path):
    return Store(path)


def row(number=0, **other):
    return {"workload_hash": "a", "machine": "m", "tvm": "t", "number": number, **other}


def measured(number=0, **other):
    return Row("opt 0", "llvm", "llvm", "", **row(number, **other))


def numbers(store):
    return [kept["number"] for kept in store.rows()]


def started(code, *arguments):
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom workbench.measurement.store import Store\n"
        + textwrap.dedent(code)
    )
    return subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


WRITES = """
    store = Store(Path(sys.argv[1]))
    for number in range(int(sys.argv[2]), int(sys.argv[3])):
        store.append({"workload_hash": "a", "machine": "m", "tvm": "t", "number": number})
    print("written", flush=True)
"""


def test_a_row_comes_back_as_it_was(store):
    given = row(samples=[1e-06, 2.5e-06], message="déjà vu", check=None, noop=True, per_kernel=[{"index": 0}])
    store.append(given)
    assert store.rows() == [given]


def test_numbers_of_numpy_are_kept_as_numbers(store):
    store.append(row(median_us=np.float32(0.5), kernels=np.int64(3), samples=np.array([1.0, 2.0])))
    kept = store.rows()[0]
    assert (kept["median_us"], kept["kernels"], kept["samples"]) == (0.5, 3, [1.0, 2.0])


def test_an_error_that_is_infinite_is_kept(store):
    store.append(row(max_rel_error=float("inf")))
    assert store.rows()[0]["max_rel_error"] == float("inf")


def test_rows_of_one_workload_in_the_order_they_came(store):
    for number, which in enumerate("abab"):
        store.append(row(number, workload_hash=which))
    assert [kept["number"] for kept in store.rows("b")] == [1, 3]
    assert numbers(store) == [0, 1, 2, 3]


def test_no_file_is_no_rows_and_makes_none(store, path):
    assert store.rows() == []
    assert not path.exists()


def test_it_is_a_write_ahead_log_with_its_version(store, path):
    store.append(row())
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert file.execute("PRAGMA user_version").fetchone() == (stored.VERSION,)
    file.close()


def test_a_row_that_is_no_data_is_a_mistake_of_the_program(store):
    with pytest.raises(TypeError, match="object"):
        store.append(row(thing=object()))


# -- several notebooks


def test_two_writers_at_once_lose_nothing(store, path):
    writers = [started(WRITES, path, 100 * which, 100 * which + 40) for which in range(2)]
    for writer in writers:
        assert writer.communicate(timeout=60)[0] == "written\n"
    assert sorted(numbers(store)) == [*range(40), *range(100, 140)]
    first = [number for number in numbers(store) if number < 100]
    assert first == sorted(first)


def test_a_kernel_killed_right_after_has_lost_no_row(store, path):
    writer = started(WRITES + "    import time; time.sleep(60)", path, 0, 3)
    assert writer.stdout.readline() == "written\n"
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    assert numbers(store) == [0, 1, 2]
    store.append(row(3))
    assert numbers(store) == [0, 1, 2, 3]


def test_a_kernel_killed_while_it_writes_leaves_whole_rows_and_no_lock(store, path):
    writer = started(WRITES.replace('print("written", flush=True)', ""), path, 0, 100_000)
    while len(store.rows()) < 5:
        assert writer.poll() is None
    writer.kill()
    writer.communicate()
    kept = numbers(store)
    assert kept == list(range(len(kept)))
    store.append(row(-1))
    assert numbers(store) == [*kept, -1]


# -- damage


def begins_with_rubbish(path):
    data = bytearray(path.read_bytes())
    data[:100] = b"x" * 100
    path.write_bytes(data)


def is_cut_short(path):
    path.write_bytes(path.read_bytes()[:5000])


def has_rubbish_inside(path):
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


def is_text(path):
    path.write_text("these are no measurements\n" * 100)


@pytest.fixture(params=[is_cut_short, has_rubbish_inside])
def damaged(request, store, path):
    for number in range(50):
        store.append(row(number))
    request.param(path)
    stored._checked.clear()  # as a notebook that is started later
    return path


def test_a_damaged_file_is_set_aside_whole_and_a_new_one_begun(store, damaged):
    before = damaged.read_bytes()
    with pytest.warns(RuntimeWarning, match=r"rows.sqlite.damaged-20"):
        store.append(row(7))
    assert numbers(store) == [7]
    (aside,) = damaged.parent.glob("rows.sqlite.damaged-*")
    assert aside.read_bytes() == before


def test_a_damaged_file_that_is_read_is_set_aside_too(store, damaged):
    with pytest.warns(RuntimeWarning, match="was damaged"):
        assert store.rows() == []


def test_a_file_damaged_while_in_use_is_set_aside(store, path):
    for number in range(50):
        store.append(row(number))
    has_rubbish_inside(path)
    with pytest.warns(RuntimeWarning, match="was damaged"):
        store.append(row(7))
    assert numbers(store) == [7]


def test_the_second_notebook_that_finds_the_damage_leaves_the_new_file_alone(store, path):
    for number in range(50):
        store.append(row(number))
    has_rubbish_inside(path)
    which = stored.identity(path)
    with pytest.warns(RuntimeWarning, match="was damaged"):
        store.append(row(1))
    stored.set_aside(path, which)
    assert numbers(store) == [1]


def test_two_damaged_files_of_one_second_are_both_kept(store, path):
    for _ in range(2):
        for number in range(50):
            store.append(row(number))
        has_rubbish_inside(path)
        with pytest.warns(RuntimeWarning, match="was damaged"):
            store.append(row())
    assert len(list(path.parent.glob("rows.sqlite.damaged-*"))) == 2


# -- files that are not to be touched


def test_a_newer_format_is_refused_and_untouched(store, path):
    store.append(row())
    file = sqlite3.connect(path)
    file.execute(f"PRAGMA user_version={stored.VERSION + 1}")
    file.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="newer tvm-workbench"):
        store.append(row())
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1])
def test_a_database_of_something_else_is_refused_and_untouched(store, path, version):
    path.parent.mkdir()
    file = sqlite3.connect(path)
    file.execute("CREATE TABLE letters (text)")
    file.execute(f"PRAGMA user_version={version}")
    file.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is a file of something else"):
        store.append(row())
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*damaged*"))


def is_binary(path):
    path.write_bytes(bytes(range(256)) * 20)


def is_short(path):
    path.write_bytes(b"SQLite")


@pytest.mark.parametrize("write", [is_text, is_binary, is_short, begins_with_rubbish])
def test_another_file_is_refused_and_untouched(store, path, write):
    store.append(row())
    write(path)
    stored._checked.clear()
    before = path.read_bytes()
    for use in (lambda: store.append(row()), store.rows):
        with pytest.raises(StoreError, match="file of something else"):
            use()
    assert [path.read_bytes(), *path.parent.glob("*damaged*")] == [before]


def test_pipe_is_refused_without_waiting_for_a_writer(store, path):
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(StoreError, match="file of something else"):
        store.rows()


def changed(path, *statements):
    with closing(sqlite3.connect(path)) as file:
        for statement in statements:
            file.execute(statement)
        file.commit()


def test_view_in_the_place_of_the_rows_is_refused(store, path):
    store.append(row())
    endless = (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x id, x workload_hash, x data FROM c"
    )
    changed(path, "DROP TABLE rows", f"CREATE VIEW rows AS {endless}")
    with pytest.raises(StoreError, match="file of something else"):
        store.rows()


@pytest.mark.parametrize(
    "data",
    ["{", "1", "no json", "[1]", "[" * 100_000, '{"machine": {}}', '{"a": 1e400}', b"\xff", 5, '{"a": 1, "a": 1}'],
)
def test_damaged_row_is_left_out_alone(store, path, data, monkeypatch):
    store.append(row(1))
    changed(
        path, "INSERT INTO rows (workload_hash, machine, tvm, data) SELECT workload_hash, machine, tvm, '' FROM rows"
    )
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE rows SET data = ? WHERE id = 2", (data,))
        file.commit()
    store.append(row(3))
    assert store.read() == ([row(1), row(3)], 1)
    monkeypatch.setenv(VARIABLE, str(path))
    frame = wb.history(everywhere=True)
    assert (list(frame["number"]), frame.attrs["note"]) == ([1, 3], "1 damaged row left out")


def test_a_place_that_cannot_be_written_is_said_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="name another in TVM_WORKBENCH_STORE"):
        Store(tmp_path / "file" / "rows.sqlite").append(row())


# -- where it is


def test_the_variable_names_the_file(monkeypatch, path):
    monkeypatch.setenv(VARIABLE, str(path))
    append(measured(5))
    assert place() == path
    assert numbers(Store(path)) == [5]


def test_off_keeps_nothing(monkeypatch):
    monkeypatch.setenv(VARIABLE, "off")
    assert place() is None
    append(measured())


def test_without_the_variable_it_is_in_the_users_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert place() == tmp_path / "tvm-workbench" / "measurements.sqlite"


def test_a_row_that_cannot_be_kept_is_a_warning_not_an_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "rows.sqlite"))
    with pytest.warns(RuntimeWarning, match="this row is not kept"):
        append(measured())


def test_the_tests_do_not_write_to_the_users_own_file():
    assert os.environ[VARIABLE].endswith("tests.sqlite")


def test_what_is_kept_can_be_read_without_us(store, path):
    store.append(row(median_us=1.5))
    file = sqlite3.connect(path)
    ((data,),) = file.execute("SELECT data FROM rows").fetchall()
    file.close()
    assert json.loads(data)["median_us"] == 1.5


@pytest.mark.parametrize("big", [2**63, -(2**63) - 1, 2**80, float("inf"), float("nan"), 0.5, "many"])
def test_number_that_no_column_holds_is_named_in_its_row(store, big):
    rows = [row(traffic_bytes=7, message=""), row(traffic_bytes=big, flops=1, message="slow"), row(flops=2**63 - 1)]
    for given in rows:
        store.append(given)
    for data in (rows, store.rows()):
        shown = table([Row("opt 0", "llvm", "llvm", "", **known) for known in data])
        assert list(shown.traffic_bytes.fillna(-1)) == [7, -1, -1]
        assert list(shown.flops.fillna(-1)) == [-1, 1, 2**63 - 1]
        assert shown.message[1] == "slow; traffic_bytes left out: not a whole number of 64 bits"
        assert shown.message[0] == ""


def test_huge_kernel_is_a_row_of_its_table():
    from workbench.measurement.kernels import Kernels
    from workbench.pipeline.config import Config

    rows = ({"index": 0, "flops": 2**70}, {"index": 1, "flops": 5})
    assert list(Kernels(rows, "llvm", Config(), 0.0, {}).table.flops.fillna(-1)) == [-1, 5]
