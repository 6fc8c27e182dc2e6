"""TVM's own RPC tracker and servers on this machine's loopback, to be killed when a test wants it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

from workbench.errors import MeasureError
from workbench.measurement.remote.tracker import Tracker

START_SECONDS = 60
LOADING = "Loading on "
"what a row says first when a server is lent to it"


class Park:
    """A tracker, and servers by their port."""

    def __init__(self, key="board"):
        self.tracker = Tracker("127.0.0.1", _free_port(), key)
        port = self.tracker.port
        self.processes = {
            port: _started("rpc_tracker", "--host=127.0.0.1", f"--port={port}", f"--port-end={port + 1}", "--silent")
        }
        # A server that finds no tracker yet tries again after five seconds.
        _until(lambda: not self.offered())

    def with_servers(self, count):
        """The servers, at least so many; more are started, and waited for, where there are fewer."""
        missing = count - len(self.offered())
        for _ in range(missing):
            port = _free_port()
            tracker = f"--tracker={self.tracker.host}:{self.tracker.port}"
            ports = (f"--port={port}", f"--port-end={port + 1}")
            self.processes[port] = _started(
                "rpc_server", "--host=127.0.0.1", *ports, tracker, f"--key={self.tracker.key}", "--silent"
            )
        _until(lambda: len(self.offered()) >= count)
        return self.offered()

    def offered(self):
        return self.tracker.servers()

    def kill(self, server):
        """End a server and what it does for its client, as if its plug were pulled."""
        os.killpg(self.processes[int(server.rpartition(":")[2])].pid, signal.SIGKILL)
        _until(lambda: server not in self.offered())

    def close(self):
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Overheard:
    """A way to a tracker on which every message to it is written down: give `tracker` in its place."""

    def __init__(self, tracker):
        self._there = (tracker.host, tracker.port)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.tracker = dataclasses.replace(tracker, host="127.0.0.1", port=self._socket.getsockname()[1])
        self.messages = []
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self):
        self._socket.close()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._socket.accept()
                there = socket.create_connection(self._there)
                threading.Thread(target=self._forward, args=(line, there), daemon=True).start()
                threading.Thread(target=_poured, args=(there, line), daemon=True).start()

    def _forward(self, line, there):
        with contextlib.suppress(OSError, EOFError):
            there.sendall(_exactly(line, 4))
            while True:
                head = _exactly(line, 4)
                message = _exactly(line, *struct.unpack("<i", head))
                self.messages.append(json.loads(message))
                there.sendall(head + message)
        there.close()


def _poured(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(4096):
            sink.sendall(data)
    sink.close()


def _exactly(line, length):
    data = b""
    while len(data) < length:
        part = line.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def _started(program, *arguments):
    # A group of its own: a server serves each client in a process of its own.
    command = [sys.executable, "-W", "ignore", "-m", f"tvm.exec.{program}", *arguments]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _free_port():
    with socket.create_server(("127.0.0.1", 0)) as made:
        return made.getsockname()[1]


def _until(ready):
    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(MeasureError):
            if ready():
                return
        assert time.monotonic() < deadline, "TVM's tracker or servers did not start"
        time.sleep(0.05)
