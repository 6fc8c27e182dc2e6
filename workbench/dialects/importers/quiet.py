"""What TVM's converters print and warn goes to where it belongs, and what they fail with names the operator and its node."""

from __future__ import annotations

import contextlib
import io
import logging
import threading
import warnings
from types import TracebackType

from workbench.dialects.importers.unsupported import LONGEST
from workbench.errors import Unconverted, WorkbenchError, last_line


class Converting:
    """A block in which a converter of TVM runs.

    Raises
    ------
    Unconverted
        The converter failed, whatever with: which operator it was at, which node, and what it said.
    """

    def __init__(self) -> None:
        self.operator = self.node = ""
        self.warnings: list[str] = []
        "what was warned of, each once, when the block is done"
        self._open = contextlib.ExitStack()
        self._caught: list[warnings.WarningMessage] = []
        self._logged = _Kept()

    def now(self, operator: str, node: str) -> None:
        """Say what is being converted."""
        self.operator, self.node = operator, node

    def __enter__(self) -> Converting:
        caught = self._open.enter_context(warnings.catch_warnings(record=True))
        self._caught = [] if caught is None else caught
        warnings.simplefilter("always")
        self._open.enter_context(contextlib.redirect_stdout(io.StringIO()))
        self._open.enter_context(self._logged)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        lines = [_worth(text) for text in (*(str(caught.message) for caught in self._caught), *self._logged.texts)]
        self.warnings = list(dict.fromkeys(filter(None, lines)))
        if isinstance(error, Exception) and not isinstance(error, WorkbenchError):
            at = f"{self.operator[:LONGEST]} (node {self.node[:LONGEST]!r})" if self.operator else "the model"
            raise Unconverted(
                f"TVM cannot convert {at}: {last_line(error)}; replace it in the model, or give the shapes of the inputs with inputs="
            ) from None


class _Kept(logging.Handler):
    """Keeps the messages that TVM's importers log in this thread while it is entered; a notebook shows them in red."""

    _lock = threading.Lock()
    _entered = 0
    "handlers that are entered now, in any thread"
    _propagated = True
    "whether the logger propagated before the first of them was entered"

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []
        self._thread = 0
        self._logger = logging.getLogger("Frontend")

    def __enter__(self) -> _Kept:
        self._thread = threading.get_ident()
        with _Kept._lock:
            if _Kept._entered == 0:
                _Kept._propagated = self._logger.propagate
            _Kept._entered += 1
            self._logger.addHandler(self)
            self._logger.propagate = False
        return self

    def __exit__(self, *_: object) -> None:
        with _Kept._lock:
            _Kept._entered -= 1
            self._logger.removeHandler(self)
            if _Kept._entered == 0:
                self._logger.propagate = _Kept._propagated

    def emit(self, record: logging.LogRecord) -> None:
        if threading.get_ident() == self._thread:
            self.texts.append(record.getMessage())


def _worth(warning: str) -> str:
    """The first line of a warning that a person can use; empty for what only repeats a note of ours or names a renaming."""
    line = next(iter(warning.strip().splitlines()), "")
    return (
        "" if "unknown dimension shapes" in line or line.startswith("Renaming name") or "deprecated" in line else line
    )
