"""The tracker's protocol, against a stand-in that says what a tracker says, and worse; a real one is in test_remote.py."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from contextlib import closing

import pytest

from workbench.errors import MeasureError
from workbench.measurement.remote import tracker as protocol
from workbench.measurement.remote.tracker import MAGIC, REQUEST, SUMMARY, Lent, Tracker


def framed(value):
    data = json.dumps(value).encode()
    return struct.pack("<i", len(data)) + data


def raw(data):
    return struct.pack("<i", len(data)) + data


def summary(*servers):
    infos = [{"key": f"server:{key}", "addr": ["127.0.0.1", port]} for key, port in servers]
    return [0, {"queue_info": {}, "server_info": infos}]


class StandIn:
    """Answers each message by `answers`, a dict from its code to bytes, or None for silence."""

    def __init__(self, answers, magic=MAGIC):
        self.answers, self.magic = answers, magic
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.asked, self.drip = [], b""
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                line, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(line,), daemon=True).start()

    def serve(self, line):
        with closing(line):
            line.recv(4)
            line.sendall(struct.pack("<i", self.magic))
            while head := line.recv(4):
                message = json.loads(line.recv(struct.unpack("<i", head)[0]))
                self.asked.append(message)
                answer = self.answers.get(message[0])
                if answer is None:
                    time.sleep(5)
                    return
                line.sendall(answer)
                with contextlib.suppress(OSError):
                    for byte in self.drip:
                        time.sleep(0.05)
                        line.sendall(bytes([byte]))

    def close(self):
        self.socket.close()


@pytest.fixture
def stand_in():
    made = []

    def make(answers, **other):
        made.append(StandIn(answers, **other))
        return made[-1]

    yield make
    for one in made:
        one.close()


def at(stand_in, **other):
    return Tracker("127.0.0.1", stand_in.port, "board", **other)


def test_servers_of_the_key_only(stand_in):
    park = stand_in({SUMMARY: framed(summary(("board", 9092), ("phone", 9093), ("board", 9091)))})
    assert at(park).servers() == ["127.0.0.1:9091", "127.0.0.1:9092"]
    assert at(park).keys() == ["board", "phone"]


def test_a_device_is_asked_for_with_key_and_priority(stand_in):
    park = stand_in({REQUEST: framed([0, ["127.0.0.1", 9091, "board:0.5"]])})
    assert at(park, priority=7).lent(1) == Lent("127.0.0.1", 9091, "board:0.5")
    assert park.asked == [[REQUEST, "board", "", 7]]


def test_an_unknown_key_is_told_with_those_there_are(stand_in):
    park = stand_in({SUMMARY: framed(summary(("phone", 9093)))})
    with pytest.raises(MeasureError, match=r"no server offers the key 'board' .* \(it has 'phone'\); start one with"):
        at(park).check()


def test_a_tracker_without_servers_says_so(stand_in):
    with pytest.raises(MeasureError, match="it has none at all"):
        at(stand_in({SUMMARY: framed(summary())})).check()


def test_waiting_for_a_busy_device_ends(stand_in):
    park = stand_in({SUMMARY: framed(summary(("board", 9091)))})
    started = time.monotonic()
    with pytest.raises(MeasureError, match=r"became free within 0.3 s"):
        at(park).lent(0.3)
    assert time.monotonic() - started < 3


def test_waiting_ends_at_once_when_the_last_server_goes(stand_in):
    park = stand_in({SUMMARY: framed(summary())})
    started = time.monotonic()
    with pytest.raises(MeasureError, match="no server offers the key"):
        at(park).lent(60)
    assert time.monotonic() - started < 4


def test_no_tracker_is_said_in_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(MeasureError, match=rf"127.0.0.1:{port} does not answer as one .*rpc_tracker --port {port}"):
        Tracker("127.0.0.1", port, "board").servers()


def test_another_program_at_the_port_is_no_tracker(stand_in):
    with pytest.raises(MeasureError, match="is not an RPC tracker of TVM"):
        at(stand_in({}, magic=1)).servers()


@pytest.mark.parametrize(
    "answer",
    [
        struct.pack("<i", -5),
        struct.pack("<i", 0x7FFFFFFF),
        struct.pack("<i", 4) + b"\xff\xfe{]",
        framed("surprise"),
        framed([0, None]),
        framed([0, {"server_info": [{"addr": 3, "key": "server:board"}]}]),
        framed([0, {}]),
        framed([0, {"server_info": [{"addr": ["a", 1e3], "key": "server:board"}]}]),
        framed([0, {"server_info": [{"addr": ["a", 1], "key": None}]}]),
        framed([False, {"server_info": []}]),
        framed([0]),
        raw(b"[" * 100_000),
        raw(b"9" * 5000),
        raw(b'[0, {"server_info": [1e400]}]'),
        raw(b'[0, {"server_info": [' + b"[]," * 2_000_000 + b"[]]}]"),
    ],
    ids=range(15),
)
def test_rubbish_is_one_sentence(stand_in, answer):
    with pytest.raises(MeasureError, match="does not answer as one"):
        at(stand_in({SUMMARY: answer})).servers()


@pytest.mark.parametrize("answer", [[0, [1, 2, 3]], [0, ["a", "1", "m"]], [0, "abc"], [0, ["a", 1 << 70, "m"]]])
def test_lent_device_of_the_wrong_form_is_one_sentence(stand_in, answer):
    with pytest.raises(MeasureError, match="does not answer as one"):
        at(stand_in({REQUEST: framed(answer)})).lent(1)


def test_slow_answer_is_not_waited_for(stand_in, monkeypatch):
    monkeypatch.setattr(protocol, "ANSWER_SECONDS", 0.3)
    park = stand_in({SUMMARY: struct.pack("<i", 1000) + b" "})
    park.drip = b" " * 900
    with pytest.raises(MeasureError, match=r"of 1000 bytes in 0\.3 s"):
        at(park).servers()


def test_a_refusal_is_told(stand_in):
    with pytest.raises(MeasureError, match="refused: no"):
        at(stand_in({SUMMARY: framed([-1, "no"])})).servers()


def test_a_tracker_that_falls_silent_is_not_waited_for(stand_in, monkeypatch):
    monkeypatch.setattr(protocol, "ANSWER_SECONDS", 0.2)
    with pytest.raises(MeasureError, match="timed out"):
        at(stand_in({})).servers()


def test_it_says_what_it_is():
    assert str(Tracker("10.0.0.1", 9190, "board")) == "10.0.0.1:9190 board"
