"""What TVM's converters print and warn goes to where it belongs, and what they fail with names the operator and its node."""

from __future__ import annotations

import contextlib
import io
import warnings
from types import TracebackType

from workbench.dialects.importers.unsupported import LONGEST
from workbench.errors import LoadError, WorkbenchError, last_line


class Converting:
    """A block in which a converter of TVM runs.

    Raises
    ------
    LoadError
        The converter failed, whatever with: which operator it was at, which node, and what it said.
    """

    def __init__(self) -> None:
        self.operator = self.node = ""
        self.warnings: list[str] = []
        "what was warned of, each once, when the block is done"
        self._open = contextlib.ExitStack()
        self._caught: list[warnings.WarningMessage] = []

    def now(self, operator: str, node: str) -> None:
        """Say what is being converted."""
        self.operator, self.node = operator, node

    def __enter__(self) -> Converting:
        self._caught = self._open.enter_context(warnings.catch_warnings(record=True)) or []
        warnings.simplefilter("always")
        self._open.enter_context(contextlib.redirect_stdout(io.StringIO()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        self.warnings = list(
            dict.fromkeys(_worth(str(caught.message)) for caught in self._caught if _worth(str(caught.message)))
        )
        if isinstance(error, Exception) and not isinstance(error, WorkbenchError):
            at = f"{self.operator[:LONGEST]} (node {self.node[:LONGEST]!r})" if self.operator else "the model"
            raise LoadError(
                f"TVM cannot convert {at}: {last_line(error)}; replace it in the model, or give the shapes of the inputs with inputs="
            ) from None


def _worth(warning: str) -> str:
    """The first line of a warning that a person can use; empty for what only repeats a note of ours or names a renaming."""
    line = next(iter(warning.strip().splitlines()), "")
    return (
        "" if "unknown dimension shapes" in line or line.startswith("Renaming name") or "deprecated" in line else line
    )
