"""What `save` writes, and what a notebook keeps: hostile names are text, errors are sentences."""

from __future__ import annotations

import errno
import io
import re
import shutil
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest
from matplotlib import image
from widgets import hostile
from widgets.saved import saved_values

from workbench.errors import WorkbenchError
from workbench.graph.export import compare_to_graphviz, to_graphviz
from workbench.graph.model import Edge, Graph, Node
from workbench.widgets import base as bundle
from workbench.widgets import pictures
from workbench.widgets.base import View
from workbench.widgets.graph.compare import CompareView
from workbench.widgets.graph.view import GraphView
from workbench.widgets.saved_page import LONG, inline_script, saved_page, to_json

GRAPHVIZ = pytest.mark.skipif(not shutil.which("dot"), reason="needs Graphviz")
SVG = "{http://www.w3.org/2000/svg}"


class Elements(HTMLParser):
    """Every element of a page with its attributes, as a browser's parser would find them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[str]]] = []
        self.comments: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, sorted(name for name, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def plain(count: int = 3) -> Graph:
    nodes = tuple(Node(id, "op", f"op{id}", "Tensor[(1), float32]") for id in range(count))
    return Graph(nodes, tuple(Edge(id, id + 1, 0) for id in range(count - 1)), (), (count - 1,), "plain", "relay")


def views(kind: str) -> tuple[View, View]:
    """A view of hostile graphs, and one of plain graphs."""
    if kind == "graph":
        return GraphView(hostile.graph()), GraphView(plain())
    titled = CompareView(hostile.graph(), hostile.changed(), titles=[hostile.NAMES[0], hostile.NAMES[1]])
    return titled, CompareView(plain(), plain(4))


def words(svg: bytes) -> list[str]:
    """The text of an SVG, after a look at its elements: shapes and text only, and nothing that runs or loads."""
    root = ET.fromstring(svg)
    allowed = {SVG + tag for tag in ("svg", "g", "path", "rect", "text", "title", "polygon", "ellipse", "polyline")}
    assert {element.tag for element in root.iter()} <= allowed
    names = {name.lower() for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or name.endswith("href") or name == "style"]
    return [element.text or "" for element in root.iter(SVG + "text")]


# -- the page


@pytest.mark.parametrize("kind", ["graph", "compare"])
def test_a_page_of_hostile_names_has_the_elements_of_any_other(kind: str, tmp_path: Path) -> None:
    evil, good = views(kind)
    pages = [view.save(tmp_path / f"{i}.html").read_text(encoding="utf-8") for i, view in enumerate((evil, good))]
    found = [Elements(page) for page in pages]
    assert found[0].found == found[1].found
    assert [tag for tag, _ in found[0].found].count("script") == 2
    assert found[0].comments == []


def test_the_page_asks_nothing_of_the_network(tmp_path: Path) -> None:
    page = GraphView(plain()).save(tmp_path / "a.html").read_text(encoding="utf-8")
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"https?:|src=|href=|@import|url\(", markup)
    assert "default-src 'none'" in markup


def test_long_values_are_packed_and_short_ones_are_text(tmp_path: Path) -> None:
    for i, names in enumerate((list(hostile.NAMES), list(hostile.NAMES) * (LONG // 50))):
        page = tmp_path / f"{i}.html"
        page.write_text(saved_page({"titles": names[: LONG // 2]}, "", "a page"), encoding="utf-8")
        assert ('"titles"' in page.read_text(encoding="utf-8")) == (i == 0)
        assert saved_values(page)["titles"] == names[: LONG // 2]


def test_json_in_a_script_element_has_no_markup() -> None:
    text = to_json({"a": list(hostile.NAMES), "b": b"\x00\xff"})
    assert not set("<>&\u2028\u2029") & set(text)
    assert '"b":"AP8="' in text


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ('x="</script>"', 'x="<\\/script>"'),
        ('x="</SCRIPT "', 'x="<\\/SCRIPT "'),
        ('x="<!--"', 'x="<\\!--"'),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a<b/script", "a<b/script"),
    ],
)
def test_a_script_cannot_end_its_element(source: str, written: str) -> None:
    assert inline_script(source) == written


def test_a_title_is_text() -> None:
    assert "<title>&lt;b&gt;</title>" in saved_page({}, "", "<b>")


def test_title_has_no_control_characters() -> None:
    assert "<title>a\\x1b]0;b\\x00</title>" in saved_page({}, "", "a\x1b]0;b\0")


# -- pictures


@pytest.mark.parametrize("kind", ["graph", "compare"])
def test_our_layout_writes_hostile_names_as_text(kind: str, tmp_path: Path) -> None:
    assert pictures.find_node(), "the widgets lane has the Node.js that builds the bundle"
    evil, _ = views(kind)
    shown = words(evil.save(tmp_path / "a.svg").read_bytes())
    assert any("<b>bold</b>" in text for text in shown)
    assert any("日本語" in text for text in shown)
    assert max(map(len, shown)) < 400


@GRAPHVIZ
def test_graphviz_writes_hostile_names_as_text() -> None:
    *graphs, changes = CompareView(hostile.graph(), hostile.changed()).shown_graphs()
    for dot in (to_graphviz(hostile.graph()), compare_to_graphviz(*graphs, changes.marks)):
        shown = words(pictures.by_graphviz(dot, ".svg", 30))
        assert any("<b>bold</b>" in text for text in shown)
        assert any("日本語" in text for text in shown)
        assert max(map(len, shown)) <= 100


def test_a_picture_has_every_node_and_each_mark(tmp_path: Path) -> None:
    svg = CompareView(plain(3), plain(4)).save(tmp_path / "a.svg").read_bytes()
    shown = words(svg)
    assert [text for text in shown if text.startswith("op")] == ["op0", "op1", "op2", "op0", "op1", "op2", "op3"]
    assert shown[0] == "before"
    assert b"#009e73" in svg.lower()


def test_our_layout_draws_what_graphviz_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = GraphView(plain(2_000), collapsed=[])
    assert len(words(view.save(tmp_path / "a.svg").read_bytes())) >= 2_000
    monkeypatch.setattr(bundle, "find_node", lambda: None)
    with pytest.raises(WorkbenchError, match=r"a \.svg of 2,000 nodes needs Node\.js"):
        view.save(tmp_path / "a.svg")


@pytest.mark.parametrize("by", ["layout", pytest.param("graphviz", marks=GRAPHVIZ)])
@pytest.mark.parametrize(("suffix", "start"), [(".pdf", b"%PDF"), (".png", b"\x89PNG"), (".PNG", b"\x89PNG")])
def test_the_other_formats(by: str, suffix: str, start: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "graphviz":
        monkeypatch.setattr(bundle, "find_node", lambda: None)
    for view in (GraphView(hostile.graph("$x^2$ %")), CompareView(hostile.graph(), hostile.changed())):
        assert view.save(tmp_path / f"a{suffix}").read_bytes().startswith(start)


def test_what_is_drawn_in_a_font_is_measured_in_it() -> None:
    regular, bold = pictures.font_widths()
    assert len(regular) == len(bold) == 95
    assert bold[ord("m") - 32] > regular[ord("m") - 32] > regular[ord("i") - 32] > 200


def test_words_stand_where_the_page_put_them() -> None:
    words = {"text": "MMMM", "x": 50, "y": 20, "size": 12, "bold": False, "align": "center", "fill": "#000", "alpha": 1}
    box = {"codes": "MLLLZ", "points": [20, 10, 80, 10, 80, 30, 20, 30], "fill": "#f00", "alpha": 1}
    page = {"width": 100, "height": 80, "background": "#fff", "drawn": [box, {**words, "baseline": "middle"}]}
    pixels = image.imread(io.BytesIO(pictures.draw(page, ".png")))
    red, black = pixels[:, :, 1] < pixels[:, :, 0] - 0.9, pixels[:, :, 0] < 0.1
    for is_ink, middle in ((red, (20, 50)), (black, (20, 50))):
        rows, columns = is_ink.nonzero()
        assert (rows.min() + rows.max()) / 4 == pytest.approx(middle[0], abs=1)
        assert (columns.min() + columns.max()) / 4 == pytest.approx(middle[1], abs=1)


def test_too_much_for_paper_is_refused() -> None:
    page = {"width": 1, "height": 1, "background": "#fff", "drawn": [{}] * (pictures.MOST_STROKES + 1)}
    with pytest.raises(WorkbenchError, match=r"too large for \.pdf"):
        pictures.draw(page, ".pdf")


# -- errors


def test_an_unknown_suffix_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        WorkbenchError, match=r"'a\.gif' cannot be saved: its suffix must be one of \.html, \.svg, \.pdf, \.png"
    ):
        GraphView(plain()).save(tmp_path / "a.gif")


def test_a_read_only_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(WorkbenchError, match=r"a\.html cannot be written: Read-only file system"):
        GraphView(plain()).save(tmp_path / "a.html")


@pytest.mark.parametrize("name", ["a\0.html", "a" * 300 + ".html"], ids=["NUL", "long"])
def test_a_name_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="cannot be written"):
        GraphView(plain()).save(tmp_path / name)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="there is no folder"):
        GraphView(plain()).save(tmp_path / "missing" / "a.html")
    (tmp_path / "taken.html").mkdir()
    with pytest.raises(WorkbenchError, match=r"taken\.html cannot be written: Is a directory"):
        GraphView(plain()).save(tmp_path / "taken.html")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.html"]


def test_a_failed_save_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.svg"
    path.write_text("before")
    monkeypatch.setattr(pictures.shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(pictures, "find_spec", lambda _: None)
    with pytest.raises(WorkbenchError, match=r"needs the dot command of Graphviz"):
        GraphView(plain()).save(path)
    assert path.read_text() == "before"


def test_failing_node_gives_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.mjs"
    broken.write_text("throw new Error('no such column')")
    monkeypatch.setattr(pictures, "PICTURES", broken)
    node = pictures.find_node()
    assert node
    with pytest.raises(WorkbenchError, match="could not draw the picture: Error: no such column"):
        pictures.by_layout({}, ".svg", node)
