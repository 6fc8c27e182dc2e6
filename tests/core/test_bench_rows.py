"""The benchmarks' rows: printed as they come, written after each part, and the reason where a figure is missing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.__main__ import README_ROWS, README_TABLE, RESULTS, ROOT, files_key, main, readme_table
from benchmarks.bar import Bar, attempted, read, show, table

ROW = {"what": "a layout", "ours": 1.5, "unit": "ms"}


def part(folder: Path, name: str, *lines: str) -> tuple[str, ...]:
    """A part that counts its runs in a file, prints a row and then runs some lines."""
    counted = f"open({str(folder / name)!r}, 'a').write('x')"
    program = "\n".join(
        ["import os, sys, time", counted, f"print({json.dumps(ROW | {'what': name})!r}, flush=True)", *lines]
    )
    return sys.executable, "-c", program


def runs(folder: Path, name: str) -> int:
    return len((folder / name).read_text()) if (folder / name).exists() else 0


def written(to: Path) -> dict[str, list[dict[str, object]]]:
    return {name: part["bars"] for name, part in json.loads(to.read_text()).items()} if to.exists() else {}


def wait(true: Callable[[], object]) -> None:
    ends = time.monotonic() + 60
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_row_without_a_figure_is_reported() -> None:
    good = {**ROW, "peer": "dot", "peer_figure": 3.0, "bar": "2x", "met": True}
    bars = read(
        "\n".join(map(json.dumps, [good, {"what": "no figure", "unit": "ms"}, {**good, "ours": "1.5"}])) + "\nTVM"
    )
    assert [bar.met for bar in bars] == [True, False, False]
    assert [bar.failed for bar in bars] == [False, True, True]
    assert bars[0].ratio == 0.5
    assert all("failed" in bar.line() and "MISSED" in bar.line() for bar in bars[1:])


def test_broken_line_does_not_end_the_run() -> None:
    (bar,) = read('{"what": "a layout", "ours": ')
    assert bar.failed


def test_rows_are_printed_before_the_next_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    def rows() -> Iterator[Bar]:
        yield Bar("first", 1, "ms")
        assert "first" in capsys.readouterr().out
        yield Bar("second", 2, "ms")

    show(rows())
    assert "second" in capsys.readouterr().out


def test_measurement_that_raises_keeps_its_rows() -> None:
    def rows() -> Iterator[Bar]:
        yield Bar("first", 1, "ms")
        raise ValueError("no picture\nand more")

    first, last = attempted("a graph", rows)
    assert (first.failed, last.failed, last.what, last.note) == (False, True, "a graph", "failed: no picture")


def test_failed_parts_are_rows_and_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    to = tmp_path / "results.json"
    parts = {
        "raises": part(tmp_path, "raises", "raise ValueError('no such graph')"),
        "exits": part(tmp_path, "exits", "sys.exit(3)"),
        "absent": (str(tmp_path / "no-python"),),
        "good": part(tmp_path, "good"),
    }
    assert main([], parts, to) == 1
    rows = written(to)
    assert [*rows] == [*parts]
    for name, reason in (("raises", "no such graph"), ("exits", "status 3"), ("absent", "no-python")):
        assert reason in str(rows[name][-1]["note"])
        assert rows[name][-1]["met"] is False
    assert [row["what"] for row in rows["raises"]] == ["raises", "raises"]  # its row, and the failure
    assert rows["good"] == [
        {**ROW, "what": "good", "peer": "", "peer_figure": None, "bar": "", "met": None, "note": ""}
    ]
    assert main([], {**parts, "raises": part(tmp_path, "raises")}, to) == 1
    assert [runs(tmp_path, name) for name in ("raises", "exits", "good")] == [2, 2, 1]
    assert [row["what"] for row in written(to)["raises"]] == ["raises"]
    # the row that is kept is printed again
    assert sum(line.startswith("good ") for line in capsys.readouterr().out.splitlines()) == 2


def test_named_part_is_measured_anew(tmp_path: Path) -> None:
    to, parts = tmp_path / "results.json", {name: part(tmp_path, name) for name in ("one", "two")}
    assert main([], parts, to) == 0
    assert main(["two"], parts, to) == 0
    assert [runs(tmp_path, name) for name in parts] == [1, 2]
    assert [*written(to)] == ["one", "two"]
    with pytest.raises(SystemExit, match="no part 'three'"):
        main(["three"], parts, to)


def test_late_part_is_a_row_and_ends_with_its_children(tmp_path: Path) -> None:
    to = tmp_path / "results.json"
    child = (
        f"import subprocess; open({str(tmp_path / 'pid')!r}, 'w').write(str(subprocess.Popen(['sleep', '600']).pid))"
    )
    parts = {"late": part(tmp_path, "late", child, "time.sleep(600)"), "next": part(tmp_path, "next")}
    assert main([], parts, to, seconds=3) == 1
    assert [row["note"] for row in written(to)["late"]] == ["", "failed: not done after 3 s"]
    assert runs(tmp_path, "next") == 1
    pid = int((tmp_path / "pid").read_text())

    def ended() -> bool:
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text().rsplit(") ", 1)[1][0] == "Z"

    wait(ended)


def test_killed_run_is_resumed(tmp_path: Path) -> None:
    to, log = tmp_path / "results.json", tmp_path / "log"
    slow = part(tmp_path, "slow", f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))", "time.sleep(600)")
    first = {"quick": part(tmp_path, "quick"), "slow": slow}
    program = f"from pathlib import Path; from benchmarks.__main__ import main; main([], {first!r}, Path({str(to)!r}))"
    with log.open("w") as out:
        run = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=out)
    try:
        # the row of a part is on the screen before the part has ended
        wait(lambda: "slow" in log.read_text())
    finally:
        run.kill()
        run.wait()
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert [*written(to)] == ["quick"]
    assert main([], {**first, "slow": part(tmp_path, "slow")}, to) == 0
    assert [runs(tmp_path, name) for name in first] == [1, 2]


def test_another_edit_is_measured_anew(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True)

    git("init", "-q")
    (tmp_path / ".gitignore").write_text("made\n")
    (tmp_path / "a.py").write_text("1")
    git("add", ".")
    git("commit", "-qm", "first")
    keys = [files_key(tmp_path)]
    for text in ("2", "3"):
        (tmp_path / "a.py").write_text(text)
        keys.append(files_key(tmp_path))
    (tmp_path / "b.py").write_text("1")
    keys.append(files_key(tmp_path))
    assert len({*keys}) == len(keys)
    (tmp_path / "made").write_text("1")
    assert files_key(tmp_path) == keys[-1]
    git("add", ".")
    git("commit", "-qm", "the same files")
    assert files_key(tmp_path) == keys[-1]


def test_results_of_other_files_are_not_kept(tmp_path: Path) -> None:
    to, parts = tmp_path / "results.json", {"one": part(tmp_path, "one")}
    main([], parts, to)
    data = json.loads(to.read_text())
    data["one"]["on"]["files"] = "others"
    to.write_text(json.dumps(data))
    main([], parts, to)
    assert runs(tmp_path, "one") == 2


def test_readme_shows_the_last_run() -> None:
    kept = {row["what"] for bars in written(RESULTS).values() for row in bars if row["ours"] is not None}
    assert [what for what in README_ROWS if what not in kept] == []
    (shown,) = README_TABLE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown == readme_table()


def test_table_has_the_peers_of_a_row_side_by_side() -> None:
    bars = [
        Bar("a", 1234.5, "ms", "dot", 3000.0),
        Bar("a", 1234.5, "ms", "ELK", 87.4),
        Bar("b", None, ""),
        Bar("c", 1, "s"),
    ]
    assert table(bars, {"b": "a failure", "a": "layout", "d": "other"}).splitlines()[2:] == [
        "| a failure | failed |  |",
        "| layout | 1.2 s | dot: 3 s; ELK: 87 ms |",
        "| other | not measured |  |",
    ]
