"""The fusion pattern kind of each Relay operator: from lists, or as the running TVM registered it.

The lists are those of TVM 0.17; with them a text can be explained without TVM. `tests/relay/test_operators.py` compares
them with the running TVM.
"""

from __future__ import annotations

from functools import cache

ELEMENTWISE = """
    abs acos acosh asin asinh atan atanh bitwise_not cast cast_like ceil clip copy cos cosh dyn.full dyn.ones
    dyn.zeros erf exp fast_erf fast_exp fast_tanh fixed_point_multiply floor full full_like isfinite isinf isnan
    log log10 log2 logical_not negative nn.leaky_relu nn.relu ones ones_like qnn.dequantize qnn.quantize
    qnn.requantize qnn.simulated_dequantize qnn.simulated_quantize qnn.tanh reinterpret
    relay.op.annotation.simulated_quantize round rsqrt sigmoid sign sin sinh sqrt tan tanh trilu trunc zeros
    zeros_like
"""

BROADCAST = """
    add bitwise_and bitwise_or bitwise_xor broadcast_to broadcast_to_like divide dyn.broadcast_to equal
    expand_dims fixed_point_multiply_per_axis floor_divide floor_mod greater greater_equal left_shift less
    less_equal logical_and logical_or logical_xor maximum minimum mod multiply nn.bias_add nn.prelu not_equal
    power qnn.add qnn.mul qnn.subtract repeat right_shift subtract tile trunc_divide trunc_mod where
"""

INJECTIVE = """
    adv_index auto_scheduler_layout_transform concatenate contrib_reverse_reshape dyn.expand_dims
    dyn.image.resize2d dyn.nn.pad dyn.nn.upsampling dyn.nn.upsampling3d dyn.reshape dyn.squeeze
    dyn.strided_slice dyn.tile einsum gather gather_nd image.affine_grid image.crop_and_resize image.grid_sample
    image.resize1d image.resize2d image.resize3d invert_permutation layout_transform matrix_set_diag meshgrid
    meta_schedule_layout_transform ndarray_size nn.batch_flatten nn.batch_to_space_nd nn.bitpack
    nn.depth_to_space nn.dilate nn.mirror_pad nn.pad nn.space_to_batch_nd nn.space_to_depth nn.upsampling
    nn.upsampling3d qnn.concatenate reshape reshape_like reverse reverse_sequence sequence_mask slice_like
    sparse_reshape split squeeze stack strided_set strided_slice take transpose unravel_index vision.yolo_reorg
"""

REDUCE = """
    all any argmax argmin collapse_sum_like collapse_sum_to max mean min prod sum variance
"""

COMPLEX = """
    dyn.one_hot image.dilation2d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d
    nn.adaptive_max_pool1d nn.adaptive_max_pool2d nn.adaptive_max_pool3d nn.avg_pool1d nn.avg_pool2d
    nn.avg_pool2d_grad nn.avg_pool3d nn.batch_matmul nn.batch_norm nn.bitserial_conv2d nn.bitserial_dense
    nn.contrib_conv2d_NCHWc nn.contrib_conv2d_gemm_weight_transform
    nn.contrib_conv2d_gemm_without_weight_transform nn.contrib_conv2d_winograd_weight_transform
    nn.contrib_conv2d_winograd_without_weight_transform nn.contrib_conv3d_winograd_weight_transform
    nn.contrib_conv3d_winograd_without_weight_transform nn.contrib_dense_pack nn.contrib_depthwise_conv2d_NCHWc
    nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_backward_weight nn.conv2d_transpose nn.conv3d
    nn.conv3d_transpose nn.correlation nn.deformable_conv2d nn.dense nn.fast_softmax nn.global_avg_pool2d
    nn.global_max_pool2d nn.internal.sparse_dense_padded nn.log_softmax nn.matmul nn.max_pool1d nn.max_pool2d
    nn.max_pool2d_grad nn.max_pool3d nn.nll_loss nn.softmax nn.sparse_conv2d nn.sparse_dense nn.sparse_transpose
    one_hot qnn.avg_pool2d qnn.batch_matmul qnn.contrib_dense_pack qnn.conv2d qnn.dense vision.roi_align
    vision.roi_pool
"""

