"""What the diff says of small edits that a person can check by eye."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.graph.changes import MARKS, GraphDiff, compose
from workbench.graph.diff import diff
from workbench.graph.model import Graph, GraphBuilder


def graph(*rows: tuple) -> Graph:
    """Rows of (name, operator, inputs by name, fields); an operator of None is a parameter."""
    builder, place = GraphBuilder("g", "relay"), {}
    for name, op, inputs, *fields in rows:
        kind = "op" if op else "param"
        extra = {"type": "t", **(fields[0] if fields else {})}
        kind = extra.pop("kind", kind)
        place[name] = builder.node(kind, op or name, [place[i] for i in inputs.split()], **extra)
    builder.outputs = [len(builder.nodes) - 1]
    return builder.build()


def constant(name: str, digest: str) -> tuple:
    return (name, f"meta[{name}]", "", {"kind": "constant", "attrs": {"digest": digest}})


TWO_CASTS = graph(
    ("x", None, ""),
    ("left", "cast", "x"),
    ("right", "cast", "x"),
    ("a", "relu", "left"),
    ("b", "tanh", "right"),
    ("out", "add", "a b"),
)
ONE_CAST = graph(
    ("x", None, ""), ("cast", "cast", "x"), ("a", "relu", "cast"), ("b", "tanh", "cast"), ("out", "add", "a b")
)


def test_two_casts_that_become_one_are_a_merge_and_their_users_are_kept():
    assert diff(TWO_CASTS, ONE_CAST) == GraphDiff(
        kept=((0, 0), (3, 2), (4, 3), (5, 4)), changed=(), removed=(), added=(), merged=(((1, 2), 1),), split=()
    )


def test_one_cast_that_becomes_two_is_a_split():
    assert diff(ONE_CAST, TWO_CASTS).split == ((1, (1, 2)),)
    assert diff(ONE_CAST, TWO_CASTS) == diff(TWO_CASTS, ONE_CAST).inverse()


EMPTY = GraphBuilder("g", "relay").build()
CHAIN = graph(("x", None, ""), ("a", "relu", "x"), ("b", "tanh", "a"), ("c", "exp", "b"))


X = ("x", None, "")
A, B, C = ("a", "relu", "x"), ("b", "tanh", "a"), ("c", "exp", "b")
SMALL_EDITS = {
    "an operator is put on an edge: its user changed": (
        CHAIN,
        graph(X, A, ("new", "cast", "a"), ("b", "tanh", "new"), C),
        {"added": (2,), "changed": ((2, 3),), "kept": ((0, 0), (1, 1), (3, 4))},
    ),
    "an operator is taken out: its user changed": (
        CHAIN,
        graph(X, A, ("c", "exp", "a")),
        {"removed": (2,), "changed": ((3, 2),), "kept": ((0, 0), (1, 1))},
    ),
    "another value of a constant": (
        graph(X, constant("w", "1111"), ("out", "add", "x w")),
        graph(X, constant("w", "2222"), ("out", "add", "x w")),
        {"changed": ((1, 1),), "kept": ((0, 0), (2, 2))},
    ),
    "a constant under another number": (
        graph(X, constant("0", "1111"), ("out", "add", "x 0")),
        graph(X, constant("7", "1111"), ("out", "add", "x 7")),
        {"kept": ((0, 0), (1, 1), (2, 2))},
    ),
    "another name of a parameter: its users are the same nodes": (
        CHAIN,
        graph(("y", None, ""), ("a", "relu", "y"), B, C),
        {"removed": (0,), "added": (0,), "changed": ((1, 1),), "kept": ((2, 2), (3, 3))},
    ),
    "swapped arguments": (
        graph(X, ("y", None, ""), ("out", "subtract", "x y")),
        graph(X, ("y", None, ""), ("out", "subtract", "y x")),
        {"changed": ((2, 2),), "kept": ((0, 0), (1, 1))},
    ),
    "another attribute": (
        graph(X, ("s", "softmax", "x", {"attrs": {"axis": 1}}), ("out", "exp", "s")),
        graph(X, ("s", "softmax", "x", {"attrs": {"axis": 2}}), ("out", "exp", "s")),
        {"changed": ((1, 1),), "kept": ((0, 0), (2, 2))},
    ),
    "true is not one": (
        graph(X, ("s", "sum", "x", {"attrs": {"keepdims": 1}})),
        graph(X, ("s", "sum", "x", {"attrs": {"keepdims": True}})),
        {"changed": ((1, 1),), "kept": ((0, 0),)},
    ),
    "everything": (EMPTY, CHAIN, {"added": (0, 1, 2, 3)}),
    "nothing": (CHAIN, EMPTY, {"removed": (0, 1, 2, 3)}),
}
"name -> before, after, the entries of the diff that are not empty"


@pytest.mark.parametrize("name", SMALL_EDITS)
def test_a_small_edit(name):
    before, after, entries = SMALL_EDITS[name]
    assert diff(before, after) == GraphDiff(**{**dict.fromkeys(MARKS, ()), **entries})


def test_equal_constants_are_not_merged_without_need():
    two = graph(constant("a", "1111"), constant("b", "1111"), ("out", "add", "a b"))
    one = graph(constant("a", "1111"), ("out", "add", "a a"))
    assert diff(two, one).merged == ()


def test_a_parameter_with_another_name_is_one_removed_and_one_added():
    renamed = graph(("y", None, ""), ("a", "relu", "y"), ("b", "tanh", "a"), ("c", "exp", "b"))
    d = diff(CHAIN, renamed)
    assert (d.removed, d.added) == ((0,), (0,))
    assert {b for b, _ in (*d.kept, *d.changed)} == {1, 2, 3}, "its users are still the same nodes"


def test_the_name_that_a_let_gives_does_not_count():
    named = replace(CHAIN, nodes=tuple(replace(node, name=f"v{node.id}", line=9) for node in CHAIN.nodes))
    assert diff(CHAIN, named).empty


def test_grouping_does_not_count():
    b = GraphBuilder("g", "relay")
    group = b.group("primitive", "fused", None)
    at = b.node("param", "x", type="t")
    for op in ("relu", "tanh", "exp"):
        at = b.node("op", op, (at,), type="t", group=group)
    b.outputs = [at]
    assert diff(CHAIN, b.build()).empty


def test_counts_and_mapping_tell_one_story():
    d = diff(TWO_CASTS, ONE_CAST)
    assert d.counts == {"kept": 4, "changed": 0, "removed": 0, "added": 0, "merged": 1, "split": 0}
    assert d.mapping == {0: (0,), 1: (1,), 2: (1,), 3: (2,), 4: (3,), 5: (4,)}
    assert repr(d) == "GraphDiff(kept 4, merged 1)"


def test_a_value_that_keeps_its_name_and_type_is_the_same_under_another_operator():
    was = graph(("x", None, ""), ("a", "relax.permute_dims", "x", {"name": "lv"}), ("b", "relu", "a"))
    now = graph(("x", None, ""), ("a", "transpose", "x", {"name": "lv"}), ("b", "relu", "a"))
    d = diff(was, now)
    assert (d.changed, d.kept) == (((1, 1),), ((0, 0), (2, 2)))
    other_type = graph(("x", None, ""), ("a", "transpose", "x", {"name": "lv", "type": "u"}), ("b", "relu", "a"))
    assert (diff(was, other_type).removed, diff(was, other_type).added) == ((1,), (1,))


def namesakes(first: str, second: str) -> Graph:
    """Return x, two parameters named `y`, and two operators that use one each."""
    builder = GraphBuilder("g", "relay")
    place = {name: builder.node("param", name[0], type="t") for name in ("x", "y0", "y1")}
    inner = builder.node("op", "dense", [place["x"], place[first]], type="t")
    builder.outputs = [builder.node("op", "dense", [inner, place[second]], type="t")]
    return builder.build()


def test_swapped_parameters_of_one_name_are_a_change():
    before, after = namesakes("y0", "y1"), namesakes("y1", "y0")
    found = diff(before, after)
    assert found == GraphDiff(((0, 0), (1, 1), (2, 2)), ((3, 3), (4, 4)), (), (), (), ())
    assert diff(before, namesakes("y0", "y1")).empty
    assert compose([found], before, after) == found


def test_parameter_does_not_merge_into_its_namesake():
    builder = GraphBuilder("g", "relay")
    x, y = builder.node("param", "x", type="t"), builder.node("param", "y", type="t")
    bound = builder.node("constant", "meta[0]", type="t", attrs={"digest": "1"})
    inner = builder.node("op", "dense", [x, bound], type="t")
    builder.outputs = [builder.node("op", "dense", [inner, y], type="t")]
    found = diff(namesakes("y0", "y1"), builder.build())
    assert not found.merged
    assert found.removed in ((1,), (2,))


def test_renamed_and_reordered_siblings_keep_their_weights():
    def siblings(op: str, order: str) -> Graph:
        params = [(name, None, "") for name in ("x", "w1", "w2", "w3")]
        # more nodes than are searched fully
        ends = [(f"e{i}", f"own_{op}", f"m{i}") for i in order] + [(f"f{i}", f"own_{op}", f"e{i}") for i in order]
        return graph(*params, *((f"m{i}", op, f"x w{i}") for i in order), *ends, ("out", "add", "f1 f2 f3"))

    before, after = siblings("relax.matmul", "123"), siblings("batch_matmul", "231")
    for one, other in ((before, after), (after, before)):
        pairs = [(one.inputs[b], other.inputs[a]) for b, a in diff(one, other).changed]
        assert {(ours[1], theirs[1]) for ours, theirs in pairs if len(ours) == 2} == {(1, 1), (2, 2), (3, 3)}
