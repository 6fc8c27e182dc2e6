"""What each of TVM's combiners makes of a group, operator by operator."""

from __future__ import annotations

from collections.abc import Callable

from workbench.analysis.branches.calls import Calls
from workbench.analysis.branches.recipe import BROADCAST, INJECTIVE, Recipe, Ref, joined
from workbench.analysis.branches.rules import BatchMatmul, Branches, Conv2D, DenseAsBatch, DenseAsDense, attr, type_of
from workbench.analysis.tensors import Tensor

Argument = Callable[[Recipe, int, int], Ref]
"(recipe, level, position) -> the joined argument"


def recipe_of(calls: Calls, rules: object, branches: Branches) -> Recipe:
    """What the combiner puts in place of these branches, all of one length."""
    if isinstance(rules, Conv2D):
        return _convolutions(calls, rules, branches)
    if isinstance(rules, DenseAsBatch):
        return _batched_dense(calls, branches)
    if isinstance(rules, DenseAsDense):
        return _wide_dense(calls, branches)
    assert isinstance(rules, BatchMatmul)
    return _wide_matmul(calls, branches)


def _heads(calls: Calls, branches: Branches) -> tuple[Ref, list[Ref]]:
    """The shared input, and the second argument of each head."""
    inputs = [calls.graph.inputs[branch[0]] for branch in branches]
    return ("old", inputs[0][0]), [("old", each[1]) for each in inputs]


def _following(calls: Calls, recipe: Recipe, branches: Branches, start: Ref, argument: Argument, axis: int) -> Ref:
    """The operators after the head, on joined arguments.

    `axis` is negative, counted from the back: an argument of higher rank puts axes in front.
    """
    made = start
    for level in range(1, len(branches[0])):
        first = branches[0][level]
        parent = calls.graph.inputs[first].index(branches[0][level - 1])
        inputs = [
            made if index == parent else argument(recipe, level, index)
            for index in range(len(calls.graph.inputs[first]))
        ]
        made = recipe.like(first, inputs, joined([type_of(calls, branch[level]) for branch in branches], axis))
    return made


def _slices(calls: Calls, recipe: Recipe, branches: Branches, whole: Ref) -> None:
    for branch in branches:
        end = branch[-1]
        recipe.ends[end] = recipe.add("op", "strided_slice", [whole], calls.graph.nodes[end].type, INJECTIVE)


def _arguments(calls: Calls, branches: Branches, level: int, index: int) -> list[Ref]:
    return [("old", calls.graph.inputs[branch[level]][index]) for branch in branches]


def _convolutions(calls: Calls, rules: Conv2D, branches: Branches) -> Recipe:
    recipe, head = Recipe(calls.graph), branches[0][0]
    data, weights = _heads(calls, branches)
    channel = rules.channel(calls, head)
    filters = str(attr(calls.graph.nodes[head], "kernel_layout", "OIHW")).find("O")
    kinds = [type_of(calls, branch[0]) for branch in branches]
    made = recipe.like(head, [data, recipe.concatenate(weights, filters)], joined(kinds, channel))

    def argument(recipe: Recipe, level: int, index: int) -> Ref:
        fields = _arguments(calls, branches, level, index)
        rank = len(type_of(calls, branches[0][level]).shape)
        return recipe.concatenate(fields, channel - rank + len(recipe.type(fields[0]).shape))

    _slices(calls, recipe, branches, _following(calls, recipe, branches, made, argument, channel - len(kinds[0].shape)))
    return recipe


def _batched_dense(calls: Calls, branches: Branches) -> Recipe:
    recipe = Recipe(calls.graph)
    data, weights = _heads(calls, branches)
    one = type_of(calls, branches[0][0])
    stacked = Tensor((len(branches), *one.shape), one.dtype)
    made = recipe.add(
        "op", "nn.batch_matmul", [recipe.stack([data] * len(branches)), recipe.stack(weights)], stacked, 4
    )
    for level in range(1, len(branches[0])):
        first = branches[0][level]
        parent = calls.graph.inputs[first].index(branches[0][level - 1])
        inputs = [
            made
            if index == parent
            else recipe.stack([_row(recipe, ref) for ref in _arguments(calls, branches, level, index)])
            for index in range(len(calls.graph.inputs[first]))
        ]
        one = type_of(calls, first)
        made = recipe.like(first, inputs, Tensor((len(branches), *one.shape), one.dtype))
    recipe.unstacked(made, [branch[-1] for branch in branches])
    return recipe


def _row(recipe: Recipe, ref: Ref) -> Ref:
    """A vector as a matrix of one row, so that it can be stacked; anything else as it is."""
    kind = recipe.type(ref)
    if len(kind.shape) != 1:
        return ref
    return recipe.add("op", "expand_dims", [ref], Tensor((1, *kind.shape), kind.dtype), BROADCAST)


def _wide_dense(calls: Calls, branches: Branches) -> Recipe:
    recipe, head = Recipe(calls.graph), branches[0][0]
    data, weights = _heads(calls, branches)
    kinds = [type_of(calls, branch[0]) for branch in branches]
    made = recipe.like(head, [data, recipe.concatenate(weights, 0)], joined(kinds, -1))

    def argument(recipe: Recipe, level: int, index: int) -> Ref:
        fields = []
        for branch, ref in zip(branches, _arguments(calls, branches, level, index), strict=True):
            columns = type_of(calls, branch[level - 1]).shape[-1]
            fields.append(_widened(recipe, ref, columns))
        return recipe.concatenate(fields, len(recipe.type(fields[0]).shape) - 1)

    _slices(calls, recipe, branches, _following(calls, recipe, branches, made, argument, -1))
    return recipe


def _widened(recipe: Recipe, ref: Ref, columns: int | str) -> Ref:
    """An argument with an entry for each column."""
    kind = recipe.type(ref)
    repeated = False
    if not kind.shape:
        kind, repeated = Tensor((1,), kind.dtype), True
        ref = recipe.add("op", "expand_dims", [ref], kind, BROADCAST)
    elif kind.shape[-1] == 1 and columns != 1:
        repeated = True
    if not repeated:
        return ref
    return recipe.add("op", "repeat", [ref], Tensor((*kind.shape[:-1], columns), kind.dtype), BROADCAST)


def _wide_matmul(calls: Calls, branches: Branches) -> Recipe:
    recipe, head = Recipe(calls.graph), branches[0][0]
    data, weights = _heads(calls, branches)
    kinds = [type_of(calls, branch[0]) for branch in branches]
    made = recipe.like(head, [data, recipe.concatenate(weights, 1)], joined(kinds, 2))

    def argument(recipe: Recipe, level: int, index: int) -> Ref:
        fields = _arguments(calls, branches, level, index)
        return recipe.concatenate(fields, len(recipe.type(fields[0]).shape) - 1)

    _slices(calls, recipe, branches, _following(calls, recipe, branches, made, argument, -1))
    return recipe
