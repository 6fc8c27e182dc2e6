"""The blocks of a TunePanel: its buttons, the progress of the search, its candidates, its winner."""

from __future__ import annotations

import html
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.dialects.base import Workload
from workbench.experiments.tuning.result import Result
from workbench.experiments.tuning.run import Run
from workbench.experiments.tuning.space import Space
from workbench.experiments.tuning.trial import OBJECTIVES, PRUNED, Trial
from workbench.pipeline.spec import Pipeline
from workbench.plots import tuning_progress
from workbench.plots.tuning import ROWS
from workbench.widgets.blocks import Block, action, code, entry, heading, picture, row, rows, table, words
from workbench.wording import counted, duration, size

OVER = ("done", "stopped", "failed")
AT_WORK = ("running", "paused")
"statuses of a search"
TITLES = {
    "time": "Time",
    "kernels": "Kernels",
    "bytes": "Between kernels",
    "peak_bytes": "Peak memory",
    "build": "Build",
}
FEW = 12
"rows of the table until all are requested"
MOST = 500


def choice(trial: Trial, space: Space) -> str:
    """Return the differences of a candidate from the default, in few words.

    >>> from workbench.pipeline.config import Config
    >>> choice(Trial(1, "llvm", Config(), {"A": False, "B": True}), Space(toggles=("A", "B")))
    '-A'
    """
    if not trial.chosen:
        return "the compiler's default"
    usual, parts = space.default, []
    for name, value in trial.chosen.items():
        if name in usual and value == usual[name]:
            continue
        if isinstance(value, bool):
            parts.append(f"{'+' if value else '-'}{name}")
        elif name == "edit":
            parts.append(edit_words(value if isinstance(value, str) else ""))
        else:
            parts.append(f"{name.removeprefix('relay.').removeprefix('relax.')}={value}")
    return " ".join(parts) or ("the pipeline as it is" if space.pipeline else "nothing changed")


def edit_words(text: str) -> str:
    """Return a cut or a force in words; any other edit as it is.

    >>> edit_words("CutFusion{edges=[(5, 8, 0)],ops=['nn.dense', 'add']}")
    'cut nn.dense 5 → add 8'
    >>> edit_words("ForceFusion{nodes=[3, 4, 7],ops=['cast', 'add', 'nn.relu']}")
    'one kernel of cast 3 … nn.relu 7 (3 operators)'
    """
    said = []
    for step in Pipeline.parse(text):
        ops, nodes, edges = (list(step.options.get(name, ())) for name in ("ops", "nodes", "edges"))
        if step.name == "ForceFusion" and len(ops) == len(nodes) > 0:
            said.append(
                f"one kernel of {ops[0]} {nodes[0]} … {ops[-1]} {nodes[-1]} ({counted(len(nodes), 'operator')})"
            )
        elif step.name == "CutFusion" and len(ops) == 2 * len(edges) > 0:
            cuts = [f"{ops[2 * i]} {edge[0]} → {ops[2 * i + 1]} {edge[1]}" for i, edge in enumerate(edges)]
            said.append(f"cut {', '.join(cuts)}")
        else:
            said.append(str(step))
    return " + ".join(said) or "no edit"


def value_of(trial: Trial, objective: str) -> str:
    """Return a value with its unit; empty if unknown."""
    found = trial.values.get(OBJECTIVES[objective])
    if found is None:
        return ""
    if objective in ("bytes", "peak_bytes"):
        return size(int(found))
    if objective == "kernels":
        return str(found)
    return duration(found * (1e6 if objective == "build" else 1))


def remark(trial: Trial) -> str:
    """Return the reason why a candidate may not win, or a remark on it."""
    like = f"= {trial.like}, the same module" if trial.like is not None else ""
    out = "" if trial.ok else f"{trial.status}: {trial.reason.partition(chr(10))[0]}"
    checked = "outputs checked" if trial.ok and trial.checked else ""
    return "; ".join(part for part in (out, like or checked) if part)


def counts(run: Run, target: str) -> str:
    """Return the number of tried candidates by their end, and the total."""
    trials = run.trials
    likes = sum(trial.like is not None for trial in trials)
    pruned = sum(trial.status == PRUNED for trial in trials)
    failed = sum(not trial.ok for trial in trials) - pruned
    parts = [
        (len(trials) - likes - pruned - failed, "built" if "time" not in run.objectives else "measured"),
        (likes, "the same program as another"),
        (pruned, "not built, because their counts are far worse"),
        (failed, "failed or refused"),
    ]
    said = f"{counted(len(trials), 'candidate')} tried"
    if likes or pruned or failed:
        said += ": " + ", ".join(f"{count:,} {what}" for count, what in parts if count)
    if run.resumed:
        said += f"; {run.resumed:,} of them from the log"
    if run.status == "running" and run.left is not None:
        said += f"; {seconds(run.left)} left or less"
    return f"{said} · {run.space.size:,} in the space · {target}"


