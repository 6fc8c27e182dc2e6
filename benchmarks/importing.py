"""ONNX to Relay beside TVM's own `from_onnx`: chains, where TVM's time grows with the square of the depth."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.bar import Bar, show

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
BESIDE = 1000
"nodes that TVM converts in seconds"
GUIDE = 5000


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    from onnx_models import chain
    from tvm.relay.frontend import from_onnx

    import workbench as wb

    wb.load(chain(2))  # what is imported once, and the table that this TVM wants of onnx
    model = chain(BESIDE)
    ours, peer = seconds(lambda: wb.load(model)), seconds(lambda: from_onnx(model))
    large = seconds(lambda: wb.load(chain(GUIDE)))
    show(
        [
            Bar(
                f"ONNX, a chain of {BESIDE}",
                ours,
                "s",
                "TVM's from_onnx",
                peer,
                "at most 20 % more",
                ours <= 1.2 * peer,
            ),
            Bar(f"ONNX, a chain of {GUIDE}", large, "s", bar="under 10 s", met=large < 10),
        ]
    )


if __name__ == "__main__":
    main()
