"""Errors that a user can cause: the message is one sentence with the cause and the remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import dropwhile
from typing import Any, SupportsFloat

from workbench.terminal import visible

LONGEST = 600
"characters of a line that is quoted from elsewhere"
MOST = 1900
"characters of a message"
MOST_NAMES = 12
"names that a message lists"


class WorkbenchError(Exception):
    """Base of every error that a user of the workbench can cause; control characters in its message are visible.

    Examples
    --------
    >>> try:
    ...     wb.Pipeline.parse("FuseOps{")
    ... except wb.WorkbenchError as error:
    ...     print(error)
    the brace at character 8 is not closed
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(_cut(visible(one), MOST) if isinstance(one, str) else one for one in arguments))


class LoadError(WorkbenchError):
    """The given object, text or file is not a graph that the workbench can read."""


class Unread(LoadError):
    """TVM makes no module of a text that the workbench's own reader reads: most often it is of another TVM version."""


class Unconverted(LoadError):
    """A converter of TVM refuses a model from another framework."""


class ParseError(LoadError):
    """Text that could not be read, with the position where reading stopped.

    Attributes
    ----------
    line, column : int
        One-based position of the first character that could not be read.
    expected, offset : str, int
        The expected syntax, and the position in characters from the start.
    """

    def __init__(self, expected: str, text: str, offset: int) -> None:
        self.expected, self.offset = expected, offset
        self.line, self.column = _place(text, offset)
        start = offset - self.column + 1
        end = text.find("\n", offset)
        snippet = text[start : len(text) if end < 0 else end]
        if len(snippet) > 120:
            cut = max(0, self.column - 60)
            snippet = "..." + snippet[cut : cut + 114] + "..."
        found = snippet.strip()
        if not text[offset:].strip():  # most often a paste that was cut off
            found = f"the end of the text, after {found}" if found else "the end of the text"
        super().__init__(f"line {self.line}, column {self.column}: expected {expected}, found: {found}")


class UnknownOperator(LoadError):
    """An operator of a text that the installed TVM does not have; gives its place and the nearest names."""

    def __init__(self, name: str, known: Iterable[str], text: str, tvm: str = "this TVM") -> None:
        known = list(known)
        last = name.rpartition(".")[2]
        same = [each for each in known if each.rpartition(".")[2] == last]
        self.near = same[:2] or get_close_matches(name, known, n=2, cutoff=0.6)
        hint = f"; did you mean {' or '.join(self.near)}?" if self.near else ""
        at = re.search(rf"(?<![\w.%@]){re.escape(name)}(?![\w.])", text)
        place = "line {}, column {}: ".format(*_place(text, at.start())) if at else ""
        super().__init__(f"{place}{tvm} has no operator {name}{hint}")


