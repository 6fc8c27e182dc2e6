"""Type inference, and the messages of TVM's diagnostics, which TVM prints and leaves out of the error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tvm
from tvm import relay
from tvm.ir import diagnostics  # pyright: ignore[reportAttributeAccessIssue]  this is Relay's TVM

from workbench.errors import LoadError, WorkbenchError, reason_of

_CONSEQUENCE = "The type inference pass was unable"
"reported for everything downstream of the cause"
MOST = 2
"messages that are reported; usually the others follow from them"


@contextmanager
def as_error(kind: type[WorkbenchError], before: str = "") -> Iterator[None]:
    """Turn a DiagnosticError into an error of that kind, with the messages of the diagnostics.

    The renderer is global, so the terminal gets no diagnostics while the block runs.
    """
    messages: list[str] = []
    serious = (diagnostics.DiagnosticLevel.BUG, diagnostics.DiagnosticLevel.ERROR)
    diagnostics.override_renderer(
        lambda context: messages.extend(
            " ".join(str(one.message).split()) for one in context.diagnostics if one.level in serious
        )
    )
    try:
        yield
    except tvm.error.DiagnosticError:
        causes = [message for message in messages if not message.startswith(_CONSEQUENCE)] or messages
        text = "; ".join(dict.fromkeys(causes[:MOST])) or "TVM's diagnostics give no reason"
        raise kind(before + text) from None
    finally:
        diagnostics.override_renderer(None)


def infer_types(module: tvm.IRModule) -> tvm.IRModule:
    """Return the module with its types inferred."""
    try:
        with as_error(LoadError, "the module does not type-check: "):
            return relay.transform.InferType()(module)
    except tvm.TVMError as error:
        raise LoadError(f"the module does not type-check: {reason_of(error)}") from None
