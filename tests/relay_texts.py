"""Texts of programs that both environments read."""

from __future__ import annotations

FILE = "plain.relay"
PLAIN = """\
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {
  %0 = nn.dense(%x, %w, units=None);
  %1 = split(%0, indices_or_sections=2, axis=1);
  (nn.softmax(add(%1.0, %1.1)), exp(%0))
}
"""

CONSTANTS = """\
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32] /* ty=Tensor[(2, 3), float32] */) -> Tensor[(2, 2), float32] {
  %0 = add(%x, meta[relay.Constant][0] /* ty=Tensor[(2, 3), float32] */) /* ty=Tensor[(2, 3), float32] */;
  %1 = nn.dense(%0, meta[relay.Constant][0] /* ty=Tensor[(2, 3), float32] */, units=None) /* ty=Tensor[(2, 2), float32] */;
  nn.relu(%1) /* ty=Tensor[(2, 2), float32] */
}

#[metadata]
"""
"its values are in METADATA"
METADATA = (
    '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]}, {"type_k'
    'ey": "Array", "data": [3]}, {"type_key": "relay.Constant", "attrs": {"_checked_type_": "6", "data": "0", "span'
    '": "0", "virtual_device_": "4"}}, {"type_key": "VirtualDevice", "attrs": {"device_type_int": "-1", "memory_sco'
    'pe": "5", "target": "0", "virtual_device_id": "-1"}}, {"type_key": "runtime.String"}, {"type_key": "relay.Tens'
    'orType", "attrs": {"dtype": "float32", "shape": "7", "span": "0"}}, {"type_key": "Array", "data": [8, 9]}, {"t'
    'ype_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "2"}}, {"type_key": "IntImm", "attrs": {'
    '"dtype": "int32", "span": "0", "value": "3"}}], "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQACA'
    'AAAAAAAAAMAAAAAAAAAGAAAAAAAAAAAAAAAAACAPwAAAEAAAEBAAACAQAAAoEA="], "attrs": {"tvm_version": "0.17.dev0"}}'
)

SCRIPT = """\
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            y = R.nn.relu(x)
            R.output(y)
        return y
"""
OPEN = "def @main(%x: Tensor[(?, 3), float32]) { nn.relu(%x) }"
TABLE = """\
def @main(%ids.1: Tensor[(2, 5), int32], %weight: Tensor[(7, 3), float32]) {
  nn.relu(take(%weight, %ids.1, axis=0))
}
"""
UNTRANSLATED = "def @main(%x: Tensor[(1, 8, 4, 4), float32]) { nn.relu(nn.lrn(%x)) }"
DAMAGED = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x, }"
ENDS = """\
def @main(%data: Tensor[(1, 4), float32], %c: bool) {
  %2 = add(%data, %data);
  %2(%2)
}
"""
"ends Relay's TVM"
