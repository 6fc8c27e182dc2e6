"""The base class of all widgets: the bundle of their page, saved files, and the still picture for a page without a kernel."""

from __future__ import annotations

import html
import uuid
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_origin

import anywidget
import traitlets

from workbench.errors import UnknownKeyword, WorkbenchError
from workbench.graph.diff import GraphDiff
from workbench.graph.export import compare_to_graphviz, to_graphviz
from workbench.graph.model import Graph
from workbench.widgets.pictures import by_graphviz, by_layout, find_node, write
from workbench.widgets.saved_page import saved_page
from workbench.widgets.still import OUTPUT, read_picture, still_html, svg_picture

_BUNDLE = Path(__file__).parent / "static" / "workbench.js"
if not _BUNDLE.exists():
    raise WorkbenchError(
        f"the widgets' {_BUNDLE.name} has not been built; in a checkout run `make bundle`, else install the wheel again"
    )

STILL_NODES = 150
"most nodes of the first still picture: Graphviz draws them in about 0.03 s. The page sends a better one when it has one."
STILL_SECONDS = 0.5
"longest delay of the widget by the still picture on a busy machine"
AGAIN = "Run the cell for the picture, or keep it with .save('picture.html')."
LIVE = "Run the cell for the live view."
SUFFIXES = (".html", ".svg", ".pdf", ".png")

Shown = tuple[Graph] | tuple[Graph, Graph, GraphDiff]
"one graph; or two and their difference"


T = TypeVar("T")


def json_trait(kind: type[T], help: str = "") -> traitlets.TraitType[T, T]:
    """Return a trait that the page reads: JSON of a type of page_types.py, {} or [] at first."""
    trait = traitlets.List(help=help) if get_origin(kind) is list else traitlets.Dict(help=help)
    return trait.tag(sync=True, json=kind)  # pyright: ignore[reportReturnType]  a trait's own type knows no TypedDict