def more(tried: int, everything: bool) -> list[Block]:
    """Return a button for the hidden rows of the table, if there are any."""
    if tried <= FEW:
        return []
    return [action(f"Show the first {FEW}" if everything else f"Show all {tried}", "tune-all")]


def seconds(count: float) -> str:
    """Return a time to wait, in words.

    >>> seconds(3.4), seconds(200)
    ('3 s', '3 min')
    """
    return f"{count:.0f} s" if count < 100 else f"{count / 60:.0f} min"


def failures(run: Run) -> list[Block]:
    """Return the reasons why candidates may not win, the most frequent first."""
    found = run.failures
    if not found:
        return []
    listed = [
        row(f"{count} of them: {reason.partition(chr(10))[0]}", sign="!", look="removed")
        for reason, count in found.items()
    ]
    hidden = [words(f"and {counted(len(listed) - 4, 'other reason')}", "small")] if len(listed) > 4 else []
    return [rows(listed[:4], "tune-failures"), *hidden]


def best(found: Result, target: str, space: Space) -> str:
    """Return the best candidate so far beside the default, and the race's conclusion, or that there was no race."""
    won = found.pareto_for(target)
    if not won:
        return "No candidate can win so far: each failed, was refused or was not built."
    default = next((trial for trial in found.trials if trial.target == target and not trial.chosen), None)
    told = []
    for name in found.objectives:
        usual = "" if default is None or won[0] is default else value_of(default, name)
        told.append(f"{TITLES[name].lower()} {value_of(won[0], name)}{f' (default {usual})' if usual else ''}")
    others = f" {counted(len(won) - 1, 'candidate')} better in another objective." if len(won) > 1 else ""
    raced = ""
    if target in found.races:
        raced = f" {found.races[target]}."
    elif "time" in found.objectives and default is not None and won[0] is not default:
        raced = " Not raced against the default, so no difference in time is claimed."
    return f"The best is {choice(won[0], space)}: {', '.join(told)}.{others}{raced}"


def columns(objectives: Sequence[str]) -> list[str]:
    """Return the table's head, which always has the kernels."""
    return ["#", "Candidate", *(TITLES[name] for name in shown(objectives)), "Remark"]


def shown(objectives: Sequence[str]) -> list[str]:
    """Return the objectives that have a column."""
    return list(dict.fromkeys((*objectives, "kernels")))


def ordered(trials: Sequence[Trial], objectives: Sequence[str], column: int, down: bool, space: Space) -> list[Trial]:
    """Return trials sorted by a column of the table; those without a value are last in both directions."""
    names = shown(objectives)

    def key(trial: Trial) -> Any:
        if column == 0:
            return trial.number
        if 2 <= column < 2 + len(names):
            # trials that may not win come after those that may
            return trial.values.get(OBJECTIVES[names[column - 2]]) if trial.ok else None
        return choice(trial, space) if column == 1 else remark(trial)

    known = [trial for trial in trials if key(trial) is not None]
    return [*sorted(known, key=key, reverse=down), *(trial for trial in trials if key(trial) is None)]


def candidates(
    listed: Sequence[Trial],
    objectives: Sequence[str],
    marked: Sequence[Trial],
    space: Space,
    order: tuple[int, bool],
) -> Block:
    """Return the table; the best are marked."""
    best = {trial.number for trial in marked}
    return table(
        columns(objectives),
        _lines(listed, objectives, space),
        "tune-table",
        act="tune-pick",
        sort=("tune-sort", *order),
        marked=[place for place, trial in enumerate(listed) if trial.number in best],
        args=[str(trial.number) for trial in listed],
    )


def _lines(listed: Sequence[Trial], objectives: Sequence[str], space: Space) -> list[list[str]]:
    names = shown(objectives)
    return [[str(t.number), choice(t, space), *(value_of(t, name) for name in names), remark(t)] for t in listed]


def state(run: Run) -> str:
    """Return the state of a search, in a word or two."""
    said = {"ready": "Not begun", "running": run.doing or "Searching", "paused": "Paused", "stopped": "Stopped"}
    before = " The results before that are below." if run.trials else ""
    return {**said, "done": "Done", "failed": f"The search ended with an error: {run.error}.{before}"}[run.status]


Objective = str | Sequence[str]


@dataclass(frozen=True)
class Wish:
    """The settings of a search that the page may change before it begins."""

    objective: Objective
    budget: float
    "seconds"
    given: Objective
    "the objective of the panel: one choice on the page even if it has several parts"

    @property
    def choices(self) -> dict[str, Objective]:
        return {**{name: name for name in OBJECTIVES}, together(self.given): self.given}


def together(objective: Objective) -> str:
    """Return one objective or several, in words.

    >>> together(["time", "kernels"])
    'time, kernels'
    """
    return objective if isinstance(objective, str) else ", ".join(objective)


