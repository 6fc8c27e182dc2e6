"""A verb of a page is one marked method, whose parameters are the message's fields."""

from __future__ import annotations

import subprocess
import sys

import pytest

from workbench.errors import UnknownName, WorkbenchError
from workbench.widgets.messages import FIELDS, Verbs, act, field, verb


class Panel:
    """A tab with a button, a line and two fields."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    @act("again")
    def again(self, by: int = 1) -> None:
        self.seen.append(("again", by))

    @act("row", "line")
    def pick(self, place: int) -> None:
        self.seen.append(place)

    @field("low", "high")
    def set_limit(self, name: str, value: str) -> None:
        self.seen.append((name, value))


class Other(Panel):
    """A tab with another `again`, and a verb."""

    def again(self, by: int = 1) -> None:
        self.seen.append(("other", by))

    @verb("check")
    def check(self) -> None:
        self.seen.append("check")


def send(verbs: Verbs, **content: object) -> None:
    verbs.run(None, content, None)


def test_messages_call_methods_with_what_they_take() -> None:
    panel = Other()
    verbs = Verbs(panel)
    for content in (
        {"type": "act", "what": "again", "arg": "x"},
        {"type": "act", "what": "line", "arg": "3"},
        {"type": "set", "name": "high", "value": "7"},
        {"type": "check"},
    ):
        send(verbs, **content)
    assert panel.seen == [("other", 1), 3, ("high", "7"), "check"]
    assert FIELDS["check"] == {}


def test_verbs_have_fields_without_assertions() -> None:
    code = """
from workbench.widgets.messages import FIELDS, verb
verb("go")(lambda self: None)
print(FIELDS["go"])
"""
    command = [sys.executable, "-O", "-c", code]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() == "{}"


def test_names_of_two_panels_differ_by_their_prefix() -> None:
    first, second = Panel(), Panel()
    verbs = Verbs()
    verbs.add(first, "a-")
    verbs.add(second, "b-")
    send(verbs, type="act", what="b-row", arg="2")
    assert (first.seen, second.seen) == ([], [2])
    with pytest.raises(UnknownName, match="a-row"):
        send(verbs, type="act", what="row", arg="2")


@pytest.mark.parametrize("content", [None, [], {}, {"type": 3}, {"type": "measure"}, {"type": {}}])
def test_other_messages_are_ignored(content: object) -> None:
    assert Verbs(Panel()).read(content) is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"type": "act", "what": "row", "arg": "x"}, "place is 'x'; give a whole number"),
        ({"type": "act", "what": "row"}, "arg = None; it takes a str"),
        ({"type": "set", "name": "low", "value": True}, "value = True; it takes a str"),
    ],
)
def test_wrong_fields_are_refused(content: dict[str, object], words: str) -> None:
    with pytest.raises(WorkbenchError, match=words):
        Verbs(Panel()).read(content)
