"""The two base classes of the widgets: a view of graphs, and a page of text."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_origin

import anywidget
import ipywidgets
import traitlets

from workbench.errors import UnknownKeyword, WorkbenchError
from workbench.graph.changes import MARKS, GraphDiff
from workbench.graph.export import compare_to_graphviz, to_graphviz
from workbench.graph.model import Graph
from workbench.widgets.page_types import Viewport
from workbench.widgets.pictures import by_graphviz, by_layout, find_node, write
from workbench.widgets.saved_page import saved_page
from workbench.widgets.still import AGAIN, LIVE, Bundle, Still, new_id, svg_picture
from workbench.wording import counted

_BUNDLE = Path(__file__).parent / "static" / "workbench.js"
_LOADER = (Path(__file__).parent / "loader.js").read_text(encoding="utf-8")
if not _BUNDLE.exists():
    raise WorkbenchError(
        f"the widgets' {_BUNDLE.name} has not been built; in a checkout run `make bundle`, else install the wheel again"
    )

STILL_NODES = 150
"most nodes of the first still picture: Graphviz draws them in about 0.03 s. The page sends a better one when it has one."
STILL_SECONDS = 0.5
"longest delay of the widget by the still picture on a busy machine"
SAVE_SECONDS = 60.0
"longest wait of `save` for the first picture"
SUFFIXES = (".html", ".svg", ".pdf", ".png")
SAVED = {"sync": True, "saved": True}
"the tags of a trait that the page reads and a saved file keeps"

Shown = tuple[Graph] | tuple[Graph, Graph, GraphDiff]
"one graph; or two and their difference"


class Script(ipywidgets.Widget):
    """The script of all views, which a page gets once: each widget's own module loads it from this model."""

    code = traitlets.Unicode().tag(sync=True)


_scripts: list[Script] = []
_making = threading.Lock()


def script() -> Script:
    """Return the script's model; a new one if there is none, or if a notebook closed it with all its widgets."""
    with _making:
        if not _scripts or _scripts[-1].comm is None:
            _scripts[:] = [Script(code=_BUNDLE.read_text(encoding="utf-8"))]
        return _scripts[-1]


def _own() -> dict[str, str]:
    """Return the traits that differ from one widget to the next and are not a user's."""
    return {"_still_id": new_id(), "_script": f"IPY_MODEL_{script().model_id}"}


T = TypeVar("T")


def json_trait(kind: type[T], help: str = "", *, saved: bool = True) -> traitlets.TraitType[T, T]:
    """Return a trait that the page reads: JSON of a type of page_types.py, {} or [] at first."""
    trait = traitlets.List(help=help) if get_origin(kind) is list else traitlets.Dict(help=help)
    return trait.tag(sync=True, saved=saved, json=kind)  # pyright: ignore[reportReturnType]  it knows no TypedDict


_PLAIN = {traitlets.Unicode: str, traitlets.Int: int, traitlets.Bool: bool}


def page_traits(widget: type[traitlets.HasTraits]) -> dict[str, Any]:
    """Return the types of the traits of a widget that the page reads, by name."""
    traits = widget.class_traits(sync=True)
    return {name: _page_type(trait) for name, trait in traits.items() if not hasattr(anywidget.AnyWidget, name)}


def _page_type(trait: traitlets.TraitType[Any, Any]) -> Any:
    kind = trait.metadata.get("json", getattr(trait, "page_type", None))
    if kind is not None:
        return kind
    if isinstance(trait, traitlets.Enum):
        return Literal[tuple(trait.values or ())]
    return list[_page_type(trait._trait)] if isinstance(trait, traitlets.List) else _PLAIN[type(trait)]  # noqa: SLF001


def page(traits: Mapping[str, object], title: str) -> bytes:
    """Return the HTML file of a widget with these traits."""
    return saved_page(traits, _BUNDLE.read_text(encoding="utf-8"), title).encode(errors="replace")


