"""The documentation site: `make docs` builds it into build/docs, with no network and with no notebook run."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx
from traitlets import HasTraits

HERE = Path(__file__).parent
ROOT = HERE.parent
MADE = HERE / "made"
sys.path.insert(0, str(HERE))

import live  # noqa: E402  docs/ is not a package

import workbench  # noqa: E402  after the path of this file

project = "tvm-workbench"
author = "the tvm-workbench authors"
release = version = workbench.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb", "sphinx_design"]
exclude_patterns = ["made/extra", "README.md"]
templates_path = ["_templates"]
suppress_warnings = [
    "mystnb.unknown_mime_type",  # a stored widget, which has a picture beside it
    "myst.header",  # notebooks begin sections at any level
]

html_theme = "pydata_sphinx_theme"
html_title = "tvm-workbench"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_extra_path = ["made/extra"]
html_show_sourcelink = False
CARD = re.compile(r"\| \*\*\[([^\]]+)\]\((\w+)\.ipynb\)\*\* (.+) \|$", re.M)
"a notebook's row in notebooks/README.md"
INDEX = (ROOT / "notebooks/README.md").read_text(encoding="utf-8")
NOTEBOOKS = [name for _, name, _ in CARD.findall(INDEX)]
# Pages with live views have the width of the sidebar too.
WIDE = (
    *("index", "start/tour", "explanation/fusion", "explanation/hazards", "howto/why-not-fused", "howto/send-a-trace"),
    *("reference/widgets", "made/tutorials"),
    *(f"made/notebooks/{name}" for name in NOTEBOOKS),
)
SIDEBAR = {"**": ["page-toc"], **{page: [] for page in WIDE}}
html_theme_options = {"navigation_with_keys": False, "show_prev_next": True, "secondary_sidebar_items": SIDEBAR}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # the default loads scripts from a network

autosummary_generate = True
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

default_role = "code"  # `name` in a docstring

nitpicky = True
# Annotations name types of other libraries and internal ones, which have no page.
nitpick_ignore_regex = [("py:(class|obj|data|exc)", ".*")]


class Live(Directive):
    """Embed a saved page of `live.py` in a frame: `{live} NAME`, with a height in pixels."""

    required_arguments = 1
    option_spec = {"height": directives.nonnegative_int}  # noqa: RUF012  as docutils declares it

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in live.PAGES:
            raise self.error(f"no live page {name!r}; there are {', '.join(live.PAGES)}")
        environment = self.state.document.settings.env
        page = "../" * environment.docname.count("/") + f"live/{name}.html"
        height = self.options.get("height", live.HEIGHT)
        title = live.PAGES[name].title
        return [
            nodes.raw(
                "",
                f'<iframe class="live" data-src="{page}" height="{height}" title="{title}"></iframe>'
                f'<p class="live"><a href="{page}">Open in a page of its own</a>: {title}</p>',
                format="html",
            )
        ]


def gallery() -> str:
    """Return the page of the tutorials: a card for each notebook that notebooks/README.md lists."""
    lines = ["# Tutorials", "", (HERE / "tutorials.txt").read_text(encoding="utf-8")]
    for section in re.split(r"^## ", INDEX, flags=re.M)[1:]:
        cards = CARD.findall(section)
        lines += [f"## {section.splitlines()[0]}", "", "::::{grid} 1 2 3 3", ":gutter: 3", ""]
        for title, name, text in cards:
            lines += [f":::{{grid-item-card}} {title}", f":link: notebooks/{name}", ":link-type: doc"]
            lines += [f":img-top: notebooks/pictures/{name}.png", f":img-alt: {title}", "", text, ":::", ""]
        lines += ["::::", "", "```{toctree}", ":hidden:", "", *(f"notebooks/{name}" for _, name, _ in cards), "```", ""]
    return "\n".join(lines)


def command_help() -> str:
    """Return the `--help` of the command line and of each command, as sections."""
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "workbench.cli"]

    def shown(*name: str) -> str:
        return subprocess.run(
            [*command, *name, "--help"], env=environment, check=True, capture_output=True, text=True
        ).stdout.replace("cli.py", "tvm-workbench")

    whole = shown()
    names = re.findall(r"^    ([a-z-]+)(?: |$)", whole, re.M)
    assert "doctor" in names, "the help has another form"
    sections = [f"```text\n{whole}```"]
    sections += [f"## tvm-workbench {name}\n\n```text\n{shown(name)}```" for name in names]
    return "\n\n".join(sections)


def signature(
    _app: Sphinx, what: str, _name: str, value: object, _options: object, given: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Give a widget the signature of its `__init__`, which that of traitlets hides; and show constants by their values."""
    known = getattr(value, "__globals__", {})
    if known and given:
        return re.sub(r"(?<== )[A-Z][A-Z_]+\b", lambda name: repr(known.get(name[0], name[0])), given), returns
    if what != "class" or not isinstance(value, type) or not issubclass(value, HasTraits):
        return None
    return str(inspect.signature(value.__init__)).replace("self, ", "", 1).rpartition(" ->")[0].replace("'", ""), ""


def setup(app: Sphinx) -> None:
    """Copy the notebooks into the source tree; make the live pages, the gallery and the help of the commands."""
    app.add_directive("live", Live)
    shutil.rmtree(HERE / "reference" / "made", ignore_errors=True)
    app.connect("autodoc-process-signature", signature)
    shutil.rmtree(MADE, ignore_errors=True)
    shutil.copytree(ROOT / "notebooks/pictures", MADE / "notebooks/pictures")
    for name in NOTEBOOKS:
        shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", MADE / "notebooks")
    live.write(MADE / "extra" / "live")
    (MADE / "tutorials.md").write_text(gallery(), encoding="utf-8")
    (MADE / "help.txt").write_text(command_help(), encoding="utf-8")
