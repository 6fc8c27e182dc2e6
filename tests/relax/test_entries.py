import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax.frontend import nn

import workbench as wb
from workbench.dialects.relax import compat


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def prefill(self, x: nn.Tensor):
        return nn.op.silu(self.layer(x))

    def decode(self, x: nn.Tensor, total: int):
        return nn.op.reshape(self.layer(x), (1, total, 8))


PREFILL = {"prefill": {"x": nn.spec.Tensor([1, "n", 8], "float32")}}
BOTH = {**PREFILL, "decode": {"x": nn.spec.Tensor([1, "total", 8], "float32"), "total": int}}


def test_exported_module_has_its_functions_as_entries():
    loaded = wb.load(Steps().export_tvm(BOTH))
    assert loaded.entries() == ("decode", "prefill")
    chosen = wb.load(loaded, entry="prefill")
    assert (chosen.entry, chosen.entries()) == ("prefill", ("decode", "prefill"))
    assert [v.name_hint for v in chosen.module.get_global_vars()] == ["main"]
    assert any("prefill" in note for note in chosen.notes)
    assert wb.load(chosen, entry="decode").entry == "decode"


def test_values_of_exported_parameters_are_taken():
    module = Steps()
    module.layer.weight.data = np.ones((8, 8), "float32")
    loaded = wb.load(module.export_tvm(BOTH), entry="decode")
    assert list(loaded.params) == ["layer.weight"]
    assert loaded.params["layer.weight"].numpy().sum() == 64


def test_only_function_needs_no_entry():
    loaded = wb.load(Steps().export_tvm(PREFILL, allow_extern=True), shapes={"n": 4})
    assert (loaded.entry, loaded.shapes) == ("prefill", {"n": 4})
    assert wb.count(loaded).calls == 2


@pytest.mark.parametrize("entry", ["prefill", "decode"])
def test_counts_of_an_entry_are_its_own(entry):
    loaded = wb.load(Steps().export_tvm(BOTH))
    how = {"entry": entry, "shapes": {"n" if entry == "prefill" else "total": 16}}
    counts, built = wb.count(loaded, **how), wb.kernels(loaded, **how)
    assert (counts.calls, counts.traffic_bytes) == (built.calls, built.traffic_bytes)
    weights = 2 * 8 * 8 * 4
    values = 16 * 8 * 4
    assert counts.traffic_bytes == weights + 8 * 8 * 4 + 8 * 4 + 2 * values + (2 * values if entry == "decode" else 0)
    assert built.flops is not None


def test_other_functions_beside_main_are_not_counted():
    module = Steps().export_tvm(BOTH)[0]
    both = tvm.IRModule({"main": module["prefill"].with_attr("global_symbol", "main"), "decode": module["decode"]})
    assert wb.count(wb.load(both)).calls == wb.kernels(wb.load(both)).calls == 2


def test_callees_of_an_entry_are_kept():
    bb = relax.BlockBuilder()
    x = relax.Var("x", compat.tensor_type((4,), "float32"))
    with bb.function("inner", [x], private=True):
        bb.emit_func_output(bb.emit(relax.op.exp(x)))
    y = relax.Var("y", compat.tensor_type((4,), "float32"))
    with bb.function("outer", [y]):
        called = bb.emit(bb.get().get_global_var("inner")(y))
        bb.emit_func_output(called)
    loaded = wb.load(bb.finalize())
    assert loaded.entry == "outer"
    assert {v.name_hint for v in loaded.module.get_global_vars()} == {"main", "inner"}
    assert wb.measure(loaded, [0], budget=0.01, store=False).status[0] == "ok"


def test_dynamic_code_runs_with_the_given_size():
    loaded = wb.load(Steps().export_tvm(BOTH))
    rows = wb.measure(loaded, [3], entry="decode", shapes={"total": 5}, budget=0.01, store=False)
    assert rows.status[0] == "ok", rows.message[0]
    assert "total" in wb.load(loaded, entry="decode", shapes={"total": 5}).text()


