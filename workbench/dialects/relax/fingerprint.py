"""What a configuration hands to Relax's code generation, as a number. Used in the child process only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import relax

from workbench.dialects import compat
from workbench.dialects.base import Workload
from workbench.dialects.capture import pass_context
from workbench.dialects.relax.target import make_target


def fingerprint(workload: Workload, target: str, config: Mapping[str, Any]) -> str:
    """TVM's structural hash of the module after the whole default pipeline, values of constants included.

    Returns
    -------
    str
        16 hexadecimal digits, the same in every process.
    """
    made = make_target(target)
    with made, pass_context(config, []):
        module = relax.get_default_pipeline(made)(workload.module)
    return f"{compat.structural_hash(module) & (1 << 64) - 1:016x}"
