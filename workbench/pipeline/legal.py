"""Configurations that TVM would accept and then fail on, or silently ignore, said in words before anything is built."""

from __future__ import annotations

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect_of
from workbench.errors import MeasureError, UnknownName
from workbench.pipeline.config import Config

# Passes that the compilers run but that have no public constructor of this name.
_INNER = (
    "BackwardFoldScaleAxis",
    "ForwardFoldScaleAxis",
    "SimplifyExprPostAlterOp",
    "FlattenAtrousConv",
    "SplitArgs",
    "LabelOps",
    "EtaExpand",
    "FlattenNestedTuples",
)


def check(workload: Workload, config: Config) -> None:
    """Refuse a configuration that cannot do what it says.

    Raises
    ------
    UnknownName
        A pass name TVM does not have: TVM would ignore it silently.
    MeasureError
        It switches off a pass that the compiler cannot do without.
    """
    catalog = {info.name: info for info in dialect_of(workload).passes.catalog()}
    for name in (*config.disabled, *config.required):
        if name not in catalog and name not in _INNER and not name.startswith(("tir.", "tirx.", "s_tir.")):
            raise UnknownName(f"{workload.dialect} pass", name, [*catalog, *_INNER])
    for name in config.disabled:
        if name in catalog and catalog[name].locked:
            raise MeasureError(f"{name} cannot be switched off: {catalog[name].locked}")
