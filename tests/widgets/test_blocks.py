"""Blocks: links to nodes, near misses behind one line, cut lists."""

from __future__ import annotations

from workbench.widgets.blocks import linked, near_misses, row, rows, shortened, words


def test_nodes_in_sentences_are_links() -> None:
    text = "add (node 3) does not join relu (node 12); node 99 is not in this graph"
    made = linked([words(text), rows([row("path", small="kind · node 0")])], 13)
    assert made[0] == {**words(text), "links": [("node 3", 3), ("node 12", 12)]}
    assert made[1] == rows([{**row("path", small="kind · node 0"), "links": [("node 0", 0)]}])


def test_near_misses_of_one_reason_are_one_line() -> None:
    lines = [("other shape", row("a")), ("other type", row("b")), ("other shape", row("c"))]
    group, alone = near_misses(lines, shown=2)
    assert group["text"] == "2 near misses: other shape"
    assert [line["text"] for line in group.get("group", [])] == ["a", "c"]
    assert group.get("opened") is True
    assert alone == row("b")
    assert [line["text"] for line in near_misses([("", row(str(i))) for i in range(70)])[0].get("group", [])][-1] == (
        "and 10 more"
    )


def test_cut_list_gives_the_number_left_out() -> None:
    lines = [row(str(i)) for i in range(5)]
    assert shortened(lines, "all") == [rows(lines, "all")]
    assert shortened(lines, "some", 2) == [rows(lines[:2], "some"), words("and 3 more", "small")]
