"""The picture and the words that a saved notebook shows in place of a widget whose kernel is gone.

A cell with a widget has two outputs: the live view, and this one, which a live view hides (js/views/still_sender.ts). JupyterLab
shows a widget whose model is missing as an error and ignores everything else in the same output, so the picture is an output
of its own, and hides the error before it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

OUTPUT = "tvm-workbench-still"
"key in the metadata of the cell's output"
MOST = 100_000
"characters of a picture as a URL; js/render/still.ts makes a simpler one of a large graph"
_PICTURE = re.compile(r"data:image/(?:svg\+xml|webp|png);base64,[A-Za-z0-9+/]+={0,2}")


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


def still_html(id: str, picture: str, words: str) -> str:
    """Return the HTML of the output.

    Parameters
    ----------
    id
        Of the widget's display; letters and digits.
    picture
        A URL, or "".
    words
        Markup in which all names are escaped.
    """
    image = f'<img src="{picture}" alt="" style="max-width:100%">' if picture else ""
    return f'<div data-wb-still="{id}"><style>{_STYLE.format(id=id)}</style>{image}{words}</div>'


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
