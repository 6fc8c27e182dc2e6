"""A run on a device that sleeps there before each sample instead of computing; test_tune_farm.py has the child process do it."""

from __future__ import annotations

from typing import Any
from unittest import mock

import tvm

from workbench.jobs import remote

SLEEP_MS = 600


def run(workload: Any, **how: Any) -> dict[str, Any]:
    """Do what the real job does. TVM's evaluator, on the server, pauses between repeats; that is where it sleeps."""
    module = tvm.runtime.Module
    usual = module.time_evaluator

    def sleeping(self: Any, *given: Any, **others: Any) -> Any:
        return usual(self, *given, **others | {"cooldown_interval_ms": SLEEP_MS})

    with mock.patch.object(module, "time_evaluator", sleeping):
        return remote.run(workload, **how)