def save_as(path: str | Path, make: Callable[[str], bytes]) -> Path:
    """Write the file that `make` returns for the path's suffix.

    Raises WorkbenchError: another suffix than those of SUFFIXES, or a path that cannot be written.
    """
    path = Path(path).expanduser()
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise WorkbenchError(f"{path.name!r} cannot be saved: its suffix must be one of {', '.join(SUFFIXES)}")
    return write(path, make(suffix))


def saved_traits(widget: traitlets.HasTraits) -> dict[str, object]:
    """Return the traits that a saved file keeps."""
    return {name: getattr(widget, name) for name in widget.trait_names(saved=True)}


class WrongValue(WorkbenchError, traitlets.TraitError):
    """A value that a trait of a widget does not take."""


def set_or_refuse(widget: anywidget.AnyWidget, name: str, value: object) -> None:
    """Set an attribute; raise WrongValue with traitlets' sentence if a trait does not take the value."""
    try:
        anywidget.AnyWidget.__setattr__(widget, name, value)
    except WrongValue:
        raise
    except traitlets.TraitError as error:
        raise WrongValue(" ".join(str(error).split()).rstrip(".")) from None


class TextView(anywidget.AnyWidget):
    """Base of the widgets without a graph."""

    _esm = _LOADER
    _script = traitlets.Unicode(help="the model that has the bundle").tag(sync=True)
    _view = traitlets.Unicode(help="name of the view in the bundle, which all widgets share").tag(**SAVED)
    _still_id = traitlets.Unicode(help="of the output that shows the view without a kernel").tag(sync=True)
    __setattr__ = set_or_refuse

    def __init__(self, **traits: object) -> None:
        super().__init__(**_own(), **traits)
        self._still = Still(self._still_id, self._still_words)
        self.on_msg(self._still.receive)

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle | None:
        return self._still.bundle(super()._repr_mimebundle_(**kwargs))

    def _ipython_display_(self) -> None:
        self._still.display(super()._repr_mimebundle_())

    def _still_words(self, *, drawn: bool) -> str:
        """Return the widget in words, without a kernel: markup with all names escaped."""
        raise NotImplementedError