class View(anywidget.AnyWidget):
    """Base of the widgets: all use one bundle, and `_view` is the name of the one to show."""

    _esm = _BUNDLE
    _view = traitlets.Unicode().tag(sync=True)
    _still_id = traitlets.Unicode(help="of the output that shows the view without a kernel").tag(sync=True)
    height = traitlets.Int(520, min=120, help="height in CSS pixels").tag(sync=True)

    saved_traits: ClassVar[tuple[str, ...]] = ()
    "names of the traits that a saved file keeps, in addition to `_view` and `height`"

    def __init__(self, *args: Any, **traits: Any) -> None:
        known = [name for name in self.trait_names() if not name.startswith("_")]
        UnknownKeyword.refuse(type(self).__name__, (name for name in traits if not self.has_trait(name)), known)
        super().__init__(*args, **traits)
        self._picture_of_page = ""
        self._still_shown: str | None = None
        "the still output in the cell; None before the widget is displayed"
        self.on_msg(self._on_still)

    @traitlets.default("_still_id")
    def _new_still_id(self) -> str:
        return uuid.uuid4().hex[:16]

    def save(self, path: str | Path) -> Path:
        """Save the view as it is now, in one file.

        Parameters
        ----------
        path
            `.html` opens from disk with no network, and pans, zooms, searches, expands and compares as here. `.svg`, `.pdf`
            and `.png` are drawn by the same layout under Node.js; without Node.js by Graphviz, up to a few hundred nodes.

        Returns
        -------
        Path
            The written file.

        Raises
        ------
        WorkbenchError
            Another suffix, a path that cannot be written, or no program to draw it.
        """
        path = Path(path).expanduser()
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise WorkbenchError(f"{path.name!r} cannot be saved: its suffix must be one of {', '.join(SUFFIXES)}")
        if not path.parent.is_dir():
            raise WorkbenchError(f"{path} cannot be written: there is no folder {path.parent}")
        write(path, self._page().encode(errors="replace") if suffix == ".html" else self._picture(suffix))
        return path

    def _page(self) -> str:
        return saved_page(self._saved(), _BUNDLE.read_text(encoding="utf-8"), self._title())

    def _picture(self, suffix: str) -> bytes:
        shown = self._shown_graphs()
        if shown is None:
            raise WorkbenchError("there is no picture yet; wait for the first one, then save it")
        node = find_node()
        if node is not None:
            return by_layout(self._kept(), suffix, _BUNDLE, node)
        return by_graphviz(_dot(shown), suffix, _nodes(shown))

    def _kept(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("_view", "height", *self.saved_traits)}

    def _saved(self) -> dict[str, object]:
        """Return the traits for the model of a saved page."""
        return self._kept()

    def _title(self) -> str:
        shown = self._shown_graphs()
        return f"{shown[0].name[:80] or 'graph'} - tvm-workbench" if shown else "tvm-workbench"

    def _shown_graphs(self) -> Shown | None:
        """Return the graphs on the page; None before the first picture."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return the live widget, and the markup that a page without widgets shows."""
        made = super()._repr_mimebundle_(**kwargs)
        if made is None:
            return None
        data, metadata = made
        return {**data, "text/html": self._still()}, metadata

    def _ipython_display_(self) -> None:
        """Display the live widget, and after it the output that a saved notebook shows without a kernel."""
        from IPython.display import display

        made = super()._repr_mimebundle_()
        if made is None:
            return
        # empty HTML: a page without widgets shows nothing here, and the picture in the next output
        display({**made[0], "text/html": ""}, metadata=made[1], raw=True)
        self._show_still(update=False)

    def _on_still(self, _: object, message: object, __: object) -> None:
        picture = read_picture(message)
        if picture is not None:
            self._picture_of_page = picture
            self._show_still()

    def _show_still(self, *, update: bool = True) -> None:
        """Update the picture and the words of the still output, if the widget is displayed and they have changed."""
        from IPython.display import display

        if update and self._still_shown is None:
            return
        made = self._still()
        if not update or made != self._still_shown:
            data, metadata = {"text/html": made}, {OUTPUT: True}
            display(data, metadata=metadata, raw=True, display_id=self._still_id, update=update)
        self._still_shown = made

    def _still(self) -> str:
        """Return the markup of the still output."""
        picture = self._picture_of_page or self._first_picture()
        return still_html(self._still_id, picture, self._still_words(drawn=bool(picture)))

    def _first_picture(self) -> str:
        """Return Graphviz's picture of a small graph, used until the page sends its own; "" if there is none."""
        shown = self._shown_graphs()
        if shown is None or _nodes(shown) > STILL_NODES:
            return ""
        try:
            return svg_picture(by_graphviz(_dot(shown), ".svg", _nodes(shown), STILL_SECONDS))
        except WorkbenchError:
            # without Graphviz, or if it is too slow, the words are enough
            return ""

    def _still_words(self, *, drawn: bool) -> str:
        """Return a description of the widget: markup with all names escaped.

        Parameters
        ----------
        drawn
            Whether there is a picture.
        """
        return f"<p>{html.escape(_words(self._shown_graphs()))} {LIVE if drawn else AGAIN}</p>"


def _nodes(shown: Shown) -> int:
    return len(shown[0].nodes) if len(shown) == 1 else len(shown[0].nodes) + len(shown[1].nodes)


def _dot(shown: Shown) -> object:
    return to_graphviz(shown[0]) if len(shown) == 1 else compare_to_graphviz(*shown)


def _words(shown: Shown | None) -> str:
    if shown is None:
        return "A tvm-workbench widget."
    if len(shown) == 1:
        (graph,) = shown
        return f"{graph.name[:80] or 'Graph'}: {len(graph.nodes):,} nodes, {graph.kernel_count:,} kernels."
    before, after, changes = shown
    counts = ", ".join(f"{n:,} {kind}" for kind, n in changes.counts.items() if n)
    return f"{after.name[:80] or 'Graph'}: {len(before.nodes):,} nodes before, {len(after.nodes):,} after ({counts})."
