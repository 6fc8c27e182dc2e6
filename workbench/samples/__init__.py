"""Example workloads, built with each dialect's own builder: the graphs of the questions, and some to learn and test on."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect, installed
from workbench.errors import LoadError, UnknownName
from workbench.graph.nodes import DIALECTS


def names(dialect: str | None = None) -> list[str]:
    """The samples there are for a dialect, by default the one that this environment's TVM runs."""
    folder = importlib.import_module(f"{__name__}.{_known(dialect)}")
    return sorted(module.name for module in pkgutil.iter_modules(folder.__path__) if not module.name.startswith("_"))


def load(name: str, *, dialect: str | None = None, **options: Any) -> Workload:
    """Build a sample.

    Parameters
    ----------
    name
        One of `names()`.
    options
        What the sample can vary, `layers=2` for `bert`; the sample's module says what.

    Raises
    ------
    UnknownName, LoadError
        There is no such sample, or it has no such option.
    """
    where = _known(dialect)
    if name not in names(where):
        raise UnknownName(f"{where} sample", name, names(where))
    module = importlib.import_module(f"{__name__}.{where}.{name}")
    try:
        built, params = module.build(**options)
    except (TypeError, ValueError) as error:
        raise LoadError(f"the sample {name} cannot be built so: {error}") from None
    return _loaded(where, built, params, name)


def _loaded(where: str, module: Any, params: dict[str, Any], name: str) -> Workload:
    workload = dialect(where).frontend.load(module, params, name)
    assert workload is not None, "a sample builds an IRModule"
    return workload


def _known(name: str | None) -> str:
    found = name or installed()
    if found is None:
        raise LoadError(
            "the samples are built with TVM, and there is none in this environment; `pip install tvm-workbench[relax]`"
        )
    if found not in DIALECTS:
        raise UnknownName("dialect", found, DIALECTS)
    return found
