"""ONNX to Relay beside TVM's own `from_onnx`: chains, where TVM's time grows with the square of the depth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.bar import Bar, show

BESIDE = 1000
"nodes that TVM converts in seconds"
GUIDE = 5000


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def rows() -> Iterator[Bar]:
    import onnx
    from onnx_models import chain
    from tvm.relay.frontend import from_onnx

    import workbench as wb
    from workbench.dialects.relay.importers import _with_mapping

    _with_mapping(onnx)  # this TVM's importer needs the table too; ours runs in a child process
    wb.load(chain(2))
    model = chain(BESIDE)
    ours, peer = seconds(lambda: wb.load(model)), seconds(lambda: from_onnx(model))
    yield Bar(f"ONNX, a chain of {BESIDE}", ours, "s", "TVM's from_onnx", peer, "at most 20 % more", ours <= 1.2 * peer)
    large = seconds(lambda: wb.load(chain(GUIDE)))
    yield Bar(f"ONNX, a chain of {GUIDE}", large, "s", bar="under 10 s", met=large < 10)


if __name__ == "__main__":
    show(rows())
