"""Kernels of two graphs aligned by their sources: examples, and laws."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.alignment import LEFT, MANY, MERGED, ONE, RIGHT, SPLIT, Aligned, Alignment, align
from workbench.graph.model import Graph, GraphBuilder

Kernel = tuple[str, Sequence[str]]
"an operator, and the sources of the kernel"
MIRROR = {SPLIT: MERGED, MERGED: SPLIT, LEFT: RIGHT, RIGHT: LEFT}


def built(kernels: Sequence[Kernel]) -> Graph:
    """A graph with one kernel for each row, of one operator per source, or of one without a source."""
    builder = GraphBuilder("g", "relay")
    x = builder.node("param", "x", type="Tensor[(2, 3), float32]")
    for op, sources in kernels:
        group = builder.group("primitive", f"fused_{op}", None)
        for name in sources or [""]:
            found = (name,) if name else ()
            x = builder.node("op", op, [x], type="Tensor[(2, 3), float32]", group=group, source=found)
        builder.returns(group, x)
    builder.outputs = [x]
    return builder.build()


def kinds(found: Alignment) -> list[str]:
    return [group.kind for group in found.groups]


def test_a_kernel_is_split_and_two_are_merged():
    found = align(
        built([("relu", "ab"), ("exp", "c"), ("exp", "d")]), built([("relu", "a"), ("exp", "b"), ("exp", "cd")])
    )
    assert found.groups == (Aligned((0,), (0, 1), ("a", "b")), Aligned((1, 2), (2,), ("c", "d")))
    assert kinds(found) == [SPLIT, MERGED]


def test_kernels_that_overlap_are_many_to_many():
    assert kinds(align(built([("exp", "ab"), ("exp", "cd")]), built([("exp", "a"), ("exp", "bc"), ("exp", "d")]))) == [
        MANY
    ]


def test_a_change_of_layout_is_only_on_its_side_and_a_folded_node_is_apart():
    found = align(built([("layout_transform", ""), ("exp", "ab")]), built([("exp", "a"), ("log", "z")]))
    assert kinds(found) == [LEFT, ONE, RIGHT]
    assert found.groups[1] == Aligned((1,), (0,), ("a",), ("b",))


def test_kernels_of_one_source_pair_by_their_operators():
    both = [("exp", "a"), ("log", "a"), ("exp", "a")]
    assert kinds(align(built(both), built(both))) == [ONE] * 3
    found = align(built(both), built([*both, ("exp", "a")]))
    assert sorted(kinds(found)) == [MANY, ONE]
    assert found.share(ONE) == 2 / 7


def test_the_share_is_of_both_sides_operations():
    # 6 elements: left 12 and 6 operations, right 6, 6 and 6
    found = align(built([("exp", "ab"), ("exp", "c")]), built([("exp", "a"), ("exp", "b"), ("exp", "c")]))
    assert (found.flops(SPLIT), found.flops(ONE), found.exact) == (24, 12, 12 / 36)
    assert str(found) == "1 group one to one with 33.3%, 1 group split with 66.7% of the operations"


def test_kernels_of_unknown_operations_are_listed():
    found = align(built([("nonsense", "a"), ("exp", "b")]), built([("exp", "a"), ("exp", "b")]))
    assert found.unknown == ((0,), ())
    assert found.exact == 1


kernels = st.tuples(
    st.sampled_from(["exp", "log", "nonsense"]), st.lists(st.sampled_from("abcdef"), max_size=3, unique=True)
)
programs = st.lists(kernels, max_size=8).map(built)


def mirrored(group: Aligned) -> Aligned:
    return Aligned(group.right, group.left, group.both, group.apart)


@given(programs, programs)
def test_the_alignment_is_symmetric(left: Graph, right: Graph):
    ours, theirs = align(left, right), align(right, left)
    assert set(map(mirrored, ours.groups)) == set(theirs.groups)
    assert sorted(MIRROR.get(kind, kind) for kind in kinds(ours)) == sorted(kinds(theirs))
    assert ours.exact == theirs.exact


@given(programs, programs)
def test_each_kernel_is_in_exactly_one_group(left: Graph, right: Graph):
    found = align(left, right)
    assert sorted(at for group in found.groups for at in group.left) == list(range(len(found.left.kernels)))
    assert sorted(at for group in found.groups for at in group.right) == list(range(len(found.right.kernels)))
    assert abs(found.share(ONE, SPLIT, MERGED, MANY, LEFT, RIGHT) - 1) < 1e-9


@given(st.lists(kernels.filter(lambda kernel: bool(kernel[1])), max_size=8).map(built))
def test_equal_graphs_align_one_to_one(graph: Graph):
    found = align(graph, graph)
    assert [(group.left, group.right) for group in found.groups] == [((at,), (at,)) for at in range(len(found.groups))]
    assert found.exact == 1


@given(programs, programs)
def test_a_kernel_alone_shares_no_source_with_the_other_side(left: Graph, right: Graph):
    found = align(left, right)
    first, second = (frozenset[str]().union(*side.sources) for side in (found.left, found.right))
    for group in found.groups:
        if group.kind == LEFT:
            assert not found.left.sources[group.left[0]] & second
        if group.kind == RIGHT:
            assert not found.right.sources[group.right[0]] & first


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_two_groupings_of_one_program_have_the_components_of_their_overlaps(left: list[int], right: list[int]):
    """Kernels that partition the same sources: each group is closed, so both sides compute the same in it."""
    many = min(len(left), len(right))

    def grouped(labels: list[int]) -> Graph:
        return built(
            [("exp", [f"s{at}" for at in range(many) if labels[at] == label]) for label in sorted({*labels[:many]})]
        )

    for group in align(grouped(left), grouped(right)).groups:
        assert group.left
        assert group.right
        assert not group.apart
