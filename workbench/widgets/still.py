"""The picture and the words that a saved notebook shows in place of a widget whose kernel is gone.

A cell with a widget has two outputs: the live view, and this one, which a live view hides (js/pane/still_sender.ts). JupyterLab
shows a widget whose model is missing as an error and ignores everything else in the same output, so the picture is an output
of its own, and hides the error before it.
"""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Callable, Mapping

OUTPUT = "tvm-workbench-still"
"key in the metadata of the cell's output"
MOST = 100_000
"characters of a picture as a URL; js/render/still.ts makes a simpler one of a large graph"
AGAIN = "Run the cell for the picture, or keep it with .save('picture.html')."
LIVE = "Run the cell for the live view."
_PICTURE = re.compile(r"data:image/(?:svg\+xml|webp|png);base64,[A-Za-z0-9+/]+={0,2}")


Bundle = tuple[dict[str, object], dict[str, object]]
"the data of a cell's output by type, and its metadata"


class Still:
    """The still output of a widget: the newest picture from the page, or a first one, and words.

    `id` is the widget's trait `_still_id`. `words` returns markup with all names escaped, and gets `drawn`: whether a picture is
    above it. `first_picture` returns the picture to show until the page sends one; "" for none.
    """

    def __init__(self, id: str, words: Callable[..., str], first_picture: Callable[[], str] = str) -> None:
        self._id, self._words, self._first_picture = id, words, first_picture
        self.picture = ""
        "from the page"
        self._displayed: str | None = None
        "the output in the cell; None before the widget is displayed"

    def bundle(self, live: Bundle | None) -> Bundle | None:
        """Return the live widget, and the markup that a page without widgets shows."""
        return live and ({**live[0], "text/html": self.html()}, live[1])

    def display(self, live: Bundle | None) -> None:
        """Display the live widget, and after it the output that a saved notebook shows without a kernel."""
        from IPython.display import display

        if live is None:
            return
        # empty HTML: a page without widgets shows nothing here, and the picture in the next output
        display({**live[0], "text/html": ""}, metadata=live[1], raw=True)
        self._display(self.html(), update=False)

    def update(self) -> None:
        """Update the output, if the widget is displayed and the picture or the words have changed."""
        if self._displayed is not None and (made := self.html()) != self._displayed:
            self._display(made, update=True)

    def _display(self, made: str, *, update: bool) -> None:
        from IPython.display import display

        display({"text/html": made}, metadata={OUTPUT: True}, raw=True, display_id=self._id, update=update)
        self._displayed = made

    def receive(self, _: object, message: object, __: object) -> None:
        picture = read_picture(message)
        if picture is not None:
            self.picture = picture
            self.update()

    def html(self) -> str:
        picture = self.picture or self._first_picture()
        image = f'<img src="{picture}" alt="" style="max-width:100%">' if picture else ""
        style = f"<style>{_STYLE.format(id=self._id)}</style>"
        return f'<div data-wb-still="{self._id}">{style}{image}{self._words(drawn=bool(picture))}</div>'


def new_id() -> str:
    """Return an id for the output of a widget: letters and digits."""
    return uuid.uuid4().hex[:16]


def read_picture(message: object) -> str | None:
    """Return the picture from the page; "" for a view without one, None for another message.

    An <img> shows the picture, so nothing in it can run; anything but such a URL is dropped.
    """
    if not isinstance(message, Mapping) or message.get("type") != "still":
        return None
    picture = message.get("picture")
    return picture if isinstance(picture, str) and _is_picture(picture) else ""


def svg_picture(svg: bytes) -> str:
    """Return an SVG as a URL; "" if it is too long."""
    picture = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    return picture if _is_picture(picture) else ""


def _is_picture(url: str) -> bool:
    return len(url) <= MOST and _PICTURE.fullmatch(url) is not None


# The picture appears after a moment, before which a live view hides it. The output before the picture is found by child
# combinators, since an Output widget holds the picture too, and `:has` cannot be nested in `:has`.
_STYLE = (
    '.jp-OutputArea-child:not(:has(.wb)):has(+.jp-OutputArea-child>.jp-OutputArea-output>[data-wb-still="{id}"])'
    "{{display:none}}"
    "@keyframes wb-still{{0%,99%{{max-height:0;overflow:hidden;visibility:hidden}}}}"
    '@media screen{{[data-wb-still="{id}"]{{animation:wb-still 1.5s backwards}}}}'
)
