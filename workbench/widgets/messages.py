"""The messages of a page to Python, each a class, and the table with which a widget handles them.

js/model/messages.ts is generated from these classes and from page_types.py by `make messages`; a test fails when they differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from workbench.errors import WorkbenchError


class Message:
    """Base of the messages. The page sends the class's name in snake case as `type`, and the fields."""

    @classmethod
    def type_name(cls) -> str:
        """Return the message's `type`.

        >>> ToggleContext.type_name()
        'toggle_context'
        """
        return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


# -- every widget with blocks (blocks.py)


@dataclass(frozen=True)
class Act(Message):
    """A button or a key was pressed."""

    what: str
    arg: str


@dataclass(frozen=True)
class Set(Message):
    """A field has another value."""

    name: str
    value: str


@dataclass(frozen=True)
class Cancel(Message):
    """Stop the running work."""


# -- Predict


@dataclass(frozen=True)
class Reveal(Message):
    """Show the answer; `guess` is empty without a prediction."""

    guess: str


# -- PassStepper


@dataclass(frozen=True)
class Want(Message):
    """Send these states, texts and differences, the first ones first; TraceStates.message lists the kinds."""

    items: list[list[str | int]]


# -- PassStepper and Workbench


@dataclass(frozen=True)
class Check(Message):
    """Find the passes that change the outputs."""


# -- Workbench


@dataclass(frozen=True)
class Toggle(Message):
    """Switch a pass of the pipeline on or off."""

    index: int
    enabled: bool


@dataclass(frozen=True)
class ToggleContext(Message):
    """Switch a pass of the compiler's own pipeline on or off."""

    name: str
    enabled: bool


@dataclass(frozen=True)
class OptLevel(Message):
    """Choose the opt level."""

    value: int


@dataclass(frozen=True)
class Mode(Message):
    """Choose between our own pipeline ("pipeline") and the compiler's ("context")."""

    value: str


@dataclass(frozen=True)
class Preset(Message):
    """Use the passes of a preset."""

    name: str


@dataclass(frozen=True)
class SavePreset(Message):
    """Keep the passes as a preset of the user's."""

    name: str


@dataclass(frozen=True)
class DeletePreset(Message):
    """Delete a preset of the user's."""

    name: str


@dataclass(frozen=True)
class Entry(Message):
    """Show another function of the module."""

    name: str


@dataclass(frozen=True)
class Add(Message):
    """Add a pass at a place of the pipeline."""

    name: str
    index: int


@dataclass(frozen=True)
class Duplicate(Message):
    """Repeat a pass of the pipeline."""

    index: int


@dataclass(frozen=True)
class Remove(Message):
    """Remove a pass from the pipeline."""

    index: int


@dataclass(frozen=True)
class Move(Message):
    """Move a pass to another place."""

    index: int
    to: int


@dataclass(frozen=True)
class Option(Message):
    """Set an option of a pass, as typed."""

    index: int
    name: str
    text: str


@dataclass(frozen=True)
class Setting(Message):
    """Set a key of PassContext's config, as typed."""

    name: str
    text: str


@dataclass(frozen=True)
class Step(Message):
    """Show the graph before and after one pass; -1 is the whole pipeline."""

    index: int


@dataclass(frozen=True)
class Explore(Message):
    """Try every pass on the module after a step."""

    index: int


@dataclass(frozen=True)
class Preview(Message):
    """Show the effect of a pass that was tried."""

    name: str


@dataclass(frozen=True)
class Text(Message):
    """Send the text of the shown modules; `seq` is the number of the picture."""

    seq: int


@dataclass(frozen=True)
class Tab(Message):
    """Another tab is open."""

    name: str


@dataclass(frozen=True)
class Measure(Message):
    """Build and time the present configuration."""


@dataclass(frozen=True)
class Race(Message):
    """Race the present configuration against its rival."""


@dataclass(frozen=True)
class Build(Message):
    """Explain the compiler's own build at this opt level."""


@dataclass(frozen=True)
class Undo(Message):
    """Undo the last choice."""


@dataclass(frozen=True)
class Redo(Message):
    """Redo the last undone choice."""


@dataclass(frozen=True)
class ClearRows(Message):
    """Forget the measured rows."""


# -- every view


@dataclass(frozen=True)
class Still(Message):
    """Keep a picture, as a URL, for the notebook without its kernel."""

    picture: str


M = TypeVar("M", bound=Message)


class Handlers:
    """The messages that a widget handles, and the function for each; it ignores every other message.

    >>> handlers = Handlers().on(Act, lambda act: print(act.what))
    >>> handlers.run(handlers.read({"type": "act", "what": "undo", "arg": ""}))
    undo
    """

    def __init__(self) -> None:
        self._functions: dict[type[Message], Callable[[Any], object]] = {}

    def on(self, message: type[M], function: Callable[[M], object]) -> Handlers:
        """Handle a kind of message with a function."""
        self._functions[message] = function
        return self

    def read(self, content: object) -> Message | None:
        """Return the message from the page; None for one that is not handled here.

        Raises
        ------
        WorkbenchError
            A field is missing or of another type.
        """
        if not isinstance(content, dict):
            return None
        found = next((each for each in self._functions if each.type_name() == content.get("type")), None)
        return None if found is None else parse(found, content)

    def run(self, message: Message | None) -> None:
        """Call the function for a message; do nothing for None."""
        if message is not None:
            self._functions[type(message)](message)


def parse(message: type[M], content: Mapping[str, object]) -> M:
    """Return a message from a dict with its fields.

    Raises
    ------
    WorkbenchError
        A field is missing or of another type.
    """
    fields = {name: content.get(name) for name in hints(message)}
    for name, wanted in hints(message).items():
        if not _fits(fields[name], wanted):
            takes = getattr(get_origin(wanted) or wanted, "__name__", str(wanted))
            kind = message.type_name()
            raise WorkbenchError(f"the page sent {kind!r} with {name} = {fields[name]!r}; it takes a {takes}")
    return message(**fields)


def whole(text: str) -> int | None:
    """Return the number in an argument or a field of the page; None if it is not a whole number from 0.

    >>> whole("12"), whole("-1"), whole("²"), whole("")
    (12, None, None, None)
    """
    # int() refuses texts of thousands of digits, and takes digits of other scripts
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


@cache
def hints(message: type[Message]) -> dict[str, object]:
    """Return a message's fields with their types."""
    return get_type_hints(message)


def _fits(value: object, wanted: object) -> bool:
    if get_origin(wanted) is list:
        return isinstance(value, list) and all(_fits(item, get_args(wanted)[0]) for item in value)
    if isinstance(wanted, UnionType):
        return any(_fits(value, each) for each in get_args(wanted))
    # True is an int for isinstance
    return type(value) is wanted
