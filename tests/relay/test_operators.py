"""The lists of pattern kinds say what the running TVM says."""

from __future__ import annotations

import tvm

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
