"""What stays of a TunePanel on a page that runs nothing: a sentence and its table."""

from __future__ import annotations

import html
from collections.abc import Sequence

from workbench.tune.run import Run
from workbench.tune.trial import Trial
from workbench.widgets import tune_blocks as tell

MOST_ROWS = 50
"a notebook keeps them with every save"
NOT_BEGUN = "A search that was not begun. Run the cell to go on."


def still(run: Run | None, target: str, listed: Sequence[Trial]) -> str:
    """Markup in which every text of the search is only text."""
    if run is None or not listed:
        return f"<p>{NOT_BEGUN}</p>"
    known = run.known
    best = tell.best_line(known, target, run.space)["text"]
    found = tell.candidates(listed, run.objectives, known.pareto_for(target), run.space)
    head, *lines = found["rows"]
    more = f"<p>And {len(lines) - MOST_ROWS:,} more.</p>" if len(lines) > MOST_ROWS else ""
    return (
        f"<p>{html.escape(f'{tell.counts(run, target)}. {best} Run the cell to go on.')}</p>"
        f"<table><thead>{_line(head, 'th')}</thead><tbody>{''.join(_line(line, 'td') for line in lines[:MOST_ROWS])}</tbody></table>{more}"
    )


def _line(texts: Sequence[str], cell: str) -> str:
    return f"<tr>{''.join(f'<{cell}>{html.escape(text)}</{cell}>' for text in texts)}</tr>"
