"""Example workloads: the graphs of the forum questions, and some to learn and test on.

A sample is a function of `models.py`, written once for both dialects, and a line in SAMPLES.

Examples
--------
>>> wb.samples.names()
['attention', 'bert', 'branches', 'chain', 'conv_bias_batch_norm', 'mlp', 'parallel_cast', 'resnet18']
>>> wb.samples.load("mlp")
Workload('mlp', relax, 6 parameters)
"""

from __future__ import annotations

from typing import Any

from workbench.dialects.base import Workload
from workbench.dialects.registry import dialect as dialect_named
from workbench.dialects.registry import installed
from workbench.errors import LoadError, UnknownName
from workbench.graph.nodes import DIALECTS
from workbench.pipeline.spec import parse_sample, sample_text
from workbench.samples.models import SAMPLES, Builder


def names(dialect: str | None = None) -> list[str]:
    """Return the samples of a dialect, by default the one that this environment's TVM runs."""
    _dialect_name(dialect)
    return list(SAMPLES)


def load(name: str, *, dialect: str | None = None, **options: Any) -> Workload:
    """Build a sample.

    Parameters
    ----------
    name
        One of `names()`.
    options
        Options of the sample, such as `layers=2` for `bert`; see the sample's function in `models.py`.

    Raises
    ------
    UnknownName, LoadError
        There is no such sample, or it has no such option.
    """
    where = _dialect_name(dialect)
    if name not in names(where):
        raise UnknownName(f"{where} sample", name, names(where))
    frontend, builder = dialect_named(where).frontend, _builder_of(where)
    try:
        module, params = SAMPLES[name](builder, **options)
    except (TypeError, ValueError) as error:
        raise LoadError(f"the sample {name} cannot be built so: {error}") from None
    workload = frontend.load(module, params, name)
    assert workload is not None, "a sample builds an IRModule"
    workload.sample = sample_text(name, options)
    return workload


def load_text(text: str) -> Workload:
    """Build the sample of a text, `sample:bert{layers=2}`; raises what `load` and `parsed` raise."""
    name, options = parse_sample(text)
    return load(name, **options)


def _dialect_name(name: str | None) -> str:
    found = name or installed()
    if found is None:
        raise LoadError(
            "the samples are built with TVM, and there is none in this environment; `pip install tvm-workbench[relax]`"
        )
    if found not in DIALECTS:
        raise UnknownName("dialect", found, DIALECTS)
    return found


def _builder_of(dialect: str) -> Builder:
    """Return an empty builder of a dialect; it imports TVM."""
    if dialect == "relay":
        from workbench.samples._relay import RelayBuilder

        return RelayBuilder()
    from workbench.samples._relax import RelaxBuilder

    return RelaxBuilder()
