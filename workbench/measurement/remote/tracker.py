"""TVM's RPC tracker and its protocol: a magic number, then JSON messages with their length before them.

The protocol is that of tvm/rpc/tracker.py, the same in every TVM that has Relay and in the current one. It is implemented
without TVM, so the notebook can list the devices, and every wait has a limit.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import MeasureError, NoServer
from workbench.graph.received import Damaged, fields, parse
from workbench.quoting import shell
from workbench.target_text import target_fields, with_option
from workbench.terminal import visible

MAGIC = 0x2F271
SUCCESS, REQUEST, SUMMARY = 0, 4, 6
ANSWER_SECONDS = 10.0
"the time that a working tracker may take to answer"
SERVERS = 3
"servers that a row is tried on, if they go away"
MOST_BYTES = 1 << 24
"of one message; a tracker sends smaller ones"
MOST_VALUES = 1_000_000


@dataclass(frozen=True)
class Tracker:
    """TVM's RPC tracker, and the key under which servers offer their devices.

    Examples
    --------
    >>> wb.Tracker("10.0.0.5", 9190, "board")
    Tracker(host='10.0.0.5', port=9190, key='board', priority=1, session_timeout=60.0)
    """

    host: str
    port: int
    key: str
    "as given to `python -m tvm.exec.rpc_server --key`"
    priority: int = 1
    "requests of a higher priority are served first"
    session_timeout: float = 60.0
    "seconds that one row may hold a device; the server ends a longer session"

    def __str__(self) -> str:
        return visible(f"{self.host}:{self.port} {self.key}")

    def servers(self) -> list[str]:
        """Return the addresses of the servers that offer the key, including busy ones, as `host:port`."""
        return sorted(place for key, place in self._offers() if key == self.key)

    def keys(self) -> list[str]:
        return sorted({key for key, _ in self._offers()})

    def _offers(self) -> list[tuple[str, str]]:
        with _line(self) as line:
            _send(line, [SUMMARY])
            found = []
            for server in fields(_succeeded(self, _received(line)), {"server_info": list})["server_info"]:
                offered = fields(server, {"key": str, "addr": list})
                address = _listed(offered["addr"], {0: str, 1: int})
                found.append((offered["key"].removeprefix("server:"), f"{address[0]}:{address[1]}"))
            return found

    def for_job(self, wait: float) -> dict[str, Any]:
        """Return the `tracker` of a job's request: the fields, and the seconds to wait for a device."""
        return {**vars(self), "wait": wait}

    def patience(self, timeout: float) -> float:
        """Return the timeout of a job that may run for `timeout`: the tracker's own limits expire first, with a better error."""
        return timeout + SERVERS * (self.session_timeout + 30)

    def lent(self, wait: float) -> Lent:
        """Return a device, once one is free; NoServer if none offers the key, or none became free in `wait` seconds."""
        deadline = time.monotonic() + wait
        with _line(self) as line:
            _send(line, [REQUEST, self.key, "", self.priority])
            while not _readable(line, min(1.0, max(0.0, deadline - time.monotonic()))):
                self.check()
                if time.monotonic() >= deadline:
                    raise NoServer(
                        f"no device with the key {self.key!r} became free within {wait:g} s at the tracker "
                        f"{self.host}:{self.port}; others hold them: wait, or start another server"
                    )
            lent = _listed(_succeeded(self, _received(line)), {0: str, 1: int, 2: str})
        return Lent(lent[0], lent[1], lent[2])

    def check(self) -> None:
        """Raise NoServer where no server offers the key."""
        if self.servers():
            return
        keys = self.keys()
        others = f"it has {', '.join(map(repr, keys))}" if keys else "it has none at all"
        raise NoServer(
            f"no server offers the key {self.key!r} at the tracker {self.host}:{self.port} ({others}); start one with "
            f"`python -m tvm.exec.rpc_server --tracker {shell(f'{self.host}:{self.port}')} --key {shell(self.key)}`"
        )


@dataclass(frozen=True)
class Lent:
    """A server that waits for the workbench."""

    host: str
    port: int
    match: str
    "the match key that it expects"

    def __str__(self) -> str:
        return visible(f"{self.host}:{self.port}")


@contextlib.contextmanager
def _line(tracker: Tracker) -> Iterator[socket.socket]:
    """Yield a connection to the tracker; its failures are raised as errors of one sentence."""
    place = f"{tracker.host}:{tracker.port}"
    try:
        with socket.create_connection((tracker.host, tracker.port), ANSWER_SECONDS) as line:
            line.sendall(struct.pack("<i", MAGIC))
            if struct.unpack("<i", _exactly(line, 4))[0] != MAGIC:
                raise MeasureError(
                    f"the program that answers at {place} is not an RPC tracker of TVM; check host and port"
                )
            yield line
    except (OSError, EOFError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NoServer(
            f"the tracker at {place} does not answer as one ({reason}); start it with "
            f"`python -m tvm.exec.rpc_tracker --port {shell(tracker.port)}`, or check host and port"
        ) from error


def _listed(values: Any, types: Mapping[int, type]) -> dict[int, Any]:
    if not isinstance(values, list) or len(values) != len(types):
        raise Damaged(f"a list of {len(types)} is expected")
    return fields(dict(enumerate(values)), types)


def _send(line: socket.socket, message: list[object]) -> None:
    data = json.dumps(message).encode()
    line.sendall(struct.pack("<i", len(data)) + data)


def _received(line: socket.socket) -> Any:
    (length,) = struct.unpack("<i", _exactly(line, 4))
    if not 0 < length <= MOST_BYTES:
        raise ValueError(f"a message of {length} bytes")
    return parse(_exactly(line, length), MOST_VALUES)


def _succeeded(tracker: Tracker, answer: Any) -> Any:
    if not isinstance(answer, list) or len(answer) != 2 or type(answer[0]) is not int:
        raise Damaged("an answer is not a pair of a number and a value")
    if answer[0] != SUCCESS:
        raise MeasureError(f"the tracker at {tracker.host}:{tracker.port} refused: {answer[1]!s:.200}")
    return answer[1]


def _exactly(line: socket.socket, length: int) -> bytes:
    data, deadline = bytearray(), time.monotonic() + ANSWER_SECONDS
    while len(data) < length:
        if time.monotonic() > deadline:
            raise TimeoutError(f"it sent {len(data)} of {length} bytes in {ANSWER_SECONDS:g} s")
        part = line.recv(length - len(data))
        if not part:
            raise EOFError("it hung up")
        data += part
    return bytes(data)


def _readable(line: socket.socket, seconds: float) -> bool:
    line.settimeout(max(seconds, 0.001))
    try:
        line.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        return False
    else:
        return True
    finally:
        line.settimeout(ANSWER_SECONDS)


def target_there(target: str) -> str:
    """Return a target that gets nothing from this machine's CPU or GPU: plain `llvm` is any CPU, plain `cuda` is refused."""
    fields = target_fields(target)
    if fields["kind"] == "llvm" and not {"mcpu", "mtriple"} & set(fields):
        return with_option(target, "mcpu", "generic")
    if fields["kind"] == "cuda" and "arch" not in fields:
        raise MeasureError(
            "write the architecture of the device's GPU: cuda -arch=sm_..; this machine's own is not the device's"
        )
    return target
