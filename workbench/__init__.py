"""A workbench for the passes of a tensor compiler: view each pass's effect on a graph, change it, and measure the result.

A trace is a list of graphs; everything else is a view of it. The names below are the public interface. Importing this
module loads none of TVM, pandas, matplotlib or ipywidgets: each name imports its dependencies on first use.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError

__version__ = "0.1.0"

_HOMES = {
    "Graph": "graph.model",
    "diff": "graph.diff",
    "dominators": "graph.dominance",
    "post_dominators": "graph.dominance",
    "regions": "analysis.regions",
    "explain_fusion": "analysis.fusion",
    "assert_fused": "analysis.fusion.assertions",
    "assert_kernels": "analysis.fusion.assertions",
    "load": "pipeline.load",
    "load_all": "pipeline.load",
    "match": "pipeline.matching",
    "explain_kind": "dialects.kinds",
    "pattern_for": "pipeline.matching",
    "Workload": "dialects.base",
    "to_relax": "dialects.translating",
    "passes": "dialects.registry",
    "samples": "samples",
    "Pipeline": "pipeline.spec",
    "Trace": "pipeline.trace",
    "trace": "pipeline.run",
    "trace_build": "pipeline.build_trace",
    "Config": "pipeline.config",
    "explore": "pipeline.explore",
    "parallel_branches": "analysis.branches",
    "constant_chains": "analysis.chains",
    "cut": "pipeline.fusion_edits",
    "force": "pipeline.fusion_edits",
    "outline": "pipeline.fusion_edits",
    "kernels": "measurement.kernels",
    "count": "measurement.count",
    "measure": "measurement.measure",
    "race": "measurement.race",
    "history": "measurement.store",
    "Tracker": "measurement.remote.tracker",
    "overlay_of": "measurement.overlay",
    "joined": "measurement.overlay",
    "ceilings": "measurement.machine",
    "waterfall": "measurement.waterfall",
    "ablate": "measurement.ablation",
    "tune": "tune.run",
    "Space": "tune.space",
    "tune_schedules": "tune.schedules.run",
    "prepared_schedules": "tune.schedules.run",
    "compare_outputs": "pipeline.outputs",
    "plots": "plots",
    "report": "plots.report",
    "GraphView": "widgets.graph.view",
    "CompareView": "widgets.graph.compare",
    "PassStepper": "widgets.stepper.pass_stepper",
    "PatternInspector": "widgets.patterns.inspector",
    "FusionInspector": "widgets.fusion.inspector",
    "Predict": "widgets.predict",
    "TunePanel": "widgets.tuning.panel",
    "Workbench": "widgets.workbench.widget",
}

__all__ = ["WorkbenchError", "__version__", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]  one list, _HOMES


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    home = importlib.import_module(f"workbench.{_HOMES[name]}")
    value = home if _HOMES[name] == name else getattr(home, name)
    globals()[name] = value
    return value


class _Interface(ModuleType):
    """The package, whose public names take precedence over its folders: `wb.tune` is always the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        # the import system sets a folder's module on the package when anything below it is first imported
        if not (isinstance(value, ModuleType) and name in _HOMES and _HOMES[name] != name):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Interface


def __dir__() -> list[str]:
    return sorted(__all__)


if TYPE_CHECKING:
    from workbench import plots as plots
    from workbench import samples as samples
    from workbench.analysis.branches import parallel_branches as parallel_branches
    from workbench.analysis.chains import constant_chains as constant_chains
    from workbench.analysis.fusion import explain_fusion as explain_fusion
    from workbench.analysis.fusion.assertions import assert_fused as assert_fused
    from workbench.analysis.fusion.assertions import assert_kernels as assert_kernels
    from workbench.analysis.regions import regions as regions
    from workbench.dialects.base import Workload as Workload
    from workbench.dialects.kinds import explain_kind as explain_kind
    from workbench.dialects.registry import passes as passes
    from workbench.dialects.translating import to_relax as to_relax
    from workbench.graph.diff import diff as diff
    from workbench.graph.dominance import dominators as dominators
    from workbench.graph.dominance import post_dominators as post_dominators
    from workbench.graph.model import Graph as Graph
    from workbench.measurement.ablation import ablate as ablate
    from workbench.measurement.count import count as count
    from workbench.measurement.kernels import kernels as kernels
    from workbench.measurement.machine import ceilings as ceilings
    from workbench.measurement.measure import measure as measure
    from workbench.measurement.overlay import joined as joined
    from workbench.measurement.overlay import overlay_of as overlay_of
    from workbench.measurement.race import race as race
    from workbench.measurement.remote.tracker import Tracker as Tracker
    from workbench.measurement.store import history as history
    from workbench.measurement.waterfall import waterfall as waterfall
    from workbench.pipeline.build_trace import trace_build as trace_build
    from workbench.pipeline.config import Config as Config
    from workbench.pipeline.explore import explore as explore
    from workbench.pipeline.fusion_edits import cut as cut
    from workbench.pipeline.fusion_edits import force as force
    from workbench.pipeline.fusion_edits import outline as outline
    from workbench.pipeline.load import load as load
    from workbench.pipeline.load import load_all as load_all
    from workbench.pipeline.matching import match as match
    from workbench.pipeline.matching import pattern_for as pattern_for
    from workbench.pipeline.outputs import compare_outputs as compare_outputs
    from workbench.pipeline.run import trace as trace
    from workbench.pipeline.spec import Pipeline as Pipeline
    from workbench.pipeline.trace import Trace as Trace
    from workbench.plots.report import report as report
    from workbench.tune.run import tune as tune
    from workbench.tune.schedules.run import prepared_schedules as prepared_schedules
    from workbench.tune.schedules.run import tune_schedules as tune_schedules
    from workbench.tune.space import Space as Space
    from workbench.widgets.fusion.inspector import FusionInspector as FusionInspector
    from workbench.widgets.graph.compare import CompareView as CompareView
    from workbench.widgets.graph.view import GraphView as GraphView
    from workbench.widgets.patterns.inspector import PatternInspector as PatternInspector
    from workbench.widgets.predict import Predict as Predict
    from workbench.widgets.stepper.pass_stepper import PassStepper as PassStepper
    from workbench.widgets.tuning.panel import TunePanel as TunePanel
    from workbench.widgets.workbench.widget import Workbench as Workbench
