"""Record the text of every Relax module that a test suite makes: a pytest plugin for TVM's own tests.

TVM's tests are not part of this repository. Check out the sources of the installed TVM next to it, then run

    PYTHONPATH=tests/relax RECORD_SCRIPTS=FOLDER .venv/bin/python -m pytest -p record_scripts TVM/tests/python/relax/test_op_nn.py

for each file, with a time limit. FOLDER gets one `.py` file for each distinct text; `python tests/relax/record_scripts.py FOLDER`
prints how many of them TVM reads back, how many `wb.load` reads, and the first line of each error.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

LONGEST = 1_000_000
"characters; longer texts hold constants and nothing new"


def pytest_configure() -> None:
    import tvm
    from tvm import relax
    from tvm.script.ir_builder import IRBuilder

    for owner, name in (
        (IRBuilder, "get"),
        (relax.BlockBuilder, "get"),
        (relax.BlockBuilder, "finalize"),
        (tvm.ir.transform.Pass, "__call__"),
    ):
        setattr(owner, name, _recorded(getattr(owner, name)))


def _recorded(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        result = method(*arguments, **options)
        _record(result)
        return result

    return call


def _record(thing: Any) -> None:
    import tvm
    from tvm import relax

    if isinstance(thing, relax.Function):
        thing = tvm.IRModule({"main": thing})
    if not isinstance(thing, tvm.IRModule) or not any(isinstance(f, relax.Function) for f in thing.functions.values()):
        return
    try:
        text = thing.script(show_meta=True)
    except Exception as error:  # noqa: BLE001  TVM's printer raises many kinds
        print(f"not printed: {type(error).__name__}")
        return
    if len(text) <= LONGEST:
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        Path(os.environ["RECORD_SCRIPTS"], f"{name}.py").write_text(text)


def _outcome(read: Callable[[str], object], text: str) -> str:
    try:
        read(text)
    except Exception as error:  # noqa: BLE001  whatever it is, it is the outcome
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        return f"{type(error).__name__}: {lines[0][:160]}"
    return ""


def main(folder: Path) -> None:
    import tvm

    import workbench as wb

    counts: Counter[str] = Counter()
    for path in sorted(folder.glob("*.py")):
        text = path.read_text()
        # ours first: TVM's own reading may run what the text holds
        ours = _outcome(wb.load, text)
        theirs = _outcome(tvm.script.from_source, text)
        counts[("TVM refuses" if theirs else "TVM reads") + (", we refuse" if ours else ", we read")] += 1
        if ours and not theirs:
            print(path.name, ours)
    for outcome, count in sorted(counts.items()):
        print(f"{count:6} {outcome}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
