"""The lists of pattern kinds, and the files that the Relax lane compares with, say what the running TVM says."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tvm
from relay import operator_cases as saved

from workbench.dialects.relay import operators


def test_each_operator_has_the_kind_that_tvm_registers():
    names = [str(name) for name in tvm.ir.Op.list_op_names() if not str(name).startswith(("tir.", "relax."))]
    assert len(names) > 300
    for dynamic in (False, True):
        ours = {name: operators.pattern_of(name, dynamic) for name in names}
        assert ours == {name: operators.registered_pattern(name, dynamic) for name in names}


def test_the_lists_are_tvms_operators():
    names = [str(name) for name in tvm.ir.Op.list_op_names() if not str(name).startswith(("tir.", "relax."))]
    assert set(names) == {name for name in operators.OPERATORS if not name.startswith("tir.")}


def test_an_unknown_operator_has_none():
    assert operators.pattern_of("no.such") is None


SEEN = np.load(saved.DATA / "relay_operators.npz")


def test_the_file_has_todays_cases() -> None:
    assert json.loads(SEEN["texts"].tobytes()) == {name: saved.text(made) for name, made in saved.cases()}


@pytest.mark.parametrize("name", ["round", "take wrap", "variance unbiased", "fixed_point_multiply -3"])
def test_the_numbers_are_what_relay_computes(name: str) -> None:
    made = dict(saved.cases())[name]
    given = saved.inputs(made, name)
    assert all(np.array_equal(SEEN[f"{name}/x{place}"], value) for place, value in enumerate(given))
    np.testing.assert_allclose(saved.outputs(made, given), SEEN[f"{name}/out"], rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(("file", "make"), [("relay_operators", saved.operators), ("relay_samples", saved.samples)])
def test_everything_in_the_files_is_what_relay_computes(file: str, make: object) -> None:
    assert callable(make)
    seen, now = np.load(saved.DATA / f"{file}.npz"), make()
    assert set(seen.files) == set(now)
    for key in seen.files:
        np.testing.assert_allclose(now[key], seen[key], rtol=1e-5, atol=1e-6, err_msg=key)