class View(anywidget.AnyWidget):
    """Base of the views of graphs: the picture's options, saved files, and the still picture of a page without a kernel."""

    _esm = _LOADER
    _script = traitlets.Unicode(help="the model that has the bundle").tag(sync=True)
    _view = traitlets.Unicode(help="name of the view in the bundle, which all widgets share").tag(**SAVED)
    _still_id = traitlets.Unicode(help="of the output that shows the view without a kernel").tag(sync=True)
    __setattr__ = set_or_refuse
    height = traitlets.Int(
        520, min=120, help="height in CSS pixels; with panels, one up to 760 is at most what the window has room for"
    ).tag(**SAVED)
    direction = traitlets.Enum(("down", "right"), default_value="down", help="direction of the data flow").tag(**SAVED)
    show_constants = traitlets.Bool(False, help="draw constants as nodes, not as badges on their readers").tag(**SAVED)
    show_tuples = traitlets.Bool(False, help="draw tuples and their accesses as nodes, not on edges").tag(**SAVED)
    show_lowering = traitlets.Bool(
        False, help="mark operators of Relax that became calls of functions, and draw the runtime's calls"
    ).tag(**SAVED)
    edges_by_dtype = traitlets.Bool(False, help="edges coloured by data type").tag(**SAVED)
    legend = traitlets.Bool(False, help="whether the legend is open").tag(**SAVED)
    muted = traitlets.List(
        traitlets.Unicode(), help='op types drawn faintly ("nn.relu"), other kinds ("constant"), marks ("mark:kept")'
    ).tag(**SAVED)
    viewport = json_trait(Viewport, "the centre, x and y, and the scale; empty: the view chooses")

    def __init__(self, **traits: object) -> None:
        known = [name for name in self.trait_names() if not name.startswith("_")]
        UnknownKeyword.refuse(type(self).__name__, (name for name in traits if not self.has_trait(name)), known)
        super().__init__(**_own(), **traits)
        self._still = Still(self._still_id, self._still_words, self._first_picture)
        self.on_msg(self._still.receive)

    @traitlets.validate("muted")
    def _known_marks(self, proposal: dict[str, Any]) -> list[str]:
        names = list(dict.fromkeys(proposal["value"]))
        wrong = [name for name in names if name.startswith("mark:") and name.removeprefix("mark:") not in MARKS]
        if wrong:
            marks = ", ".join(f"mark:{mark}" for mark in MARKS)
            raise WorkbenchError(f"{wrong[0]!r} is not a mark; the marks are {marks}")
        return names

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
            Another suffix, a path that cannot be written, no program to draw it, or no picture within a minute.
        """

        def make(suffix: str) -> bytes:
            if not self._wait_for_picture():
                raise WorkbenchError(
                    f"there is no picture after {SAVE_SECONDS:.0f} s; wait for the first one, then save it"
                )
            return page(self._traits_to_save(), self._title()) if suffix == ".html" else self._picture(suffix)

        return save_as(path, make)

    def _wait_for_picture(self) -> bool:
        """Wait for the first picture; return False if it is still being made. A view that draws at once has it."""
        return True

    def _picture(self, suffix: str) -> bytes:
        shown = self.shown_graphs()
        if shown is None:
            raise WorkbenchError("there is no picture: see the error on the page")
        node = find_node()
        if node is not None:
            return by_layout(self._traits_to_draw(), suffix, node)
        return by_graphviz(_dot(shown), suffix, _nodes(shown))

    def _traits_to_draw(self) -> dict[str, object]:
        return saved_traits(self)

    def _traits_to_save(self) -> dict[str, object]:
        """Return the traits for the model of a saved page."""
        return self._traits_to_draw()

    def _title(self) -> str:
        shown = self.shown_graphs()
        return f"{shown[0].name[:80] or 'graph'} - tvm-workbench" if shown else "tvm-workbench"

    def shown_graphs(self) -> Shown | None:
        """Return the graphs on the page; None before the first picture."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle | None:
        return self._still.bundle(super()._repr_mimebundle_(**kwargs))

    def _ipython_display_(self) -> None:
        self._still.display(super()._repr_mimebundle_())

    def _first_picture(self) -> str:
        """Return Graphviz's picture of a small graph, used until the page sends its own; "" if there is none."""
        shown = self.shown_graphs()
        if shown is None or _nodes(shown) > STILL_NODES:
            return ""
        try:
            return svg_picture(by_graphviz(_dot(shown), ".svg", _nodes(shown), STILL_SECONDS))
        except WorkbenchError:
            # without Graphviz, or if it is too slow, the words are enough
            return ""

    def _still_words(self, *, drawn: bool) -> str:
        """Return the graphs in words: markup with all names escaped; `drawn` if there is a picture."""
        match self.shown_graphs():
            case None:
                said = "A tvm-workbench widget."
            case (graph,):
                said = f"{graph.name[:80] or 'Graph'}: {counted(len(graph.nodes), 'node')}, {counted(graph.kernel_count, 'kernel')}."
            case before, after, changes:
                counts = ", ".join(f"{n:,} {kind}" for kind, n in changes.counts.items() if n)
                nodes = f"{counted(len(before.nodes), 'node')} before, {len(after.nodes):,} after"
                said = f"{after.name[:80] or 'Graph'}: {nodes} ({counts})."
        return f"<p>{html.escape(said)} {LIVE if drawn else AGAIN}</p>"


def _nodes(shown: Shown) -> int:
    return len(shown[0].nodes) if len(shown) == 1 else len(shown[0].nodes) + len(shown[1].nodes)


def _dot(shown: Shown) -> Any:
    return to_graphviz(shown[0]) if len(shown) == 1 else compare_to_graphviz(*shown[:2], shown[2].marks)
