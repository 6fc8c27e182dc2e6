"""`wb.where`: the matches of a pattern in many models, and the reasons for which it nearly matches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.analysis.patterns import Pattern
from workbench.analysis.patterns.report import PatternReport
from workbench.dialects.base import Workload
from workbench.errors import UnknownName
from workbench.graph.layers import layers
from workbench.graph.scopes import path_of
from workbench.pipeline.load import load
from workbench.pipeline.matching import match, read_pattern
from workbench.terminal import html_table, visible
from workbench.testing.corpus import SAMPLES, small_samples
from workbench.wording import counted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Places:
    """The matches of a pattern in one model."""

    workload: Workload
    report: PatternReport = field(repr=False)

    @property
    def layers(self) -> dict[str, tuple[int, int]]:
        """Layer -> the matches and the near misses in it."""
        graph, known = self.report.graph, layers(self.report.graph)

        def name(node: int) -> str:
            around = [known.scopes[at].name for at in known.around(known.home[node])]
            return "/".join(path_of(graph.nodes[node]) or around[::-1])

        found = Counter(name(each.root) for each in self.report.matches)
        missed = Counter(name(each.root) for each in self.report.near_misses)
        return {layer: (found[layer], missed[layer]) for layer in dict.fromkeys([*found, *missed])}


@dataclass(frozen=True, repr=False)
class Occurrences:
    """The matches of a pattern in many models; `wb.PatternInspector(found["bert"], pattern)` shows those of one."""

    pattern: Pattern
    models: tuple[Places, ...]

    def __getitem__(self, name: str) -> Workload:
        """Return the model of that name."""
        found = next((each.workload for each in self.models if each.workload.name == name), None)
        if found is None:
            raise UnknownName("model", name, [each.workload.name for each in self.models])
        return found

    def __bool__(self) -> bool:
        return any(each.report for each in self.models)

    @property
    def reasons(self) -> Counter[str]:
        """Why it nearly matches, or why passes leave a match, in words, with the number of places."""
        reports = [each.report for each in self.models]
        left = [found.refused for each in reports for found in each.matches if not found.taken]
        return Counter(map(_plain, [*(miss.sentence for each in reports for miss in each.near_misses), *left]))

    @property
    def summary(self) -> str:
        """The matches and near misses in a sentence."""
        reports = [each.report for each in self.models]
        matches, taken = (sum(len(each.matches) for each in reports), sum(len(each.taken) for each in reports))
        left = f", {matches - taken:,} not taken" if taken < matches else ""
        places = f"{counted(matches, 'match')} in {sum(map(bool, reports))} of {counted(len(reports), 'model')}"
        return f"{places}{left}; {counted(sum(len(each.near_misses) for each in reports), 'near miss')}"

    @property
    def table(self) -> pd.DataFrame:
        """One row for each layer of each model with a match or a near miss."""
        import pandas as pd

        rows = [(each.workload.name, layer, *counts) for each in self.models for layer, counts in each.layers.items()]
        return pd.DataFrame(rows, columns=["model", "layer", "matches", "near_misses"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row for each model: its matches, those that passes take, its near misses, the most frequent reason."""
        for each in self.models:
            report = each.report
            reasons = Counter(_plain(miss.sentence) for miss in report.near_misses).most_common(1)
            yield {
                "model": each.workload.name,
                "matches": len(report.matches),
                "taken": len(report.taken),
                "near_misses": len(report.near_misses),
                "layers": sum(bool(found) for found, _ in each.layers.values()),
                "most_frequent_reason": f"{reasons[0][0]} ({reasons[0][1]}x)" if reasons else report.not_tried,
            }

    def __repr__(self) -> str:
        return visible(f"Occurrences({self.summary})")

    def __str__(self) -> str:
        lines = [self.summary, *(f"  {count}x {said}" for said, count in self.reasons.most_common(8))]
        return visible("\n".join(lines))

    def _repr_html_(self) -> str:
        return html_table(self.summary, self.rows())


_NUMBERED = re.compile(r"node \d+ \(([^()]*)\)")


def _plain(sentence: str) -> str:
    """Return a reason without the number of a node, which is another one in each model.

    >>> _plain("node 113 (field 0 of nn.batch_norm) is not a call")
    'field 0 of nn.batch_norm is not a call'
    """
    return _NUMBERED.sub(r"\1", sentence)


def where(pattern: object, over: object = None, *, dialect: str | None = None) -> Occurrences:
    """Find where a pattern matches in many models, and count the reasons for which it nearly does.

    Parameters
    ----------
    pattern
        A DFPattern or its text, as `wb.match` takes it.
    over
        Models: "samples", anything that `wb.load` takes, or a list of these; by default the samples.
    dialect
        Of the samples; by default the one that this environment's TVM runs.

    Examples
    --------
    >>> print(wb.where('is_op("relax.add")(is_op("relax.matmul")(wildcard(), wildcard()), wildcard())').summary)
    11 matches in 4 of 8 models; 21 near misses
    """
    read = read_pattern(pattern)
    models: list[Workload] = []
    for each in over if isinstance(over, (list, tuple)) else [SAMPLES if over is None else over]:
        models += small_samples(dialect) if isinstance(each, str) and each == SAMPLES else [load(each)]
    return Occurrences(read, tuple(Places(each, match(each, pattern)) for each in models))
