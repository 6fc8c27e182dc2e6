"""Configurations that TVM would silently ignore, or fail on, are said in words first."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.dialects.base import Workload
from workbench.dialects.catalog import PassInfo
from workbench.errors import MeasureError, UnknownName
from workbench.pipeline import config
from workbench.pipeline.config import Config

CATALOG = (PassInfo("FuseOps", "relay", locked="lowering takes kernels"), PassInfo("FoldConstant", "relay"))


@pytest.fixture(autouse=True)
def catalog(monkeypatch):
    monkeypatch.setattr(
        config, "dialect_of", lambda workload: SimpleNamespace(passes=SimpleNamespace(catalog=lambda: CATALOG))
    )


def check(**fields):
    config.check_config(Workload(None, {}, "w", "relay"), Config(**fields))


def test_known_names_pass():
    check(disabled=("FoldConstant",), required=("FuseOps",))
    check(disabled=("BackwardFoldScaleAxis", "tir.UnrollLoop"))


@pytest.mark.parametrize("field", ["disabled", "required"])
def test_an_unknown_name_offers_the_nearest(field):
    with pytest.raises(UnknownName, match="did you mean FoldConstant"):
        check(**{field: ("FoldConstants",)})


def test_a_locked_pass_cannot_be_switched_off_and_the_reason_is_given():
    with pytest.raises(MeasureError, match="FuseOps cannot be switched off: lowering takes kernels"):
        check(disabled=("FuseOps",))