def controls(run: Run | None, wish: Wish, busy: str, *, applies: bool) -> list[Block]:
    """Return the available buttons, and the fields. `applies`: there is a candidate to apply."""
    status = "none" if run is None else run.status
    label = {"none": "Start", "paused": "Resume", **dict.fromkeys(OVER, "Go on")}.get(status, "Start")
    if run is not None and status == "ready" and run.resumed:
        label = "Resume from the log"
    off, hint = busy if run is not None else "", "In a background thread; the notebook stays free"
    begin = action(label, "tune-start", off=off, title=hint)
    if status in AT_WORK:
        pause = action("Pause", "tune-pause", title="Finish the candidate that is running, and begin no other")
        stop = action("Stop", "tune-stop", title="Cancel the candidate that is running, and end the search")
        return [pause if status == "running" else begin, stop]
    hint = "Make the workload with the winner's passes: panel.applied"
    return [
        begin,
        *([action("Apply", "tune-apply", title=hint)] if applies else []),
        entry(
            "select", "tune-objective", "for", together(wish.objective), options=[[name] * 2 for name in wish.choices]
        ),
        entry("number", "tune-budget", "seconds", f"{wish.budget:g}", min=1),
    ]


MOST_ROWS = 50
"rows in the saved picture, which is stored at every save of the notebook"
NOT_BEGUN = "The search was not started. Run the cell to start it."


def still(run: Run | None, target: str, listed: Sequence[Trial]) -> str:
    """Return markup in which all texts of the search are escaped."""
    if run is None or not listed:
        return f"<p>{NOT_BEGUN}</p>"
    head, lines = columns(run.objectives), _lines(listed, run.objectives, run.space)
    more = f"<p>And {len(lines) - MOST_ROWS:,} more.</p>" if len(lines) > MOST_ROWS else ""
    return (
        f"<p>{html.escape(f'{counts(run, target)}. {best(run.known, target, run.space)} Run the cell to go on.')}</p>"
        f"<table><thead>{_line(head, 'th')}</thead><tbody>{''.join(_line(line, 'td') for line in lines[:MOST_ROWS])}</tbody></table>{more}"
    )


def _line(texts: Sequence[str], cell: str) -> str:
    return f"<tr>{''.join(f'<{cell}>{html.escape(text)}</{cell}>' for text in texts)}</tr>"


DRAWING = 0.03
"the share of time for drawing the curve during a search"


def details(run: Run, trial: Trial, *, picked: bool, applied: Workload | None) -> list[Block]:
    """Return the blocks about the winner, or about a picked candidate."""
    title = f"Candidate {trial.number}" if picked else f"The winner, candidate {trial.number}"
    said = [heading(f"{title}: {choice(trial, run.space)}")]
    if trial.reason:
        said.append(words(f"{trial.status}: {trial.reason}", "small", "tune-reason"))
    raced = run.result().races.get(trial.target) if run.status == "done" and not picked else None
    if raced is not None:
        said.append(words(f"Default against winner, run in turn: {raced}", name="tune-race"))
    if applied is not None and not picked:
        kernels = counted(applied.graph.kernel_count, "kernel")
        told = f"Applied: panel.applied has {kernels}; panel.compare() shows both graphs."
        said.append(words(told, name="tune-applied"))
    return [*said, code(rerun(trial), "tune-config")]


def rerun(trial: Trial) -> str:
    """Return the Python for a candidate: its pipeline, or its Config with the fields that are not defaults."""
    config = {name: value for name, value in trial.config.to_data().items() if value not in ("", (), {}, [])}
    return trial.config.pipeline or f"wb.Config(**{config!r})"


def python(text: str, *, wanted: bool) -> list[Block]:
    """Return a button for the candidate's code, and the code if it is requested and ready."""
    press = action("Hide the code" if wanted else "Code without the workbench", "tune-code")
    return [press, *([code(text, "tune-python")] if wanted and text else [])]


class Curve:
    """The curve of the best value, drawn again if it has changed and the drawing's share of time allows it."""

    def __init__(self) -> None:
        self._drawn: tuple[object, Block] | None = None
        self._rests_until = 0.0

    def block(self, known: Result, target: str, status: str) -> Block:
        """Return a picture for light pages and one for dark ones."""
        key = (len(known.trials), known.objectives, status == "running")
        begun = time.monotonic()
        if self._drawn is not None:
            was, block = self._drawn
            if was == key or (status == "running" and begun < self._rests_until):
                return block
        table = known.table
        value = OBJECTIVES[known.objectives[0]]
        made = picture(tuning_progress, table[table["target"] == target], ROWS, "tune-curve", value=value)
        now = time.monotonic()
        self._drawn, self._rests_until = (key, made), now + (now - begun) / DRAWING
        return made
