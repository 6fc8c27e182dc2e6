"""The key of a crash is the same for the same crash in another process, at other sizes, and differs for another crash."""

from __future__ import annotations

from workbench.errors import MeasureError, WorkerLost
from workbench.experiments.symptoms import key_of


def test_addresses_numbers_and_folders_are_left_out() -> None:
    one = MeasureError("TVMError: /build/a/src/relay/op.cc:12: Check failed: (4, 8) vs (4, 8, 2) at 0x7ffe01")
    two = MeasureError("TVMError: /home/b/src/relay/op.cc:14: Check failed: (16) vs (1, 3) at 0x11")
    assert key_of(one) == key_of(two)


def test_another_message_is_another_crash() -> None:
    assert key_of(MeasureError("Check failed: a")) != key_of(MeasureError("Check failed: b"))


def test_signal_and_frames_identify_a_process_that_ended() -> None:
    lost = [WorkerLost(f"the child process ended during {job!r}", crash="SIGSEGV") for job in ("check", "look")]
    assert key_of(lost[0]) == key_of(lost[1])
    assert key_of(WorkerLost("the child process ended during 'check'", crash="SIGABRT")) != key_of(lost[0])