def test_sizes_make_another_workload_of_the_history():
    from workbench.measurement.row import workload_hash

    loaded = wb.load(Steps().export_tvm(PREFILL))
    sizes = [wb.load(loaded, shapes={"n": n}) for n in (1, 2, 1)]
    assert sizes[0] is sizes[2]
    assert len({workload_hash(each) for each in (loaded, *sizes)}) == 3


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"entry": "forward"}, "no function to run named 'forward'; known: decode, prefill"),
        ({"shapes": {"n": 4}}, "choose one of its functions with entry=: decode, prefill"),
        ({"entry": "prefill", "shapes": {"m": 4}}, "no symbolic dimension named 'm'; known: n"),
        ({"entry": "prefill", "shapes": {"n": 0}}, "0 is not a size for 'n'"),
        ({"entry": "prefill", "shapes": {"n": 1.5}}, "1.5 is not a size for 'n'"),
        ({"entry": "prefill", "shapes": {"n": None}}, "None is not a size for 'n'"),
        ({"entry": "prefill", "shapes": {"n": True}}, "True is not a size for 'n'"),
        ({"entry": "prefill", "shapes": [("n", 4)]}, "give a dictionary"),
        ({"entry": "prefill", "shapes": {"n": (1, 2)}}, "'n' is one symbolic dimension"),
    ],
)
def test_wrong_choice_names_those_there_are(how, message):
    with pytest.raises(wb.WorkbenchError, match=message):
        wb.count(wb.load(Steps().export_tvm(BOTH)), **how)


def test_missing_entry_and_missing_size_are_named():
    loaded = wb.load(Steps().export_tvm(BOTH))
    with pytest.raises(wb.WorkbenchError, match="with entry=: decode, prefill"):
        wb.kernels(loaded)
    row = wb.measure(loaded, [3], entry="prefill", store=False).iloc[0]
    assert row.status == "failed"
    assert "leaves n open; give values, shapes={'n': 128}" in row.message


def test_generated_code_names_the_function():
    loaded = wb.load(Steps().export_tvm(BOTH), entry="decode", name="model")
    assert "model (the module with its function decode as main) after 1 pass" in wb.trace(loaded, "LegalizeOps").code()


def test_entry_keeps_the_modules_tables():
    tables = {"vdevice": [relax.VDevice("llvm", 0, "global")]}
    module = Steps().export_tvm(BOTH)[0]
    both = tvm.IRModule(module.functions, module.attrs, tables)
    assert str(wb.load(wb.load(both), entry="decode").module.global_infos) == str(both.global_infos)


def test_integers_of_numpy_are_sizes():
    loaded = wb.load(Steps().export_tvm(PREFILL), shapes={"n": np.int64(4)})
    assert (loaded.shapes, type(loaded.shapes["n"])) == ({"n": 4}, int)


def test_parameters_without_names_are_refused():
    module = Steps().export_tvm(PREFILL)[0]
    for params in ([np.ones((8, 8))], [np.ones(2)], 3):
        with pytest.raises(wb.WorkbenchError, match="parameters have no names"):
            wb.load(module, params)
        with pytest.raises(wb.WorkbenchError, match="parameters have no names"):
            wb.load_all("def @main(%x: int8) { exp(%x) }", params)


def test_sizes_given_before_are_kept():
    two = {"prefill": {"x": nn.spec.Tensor(["m", "n", 8], "float32")}, "decode": BOTH["decode"]}
    loaded = wb.load(Steps().export_tvm(two), entry="prefill", shapes={"n": 4})
    both = wb.load(loaded, shapes={"m": 2})
    assert both.shapes == {"n": 4, "m": 2}
    assert wb.load(both, shapes={"n": 5}).shapes == {"n": 5, "m": 2}
    assert wb.load(both, entry="decode").shapes == {}
    assert wb.load(wb.load(both, entry="decode", shapes={"total": 3}), entry="prefill", shapes={"n": 4}).shapes == {
        "n": 4
    }


def test_sizes_that_another_function_has_too_are_kept():
    two = {name: {"x": nn.spec.Tensor([1, "n", 8], "float32")} for name in ("prefill", "again")}
    module = Steps()
    module.again = module.prefill
    loaded = wb.load(module.export_tvm(two), entry="prefill", shapes={"n": 4})
    assert wb.load(loaded, entry="again").shapes == {"n": 4}


def test_choice_has_the_trust_and_parameters_of_its_workload():
    module = Steps()
    module.layer.weight.data = np.ones((8, 8), "float32")
    loaded = wb.load(module.export_tvm(BOTH))
    first = wb.load(loaded, entry="prefill")
    loaded.trusted = False
    assert not wb.load(loaded, entry="prefill").trusted
    assert wb.load(loaded, entry="prefill") is first
    loaded.params["layer.weight"] = np.zeros((8, 8), "float32")
    assert wb.load(loaded, entry="prefill").params["layer.weight"].sum() == 0
