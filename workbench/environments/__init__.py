"""The two TVM generations live in two Python environments; this package makes the Relay one and reports on both.

Standard library only: it runs before anything else is installed.
"""

from workbench.errors import WorkbenchError


class SetupError(WorkbenchError):
    """An environment could not be made; no partial result blocks the next attempt."""


class Unsupported(SetupError):
    """The machine, or its Python, can not run the Relay environment at all."""
