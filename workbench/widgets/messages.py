"""The messages of a page to Python. A verb of the page is one decorated method, whose parameters are the message's fields.

js/model/messages.ts is generated from the verbs and from page_types.py by `make messages`; a test fails when they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import Parameter, signature
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from workbench.errors import UnknownName, WorkbenchError

Fields = dict[str, Any]
"type by name"
FIELDS: dict[str, Fields] = {
    # a button, a key or a line of blocks was pressed; a field of blocks has another value
    "act": {"what": str, "arg": str},
    "set": {"name": str, "value": str},
    # a picture, as a URL, for the notebook without its kernel: still.py
    "still": {"picture": str},
}
"the fields of each message of a page, by the message's type"
M = TypeVar("M", bound=Callable[..., object])


def verb(name: str) -> Callable[[M], M]:
    """Mark a method for the message of that type. Parameters with a default are for Python alone."""

    def mark(method: M) -> M:
        fields = {each.name: get_type_hints(method)[each.name] for each in _required(method)}
        known = FIELDS.setdefault(name, fields)
        assert known == fields, f"{name} has other fields in another widget"
        return _marked(method, "", (name,))

    return mark


def act(*names: str) -> Callable[[M], M]:
    """Mark a method for the buttons, keys and lines of these names; a parameter takes the argument, as text or as a number."""
    return partial(_marked, kind="act", names=names)


def field(*names: str) -> Callable[[M], M]:
    """Mark a method for a new value of the fields of these names; of two parameters, the first one takes the name."""
    return partial(_marked, kind="set", names=names)


def _marked(method: M, kind: str, names: tuple[str, ...]) -> M:
    setattr(method, "of_page", [(kind, name) for name in names])  # noqa: B010  pyright knows no attributes of functions
    return method


def _required(method: Callable[..., object]) -> list[Parameter]:
    parameters = [each for each in signature(method).parameters.values() if each.name != "self"]
    return [each for each in parameters if each.default is Parameter.empty]


@dataclass(frozen=True)
class Request:
    """A message as the call of a method; `key` is what it is about."""

    key: tuple[str, str]
    run: Callable[[], object]


class Verbs:
    """The messages that a widget handles: the marked methods of some objects. Every other message is ignored."""

    def __init__(self, *owners: object) -> None:
        self._methods: dict[tuple[str, str], Callable[..., object]] = {}
        for owner in owners:
            self.add(owner)

    def add(self, owner: object, prefix: str = "") -> None:
        """Handle messages by another object's methods; its buttons and fields have a prefix."""
        # a class's own methods come after those it inherits, and replace them
        for each in reversed(type(owner).__mro__):
            for name, method in vars(each).items():
                for kind, said in getattr(method, "of_page", ()):
                    self._methods[kind, prefix + said if kind else said] = getattr(owner, name)

    def read(self, content: object) -> Request | None:
        """Return the call that the page asks for; None for a message that is not handled here."""
        kind = content.get("type") if isinstance(content, dict) else None
        if not isinstance(content, dict) or not isinstance(kind, str):
            return None
        if ("", kind) in self._methods:
            method = self._methods["", kind]
            return Request(("", kind), partial(method, **_read(kind, content)))
        known = [name for of, name in self._methods if of and of == kind]
        if not known:
            return None
        name, value = _read(kind, content).values()
        if name not in known:
            raise UnknownName("action" if kind == "act" else "field", name, known)
        method = self._methods[kind, name]
        wanted = _required(method)
        given = number(wanted[-1].name, value) if wanted and wanted[-1].annotation in ("int", int) else value
        return Request((kind, name), partial(method, *(name, given)[2 - len(wanted) :]))

    def run(self, _: object, content: object, __: object) -> None:
        """Handle a message at once, as a callback of `on_msg`."""
        request = self.read(content)
        if request is not None:
            request.run()


def _read(kind: str, content: Mapping[str, object]) -> Fields:
    """Return a message's fields; refuse one that is missing or of another type."""
    for name, wanted in FIELDS[kind].items():
        if not _fits(content.get(name), wanted):
            takes = getattr(get_origin(wanted) or wanted, "__name__", str(wanted))
            raise WorkbenchError(f"the page sent {kind!r} with {name} = {content.get(name)!r}; it takes a {takes}")
    return {name: content[name] for name in FIELDS[kind]}


def _fits(value: object, wanted: object) -> bool:
    if get_origin(wanted) is list:
        return isinstance(value, list) and all(_fits(item, get_args(wanted)[0]) for item in value)
    if isinstance(wanted, UnionType):
        return any(_fits(value, each) for each in get_args(wanted))
    # True is an int for isinstance
    return type(value) is wanted


def whole(text: str) -> int | None:
    """Return the number in an argument or a field of the page; None if it is not a whole number from 0.

    >>> whole("12"), whole("-1"), whole("²"), whole("")
    (12, None, None, None)
    """
    # int() refuses texts of thousands of digits, and takes digits of other scripts
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def number(name: str, text: str) -> int:
    """Return the whole number in a text; refuse another text."""
    found = whole(text)
    if found is None:
        raise WorkbenchError(f"{name} is {text[:40]!r}; give a whole number")
    return found
