"""What a configuration hands to Relay's code generation, as a number. Used in the child process only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm

from workbench.dialects.base import Workload
from workbench.dialects.relay.build import optimized


def fingerprint(workload: Workload, target: str, config: Mapping[str, Any]) -> str:
    """TVM's structural hash of the module after all graph-level passes, values of constants included.

    Returns
    -------
    str
        16 hexadecimal digits, the same in every process.
    """
    module = optimized(workload, target, config)
    return f"{tvm.ir.structural_hash(module, map_free_vars=True) & (1 << 64) - 1:016x}"
