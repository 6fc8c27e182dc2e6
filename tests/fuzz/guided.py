"""Coverage-guided fuzzing of a reader that is Python alone: `python guided.py NAME [libFuzzer's options]`.

It needs `pip install atheris` (Python 3.11 or older) and is not part of a lane: run it for some minutes
after a reader has changed, for example `python tests/fuzz/guided.py "graph JSON" -max_total_time=300 -max_len=4000`.
An error that is not a WorkbenchError stops it, and the input is written to a file.
"""

from __future__ import annotations

import gzip
import sys
from contextlib import suppress

import atheris  # pyright: ignore[reportMissingImports]

with atheris.instrument_imports(include=["workbench"]):
    from formats import FORMATS

    import workbench.dialects.importers.executor_json
    import workbench.dialects.importers.params
    import workbench.dialects.relay.paste.reading
    import workbench.experiments.tuning.trial_log
    import workbench.graph.json
    import workbench.graph.received
    import workbench.measurement.store
    import workbench.pipeline.trace_file  # noqa: F401  imported here to be instrumented
    from workbench.errors import WorkbenchError


def main() -> None:
    name = sys.argv.pop(1)

    def one(data: bytes) -> None:
        with suppress(WorkbenchError):
            # of a trace, what is compressed is fuzzed
            FORMATS[name].read(gzip.compress(data, 1) if name == "trace" else data)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
