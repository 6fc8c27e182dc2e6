"""The program of child processes whose imports leave a thread, or fail: `python -m jobs_of_a_cold_server`."""

from __future__ import annotations

import os
import threading
import time

from workbench.jobs.__main__ import prepare as import_all
from workbench.jobs.__main__ import serve
from workbench.worker import fork_server


def prepare() -> None:
    if os.environ["PYTHON_IMPORTS"] == "fail":
        raise ImportError("no TVM")
    import_all()
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


if __name__ == "__main__":
    fork_server.main(prepare, serve)
