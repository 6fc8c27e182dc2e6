"""Axes of reductions as attributes: where they are an input, TVM 0.17 takes the first of them and leaves the others out.

ONNX moved them from the attribute to an input (ReduceSum in opset 13, the others in 18); `Reduce._impl_v13` in
python/tvm/relay/frontend/onnx.py reads `inputs[1].data.numpy()[0]`. A mean over height and width became one over height.
"""

from __future__ import annotations

from typing import Any

from workbench.dialects.importers.onnx_model import nodes, onnx_package


def axes_as_attributes(model: Any) -> None:
    """Write constant axes of every reduction in the model back into the attribute, in place."""
    onnx = onnx_package()
    values = {
        node.output[0]: attribute.t
        for node in nodes(model.graph)
        if node.op_type == "Constant"
        for attribute in node.attribute
        if attribute.name == "value"
    }
    for node in nodes(model.graph):
        if node.op_type.startswith("Reduce") and len(node.input) == 2 and node.input[1] in values:
            axes = onnx.numpy_helper.to_array(values[node.input[1]]).reshape(-1).tolist()
            if axes:
                _rewrite(onnx, node, axes)


def _rewrite(onnx: Any, node: Any, axes: list[int]) -> None:
    del node.input[1]
    kept = [attribute for attribute in node.attribute if attribute.name not in ("axes", "noop_with_empty_axes")]
    node.ClearField("attribute")
    node.attribute.extend([*kept, onnx.helper.make_attribute("axes", axes)])
