"""CombineParallelOps: a safe version of CombineParallelOpBatch."""

from __future__ import annotations

from dataclasses import dataclass

import tvm
from tvm import relay

from workbench.analysis.branches.batched import WITH_AXIS, Batch, batch_form, batches
from workbench.dialects.relay.operators import registered_pattern
from workbench.dialects.relay.passes.editing import Located
from workbench.dialects.relay.passes.rewriting import Memo, everywhere, rewritten
from workbench.errors import PipelineError


@tvm.transform.module_pass(opt_level=0, name="CombineParallelOps")
@dataclass(frozen=True)
class CombineParallelOps:
    """Combine sibling calls of an operator on one input, and the operators after them, into batched calls.

    Second arguments are stacked on a new axis in front, the batched operator runs once, and its result is split again.
    The same element-wise operators that follow each branch are stacked with it. Fully equal calls, such as two casts of
    one value, become one call and nothing is stacked. Attributes are kept. Branches of different shapes, types or
    attributes stay as they are, and so do those that use each other's results.
    """

    op: str
    "the operator, `nn.dense`, `add`, `cast`, ..."
    batch_op: str = ""
    "its batched form; optional, as each operator has at most one"
    min_num_branches: int = 2
    "the least number of branches worth combining"

    def __post_init__(self) -> None:
        """Refuse operators that cannot be combined correctly.

        Raises PipelineError: the operator is unknown, has no batched form, or another one than was given.
        """
        try:
            tvm.ir.Op.get(self.op)
        except tvm.TVMError:
            raise PipelineError(f"TVM has no operator named {self.op!r}; give one like nn.dense or add") from None
        form = batch_form(self.op, registered_pattern(self.op))
        if form is None:
            raise PipelineError(
                f"{self.op} has no batched form that is always right; element-wise operators, nn.dense, nn.matmul and nn.softmax have one"
            )
        if self.batch_op and self.batch_op != form:
            raise PipelineError(
                f"the batched form of {self.op} is {form}; {self.batch_op} would compute something else"
            )
        if not isinstance(self.min_num_branches, int) or self.min_num_branches < 2:
            raise PipelineError(f"min_num_branches is {self.min_num_branches!r}; give a whole number from 2 on")

    def transform_module(self, module: tvm.IRModule, _: tvm.transform.PassContext) -> tvm.IRModule:
        """Run on a module; return it unchanged if it has no such siblings."""
        at = Located(relay.transform.InferType()(module))
        found, _ = batches(at.graph, self.op, self.min_num_branches)
        found = [
            batch
            for batch in found
            if all(at.instances[at.expressions[node]] == 1 for branch in batch.branches for node in branch)
        ]
        if not found:
            return module
        instead: Memo = {}
        for batch in found:
            instead.update(_combined(at, batch))
        return everywhere(at.module, lambda function: rewritten(function, {}, instead=instead))


def _combined(at: Located, batch: Batch) -> Memo:
    """Return the last expression of each branch -> the value that its users read instead."""
    branches = [[at.expressions[node] for node in branch] for branch in batch.branches]
    if batch.equal:
        return {branch[0]: branches[0][0] for branch in branches[1:]}
    made: relay.Expr | None = None
    for level, calls in enumerate(zip(*branches, strict=True)):
        parents = [branch[level - 1] for branch in branches] if level else []
        made = _batched(calls, parents, made)
    parts = relay.split(made, len(branches), axis=0)
    return {branch[-1]: relay.squeeze(parts[place], axis=[0]) for place, branch in enumerate(branches)}


def _batched(calls: tuple[relay.Call, ...], parents: list[relay.Expr], made: relay.Expr | None) -> relay.Expr:
    """Return one call for all of a level; `made` is the level above."""
    first = calls[0]
    rank = len(first.checked_type.shape)
    is_matmul = first.op.name in ("nn.dense", "nn.matmul")
    arguments = []
    # calls that share every argument are stacked by the last one
    alike = not parents and all(call.args[i].same_as(a) for call in calls for i, a in enumerate(first.args))
    for index in range(len(first.args)):
        sources = [call.args[index] for call in calls]
        shared = all(source.same_as(sources[0]) for source in sources) and not (alike and index == len(first.args) - 1)
        if parents and sources[0].same_as(parents[0]):
            arguments.append(made)
        elif shared and is_matmul:
            arguments.append(relay.expand_dims(sources[0], 0))
        elif shared and first.op.name not in WITH_AXIS:
            arguments.append(sources[0])
        else:
            arguments.append(relay.stack([_ranked(source, rank) for source in sources], axis=0))
    return _call(first, arguments)


def _ranked(value: relay.Expr, rank: int) -> relay.Expr:
    """Return the value with missing dimensions added in front as 1."""
    missing = rank - len(value.checked_type.shape)
    return relay.expand_dims(value, 0, missing) if missing else value


def _call(like: relay.Call, arguments: list[relay.Expr]) -> relay.Expr:
    """Return the batched form of a call, with its attributes."""
    name, attrs = like.op.name, like.attrs
    if name == "nn.dense":
        return relay.nn.batch_matmul(*arguments, out_dtype=str(attrs.out_dtype), transpose_b=True)
    if name == "nn.matmul":
        return relay.nn.batch_matmul(
            *arguments,
            out_dtype=str(attrs.out_dtype),
            transpose_a=bool(attrs.transpose_a),
            transpose_b=bool(attrs.transpose_b),
        )
    if name in WITH_AXIS:
        axis = int(attrs.axis)
        make = relay.nn.softmax if name == "nn.softmax" else relay.nn.log_softmax
        return make(arguments[0], axis + 1 if axis >= 0 else axis)
    return relay.Call(like.op, arguments, attrs)
