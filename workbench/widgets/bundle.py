"""Where the page's half of every widget is."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets

from workbench.errors import WorkbenchError

_BUNDLE = Path(__file__).parent / "static" / "workbench.js"
if not _BUNDLE.exists():
    raise WorkbenchError(
        f"the widgets' {_BUNDLE.name} has not been built; in a checkout run `make bundle`, else install the wheel again"
    )


class View(anywidget.AnyWidget):
    """Base of the widgets: one bundle serves them all, and `_view` says which one to show."""

    _esm = _BUNDLE
    _view = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(520, min=120, help="height in CSS pixels").tag(sync=True)