OPAQUE = """
    annotation.bitpack_end annotation.bitpack_start annotation.cast_hint annotation.checkpoint
    annotation.compiler_begin annotation.compiler_end annotation.stop_fusion arange argsort argwhere
    call_lowered cumprod cumsum debug device_copy dft dyn.sparse_to_dense dyn.topk memory.alloc_storage
    memory.alloc_tensor memory.kill nn.contrib_conv2d_winograd_nnpack_weight_transform nn.cross_entropy
    nn.cross_entropy_with_logits nn.dropout nn.fifo_buffer nn.lrn nn.sparse_add on_device random.multinomial
    random.normal random.threefry_generate random.threefry_split random.uniform scatter_elements scatter_nd
    searchsorted shape_of sliding_window sort sparse_fill_empty_rows sparse_to_dense stft topk unique
    vision.all_class_non_max_suppression vision.get_valid_counts vision.multibox_prior
    vision.multibox_transform_loc vision.non_max_suppression vision.proposal vision.regular_non_max_suppression
    vm.invoke_tvm_op vm.reshape_tensor vm.shape_of
"""

WITHOUT_KIND = """
    annotation.with_funcid contrib.ethosu.binary_elementwise contrib.ethosu.conv2d contrib.ethosu.depthwise_conv2d
    contrib.ethosu.identity contrib.ethosu.pooling contrib.ethosu.unary_elementwise hardswish nn.group_norm
    nn.instance_norm nn.l2_normalize nn.layer_norm parser.MetaRef qnn.abs qnn.conv2d_transpose qnn.erf qnn.exp
    qnn.hardswish qnn.leaky_relu qnn.log qnn.rsqrt qnn.sigmoid qnn.softmax qnn.sqrt scatter
"""
"operators for which TVM registers no kind"

DATA_DEPENDENT = """
    arange argwhere broadcast_to dyn.broadcast_to dyn.expand_dims dyn.full dyn.image.resize2d dyn.nn.pad
    dyn.nn.upsampling dyn.nn.upsampling3d dyn.one_hot dyn.ones dyn.reshape dyn.sparse_to_dense dyn.squeeze
    dyn.strided_slice dyn.tile dyn.topk dyn.zeros sparse_fill_empty_rows stft
"""
"operators whose result's shape depends on the values of an input"

NEVER_FUSED = 8
"the kind of opaque operators"
_KINDS = {
    name: kind
    for kind, names in (
        (0, ELEMENTWISE),
        (1, BROADCAST),
        (2, INJECTIVE),
        (3, REDUCE),
        (4, COMPLEX),
        (NEVER_FUSED, OPAQUE),
    )
    for name in names.split()
}
OPERATORS = frozenset([*_KINDS, *WITHOUT_KIND.split()])
"Relay's operators in TVM 0.17"
_DATA_DEPENDENT = frozenset(DATA_DEPENDENT.split())


def pattern_of(op: str, dynamic: bool = False) -> int | None:
    """Return the operator's kind from the lists, without TVM."""
    return NEVER_FUSED if dynamic and op in _DATA_DEPENDENT else _KINDS.get(op)


@cache
def registered_pattern(op: str, dynamic: bool = False) -> int | None:
    """Return the kind that TVM registered for an operator, or None.

    FuseOps treats an operator as opaque if the shape of its result is dynamic and depends on the values of its inputs.
    """
    import tvm

    try:
        known = tvm.ir.Op.get(op)
    except tvm.TVMError:
        return None
    if dynamic and any(map(int, known.get_attr("TShapeDataDependent") or ())):
        return NEVER_FUSED
    kind = known.get_attr("TOpPattern")
    return None if kind is None else int(kind)
