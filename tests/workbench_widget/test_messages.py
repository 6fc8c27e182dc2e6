"""What a broken or hostile page can send."""

from __future__ import annotations

import math

import pytest

pytestmark = pytest.mark.one_dialect

MALFORMED = [
    {},
    {"type": None},
    {"type": 3},
    {"type": "nothing"},
    {"type": "message"},
    {"type": "toggle"},
    {"type": "toggle", "index": "0", "enabled": True},
    {"type": "toggle", "index": 99, "enabled": True},
    {"type": "toggle", "index": -1, "enabled": False},
    {"type": "toggle", "index": 0, "enabled": "perhaps"},
    {"type": "toggle_context", "name": None, "enabled": True},
    {"type": "toggle_context", "name": ["FuseOps"], "enabled": True},
    {"type": "toggle_context", "name": "NoSuchPass", "enabled": True},
    {"type": "opt_level", "value": "three"},
    {"type": "opt_level", "value": 99},
    {"type": "opt_level", "value": math.nan},
    {"type": "mode", "value": {}},
    {"type": "preset", "name": "none of them"},
    {"type": "preset", "name": {}},
    {"type": "step", "index": 99},
    {"type": "step", "index": -7},
    {"type": "step", "index": "x"},
    {"type": "move", "index": 0},
    {"type": "move", "index": 99, "to": 0},
    {"type": "move", "index": 0, "to": "x"},
    {"type": "add", "name": "NoSuchPass", "index": 0},
    {"type": "add", "name": "FuseOps,FuseOps", "index": 0},
    {"type": "add", "name": "FuseOps{", "index": 0},
    {"type": "add", "name": "FuseOps", "index": 99},
    {"type": "duplicate", "index": -1},
    {"type": "remove", "index": 99},
    {"type": "option", "index": 99, "name": "x", "text": "1"},
    {"type": "option", "index": 0, "name": "no such option", "text": "1"},
    {"type": "option", "index": 0, "name": "x", "text": 1},
    {"type": "setting", "name": "x", "text": None},
    {"type": "act", "what": "explore-preview", "arg": "<img src=x onerror=alert(1)>"},
    {"type": "act", "what": "explore-add", "arg": "NoSuchPass"},
    {"type": "act", "what": "preset-save", "arg": 3},
    {"type": "act", "what": "preset-delete", "arg": "none of yours"},
    {"type": "painted"},
    {"type": "select", "side": "neither", "ids": "x"},
]


def test_malformed_messages_change_nothing_and_raise_nothing(bench, page):
    before, seq = str(bench.pipeline), bench.seq
    for message in (*MALFORMED, [], "text", None, 3):
        page.post(message)
        assert bench.wait()
        assert (str(bench.pipeline), bench.choice.opt_level, bench.seq) == (before, 3, seq), message
        error = bench.state["error"]
        assert error is None or error["title"] == "That cannot be done", message
        assert -1 <= bench.state["step"] < len(bench.pipeline), message
    page.send("step", index=0)
    assert bench.state["step"] == 0, "it goes on working"
