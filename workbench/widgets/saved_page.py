"""A view as one HTML file that opens from disk with no network.

The page holds the bundle as its only script, and the view's traits as JSON, or if that is long, as base64 of its gzip. A name in a module cannot become markup: the JSON
has no `<`, `>` or `&`, and the page's policy runs the bundle, by its hash, and what the bundle makes (the layout engine, from a
Blob URL), no other script, and loads nothing.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping

from workbench.colours import PAGE
from workbench.terminal import visible

LONG = 500_000
"characters of JSON that a page holds as they are; a browser reads and unpacks a gzip sooner than longer text"
_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def saved_page(traits: Mapping[str, object], bundle: str, title: str) -> str:
    """Return the text of the whole file: `bundle` is the ES module of the widgets, and bytes in the traits become base64."""
    script = inline_script(bundle)
    values = to_json({**traits, "saved": True})
    if len(values) > LONG:
        values = base64.b64encode(gzip.compress(values.encode(), 6, mtime=0)).decode()
    # one line each, so that a diff of two saved files is readable
    return _PAGE.format(
        title=html.escape(visible(title)),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        traits=values,
        script=script,
        paper=PAGE["background"].dark,
        ink=PAGE["ink"].dark,
    )


def to_json(value: object) -> str:
    """Return JSON that is safe in a script element."""
    return json.dumps(value, default=_plain, separators=(",", ":")).translate(_UNSAFE)


def inline_script(source: str) -> str:
    r"""Return JavaScript that is safe in a script element.

    `</script` and `<!--` occur only in strings, where a backslash changes nothing (esbuild writes `</script` that way, and puts
    a space into `a<!--b`).

    >>> inline_script('x="</script>"')
    'x="<\\/script>"'
    """
    # the HTML parser reads these line ends as \n, and the policy's hash is of the parsed text
    lines = source.replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"<(?=/script|!--)", r"<\\", lines, flags=re.IGNORECASE)


def _plain(value: object) -> object:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    # numpy's numbers in a row of measurements
    return getattr(value, "item", value.__str__)()


_PAGE = """<!doctype html>
<html lang="en" data-workbench="saved">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-{digest}' blob:; worker-src blob:; \
style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="tvm-workbench">
<title>{title}</title>
<style>:root {{ color-scheme: light dark; }} body {{ margin: 8px; font-family: system-ui, sans-serif; }}
@media (prefers-color-scheme: dark) {{ body {{ background: {paper}; color: {ink}; }} }}</style>
</head>
<body>
<noscript>This picture is drawn by JavaScript, which is switched off here. It loads nothing from anywhere.</noscript>
<main id="view"></main>
<script type="application/json" id="traits">{traits}</script>
<script type="module">{script}</script>
</body>
</html>
"""