def _place(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of a character, both from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


class Cancelled(WorkbenchError):
    """The user ended the work, or a newer request replaced it."""


class PipelineError(WorkbenchError):
    """A pipeline that cannot be read or run as written."""


class MeasureError(WorkbenchError):
    """A build or a measurement that could not be made."""

    status = "failed"
    "the status of the row of a measurement that ends with this error (measurement/row.py)"


class TVMFailed(MeasureError):
    """TVM, or a pass of the user, failed on a program: the symptom `crash`. Any other MeasureError is a limit of the workbench."""


class NotRepeatable(MeasureError):
    """A program whose outputs are other ones in each run on the same inputs."""

    status = "not repeatable"


class OutOfMemory(MeasureError):
    """A build or a run was refused memory."""

    status = "out of memory"


class NoDevice(MeasureError):
    """An error for a target without a device on this machine."""

    status = "not measured"


class Untrusted(MeasureError):
    """Kernels of a received program were to be compiled or run, and the user has not said that its author is trusted."""

    status = "untrusted"


class NoServer(MeasureError):
    """A tracker lends no device now: it does not answer, no server offers the key, or all are taken.

    This is not a fault of the program that was to run.
    """

    status = "no server"


class WorkerLost(MeasureError):
    """The child process ended, was stopped, or ran out of time.

    Attributes
    ----------
    status : str
        `crashed`, `timeout`, `out of memory` or `cancelled`.
    crash : str
        How a process ended by itself: the signal or the exit code, the top frames of its stack where they are known, and the
        work that it reported last. Two equal crashes have equal texts.
    """

    def __init__(self, message: str, status: str = "crashed", crash: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.crash = crash


def check_seconds(**named: object) -> None:
    """Check numbers of seconds. Raises MeasureError: one of them is not a number above 0."""
    for name, given in named.items():
        if not isinstance(given, SupportsFloat):
            raise MeasureError(f"{name} is a number of seconds, not {type(given).__name__} {given!r}")
        if not float(given) > 0:
            raise MeasureError(f"{name}={given} is not a time; give a number of seconds above 0")


LEVELS = range(5)
"opt levels; TVM knows no pass above the last"


def check_level(opt_level: int) -> None:
    """Check an opt level. Raises MeasureError: TVM has no such level."""
    if opt_level not in LEVELS:
        raise MeasureError(f"there is no opt level {opt_level!r}; give one from {LEVELS[0]} to {LEVELS[-1]}")


class StoreError(WorkbenchError):
    """The file of measurements cannot be read or written."""


class TooDeep(WorkbenchError):
    """A graph so deep that TVM's own recursion would end the process."""


class UnknownName(WorkbenchError):
    """A name that is not in its list; the message suggests the nearest ones."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = [each for each in known if each.lower() == name.lower()]
        # an operator without its namespace: relu for nn.relu
        near = near or [each for each in known if each.rpartition(".")[2] == name.rpartition(".")[2]]
        near = near[:3] or get_close_matches(name, known, n=3, cutoff=0.5)
        more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known[:MOST_NAMES])}{more}"
        super().__init__(f"there is no {what} named {name!r}; {hint}")


class UnknownKeyword(UnknownName, TypeError):
    """A keyword that a call does not take."""

    @classmethod
    def refuse(cls, of: str, given: Iterable[str], known: Iterable[str]) -> None:
        """Raise for the first keyword that is not known."""
        known = list(known)
        for name in given:
            if name not in known:
                raise cls(f"keyword of {of}", name, known)


class UnknownNode(WorkbenchError):
    """A node id that a graph does not have, or another object in place of an id."""

    def __init__(self, node: object, count: int) -> None:
        if isinstance(node, int):
            super().__init__(
                f"the graph has no node {node!r}: its {count} nodes are numbered from 0; take ids from g.nodes"
            )
            return
        id = getattr(node, "id", None)
        given = f"{type(node).__name__} {node if id is None else id!r}"
        super().__init__(f"a node is named by its id, not by {given}; take ids from g.nodes, such as g.ops[0].id")


def instead(source: object, *, graph: bool = False) -> str:
    """Return how to get a Workload from another object, or with `graph` a Workload or a Graph."""
    kind = type(source).__name__
    if isinstance(source, (str, os.PathLike)):
        return "wb.load reads a file or a text"
    if kind == "Trace":
        last = "trace.end.graph is its last graph, and " if graph else ""
        return f"{last}wb.load(trace.result) makes a Workload of its last module"
    if kind == "Graph":
        return "a graph has no module, so give the Workload that it is of"
    return "wb.load makes a Workload of a module"


def words(error: BaseException) -> str:
    """Return the message of an error; empty where `str` fails, as it may for an error of a foreign class."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  it is anybody's code
        return ""


_STACK = re.compile(r"""\s*(?:\d+: |File "|at |\[bt\]|Traceback \(most)""")
_BANNER = re.compile(r"-{5,}|An error occurred during the execution of TVM\.|For more information, please see: ")
_PLACE = re.compile(r"\s*--> .*?:(\d+):\d+")
_OPERATOR = re.compile(r"""ir\.Op\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\))*\)""")
"an operator as TVM prints its object, with the fields of each argument"


def reason_of(error: BaseException) -> str:
    r"""Return why an error was raised, on one line: its text without TVM's C++ stack, or its type if it has no text.

    A place in a source that the error quotes comes first: "line 7: ...". An operator is its name.

    >>> reason_of(RuntimeError("Traceback (most recent call last):\n  0: Visit\nTVMError: cannot emit:\nR.add(y, y)"))
    'TVMError: cannot emit: R.add(y, y)'
    """
    lines = words(error).splitlines()
    stack = [at for at, line in enumerate(lines) if _STACK.match(line)]
    if stack and lines[stack[0]].startswith("Traceback"):
        # below a frame of Python is its line of source
        rest = dropwhile(lambda line: line[:1].isspace(), lines[stack[-1] + 1 :])
        lines = list(rest)
    place = next(((at, match[1]) for at, line in enumerate(lines) if (match := _PLACE.match(line))), None)
    lines = [line for line in lines[: place[0] if place else None] if not _BANNER.match(line)]
    text = _OPERATOR.sub(_name_of_operator, " ".join(" ".join(lines).split())).removeprefix("error: ")
    said = _cut(text or type(error).__name__)
    return f"line {place[1]}: {said}" if place else said


def _name_of_operator(printed: re.Match[str]) -> str:
    name = re.search(r'name="([^"]*)"', printed[0])
    return name[1] if name else printed[0]


def _cut(text: str, most: int = LONGEST) -> str:
    """Leave out the middle: TVM's reason is at either end of a program that it quotes."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]}...{text[-(most // 3) :]}"


def reason(error: OSError | ValueError) -> str:
    """Return why a file cannot be opened; a ValueError means a name that no file can have."""
    return (error.strerror if isinstance(error, OSError) else None) or reason_of(error)


@contextmanager
def writing(path: str | os.PathLike[str], kind: type[WorkbenchError] = WorkbenchError) -> Iterator[None]:
    """Raise a WorkbenchError with the path if the block cannot write a file."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise kind(f"{path} cannot be written: {reason(error)}; check the folder and the name") from error


def sentence(error: BaseException) -> str:
    """Return the type of an error and why it was raised."""
    kind, said = type(error).__name__, reason_of(error)
    return said if said == kind or said.startswith(f"{kind}: ") else f"{kind}: {said}"


def to_data(error: WorkbenchError) -> dict[str, object]:
    """Return an error as plain values, for the process that sent the request."""
    return {"kind": type(error).__name__, "message": str(error), "fields": vars(error)}


def from_data(data: Mapping[str, Any]) -> WorkbenchError:
    """Return the error that `to_data` described in another process."""
    kind = _kinds().get(data["kind"], WorkbenchError)
    error = kind.__new__(kind, data["message"])
    vars(error).update(data["fields"])
    return error


def _kinds() -> dict[str, type[WorkbenchError]]:
    """Return every kind of WorkbenchError by its name."""
    found, waiting = {WorkbenchError.__name__: WorkbenchError}, [WorkbenchError]
    while waiting:
        below = waiting.pop().__subclasses__()
        found.update({kind.__name__: kind for kind in below})
        waiting += below
    return found
