"""How much memory a child may hold, and what is read of it from the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

from workbench.worker import limits

MIB = 1 << 20


def in_child(program: str) -> str:
    lines = "from workbench.worker import limits as memory\nMIB = 1 << 20\n" + program
    return subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True).stdout.strip()


def test_what_is_held_grows_with_what_is_taken() -> None:
    assert int(in_child("a = memory.resident(); b = b'1' * (64 * MIB); print(memory.resident() - a)")) > 60 * MIB


def test_a_mapped_file_is_not_held(tmp_path) -> None:
    (tmp_path / "numbers").write_bytes(b"1" * (64 * MIB))
    program = f"""
import mmap
a = memory.resident()
with open({str(tmp_path / "numbers")!r}) as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    total = sum(mapped[place] for place in range(0, len(mapped), 4096))
    print(memory.resident() - a)
"""
    assert int(in_child(program)) < 16 * MIB


def test_more_than_the_limit_is_refused_and_then_allowed_again() -> None:
    program = """
with memory.limited(memory.resident() + 100 * MIB):
    try:
        bytearray(1 << 30)
        print("given")
    except MemoryError:
        print("refused")
bytearray(1 << 30)
print("given")
"""
    assert in_child(program).split() == ["refused", "given"]


def test_what_is_allowed_is_given() -> None:
    assert in_child("with memory.limited(memory.resident() + 200 * MIB): print(len(bytearray(100 * MIB)))") == str(
        100 * MIB
    )


@pytest.mark.parametrize(("memory_asked", "held"), [(5 * MIB, 0), (5 * MIB, 9 * MIB)])
def test_what_the_user_says_is_the_limit(memory_asked: int, held: int) -> None:
    assert limits.limit(memory_asked, held) == memory_asked


def test_the_limit_by_default_leaves_a_part_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "free", lambda: 1000)
    assert limits.limit(None, 500) == 500 + 900
    monkeypatch.setattr(limits, "free", lambda: None)
    assert limits.limit(None, 500) is None


def test_a_containers_limit_counts_where_it_is_tighter(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    monkeypatch.setattr(limits, "_PROC", tmp_path)
    monkeypatch.setattr(limits, "_GROUP", tmp_path)
    assert limits.free() == 8000 * 1024
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert limits.free() == 8000 * 1024
    (tmp_path / "memory.max").write_text("3000\n")
    assert limits.free() == 2000


def test_the_systems_own_kills_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(limits, "_PROC", tmp_path)
    monkeypatch.setattr(limits, "_GROUP", tmp_path)
    assert limits.kills() == 0
    (tmp_path / "vmstat").write_text("oom_kill_count 9\noom_kill 2\n")
    (tmp_path / "memory.events").write_text("oom 7\noom_kill 1\n")
    assert limits.kills() == 3


@pytest.mark.parametrize(
    ("words", "so"),
    [
        ("TVMError: std::bad_alloc", True),
        ("MemoryError: Unable to allocate 4.00 TiB", True),
        ("InternalError: CUDA: out of memory", True),
        ("Check failed: Cannot allocate memory symbolic tensor shape [T.Any()]", False),
        ("ValueError: no", False),
    ],
)
def test_an_error_that_means_memory_is_told_by_its_words(words: str, so: bool) -> None:
    assert limits.ran_out(words) is so
