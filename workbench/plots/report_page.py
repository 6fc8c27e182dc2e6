"""A report as one HTML file: no script, nothing from anywhere, and every text of a program escaped."""

from __future__ import annotations

import html
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from workbench.plots.style import to_both


@dataclass(frozen=True)
class Picture:
    """A plot as SVG for light pages and for dark ones."""

    light: str
    dark: str
    finding: str
    "its title, for those who cannot see it"


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    heading: str
    words: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    table: Sequence[Sequence[str]] = ()
    "the first row is the head"
    code: str = ""
    files: tuple[str, ...] = field(default=())
    "names of files beside the report"


def picture(plot: Callable[..., Any], data: Any, rows: int, **options: Any) -> Picture:
    """A plot (of this package) for both pages."""
    return Picture(*to_both(plot, data, rows, **options))


def page(title: str, summary: Iterable[str], sections: Iterable[Section]) -> str:
    """The whole file."""
    said = "".join(f"<li>{html.escape(line)}</li>" for line in summary)
    parts = "".join(map(_section, sections))
    return _PAGE.format(title=html.escape(title), summary=said, parts=parts)


def _section(section: Section) -> str:
    words = "".join(f"<p>{html.escape(line)}</p>" for line in section.words)
    pictures = "".join(map(_picture, section.pictures))
    code = f"<pre>{html.escape(section.code)}</pre>" if section.code else ""
    files = "".join(f'<a href="{html.escape(quote(name))}">{html.escape(name)}</a> ' for name in section.files)
    beside = f"<p class='files'>{files}</p>" if files else ""
    return f"<section><h2>{html.escape(section.heading)}</h2>{words}{pictures}{_table(section.table)}{code}{beside}</section>"


def _picture(shown: Picture) -> str:
    light, dark = (f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}" for svg in (shown.light, shown.dark))
    source = f'<source media="(prefers-color-scheme: dark)" srcset="{dark}">'
    return f'<picture>{source}<img src="{light}" alt="{html.escape(shown.finding)}"></picture>'


def _table(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head, *lines = rows
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<div class='table'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


_PAGE = """<!doctype html>
<html lang="en" data-workbench="report">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="tvm-workbench">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #333; --dim: #666; --line: #ddd; --page: #fff; --raised: #f6f7f8; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #ddd; --dim: #a5a5a5; --line: #3a3a3a; --page: #111; --raised: #1b1d1f; }} }}
body {{ margin: 24px auto; padding: 0 20px; max-width: 1500px; font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); }}
h1 {{ font-size: 1.5em; margin: 0; }} h2 {{ font-size: 1.1em; margin: 0 0 6px; }} p {{ margin: 4px 0; color: var(--dim); }}
ul {{ margin: 8px 0 20px; padding-left: 20px; }} main {{ display: grid; gap: 28px 36px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 560px), 1fr)); }}
section {{ min-width: 0; border-top: 1px solid var(--line); padding-top: 12px; }} section:has(.table, pre) {{ grid-column: 1 / -1; }}
section:has(.table) picture {{ display: inline-block; width: min(100%, 720px); }} img {{ width: 100%; max-width: 760px; height: auto; }}
.table {{ overflow-x: auto; max-height: 520px; overflow-y: auto; }} table {{ border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }}
th {{ position: sticky; top: 0; background: var(--page); color: var(--dim); font-weight: 500; }}
pre {{ background: var(--raised); padding: 10px 12px; overflow-x: auto; font-size: 13px; border-radius: 4px; }} .files a {{ margin-right: 12px; color: inherit; }}
</style>
</head>
<body>
<h1>{title}</h1>
<ul>{summary}</ul>
<main>{parts}</main>
</body>
</html>
"""
