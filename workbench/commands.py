"""The subcommands trace, show, kernels, schedules, measure, remarks, migrate and export of tvm-workbench.

cli.py reads the command line; this module imports the package's dependencies.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from workbench import samples
from workbench.dialects.base import Shapes, Workload
from workbench.dialects.readers import PASTES, TEXTS
from workbench.dialects.registry import installed
from workbench.dialects.trust import UNTRUSTED
from workbench.errors import LoadError, TooDeep, WorkbenchError, writing
from workbench.graph.model import Graph
from workbench.graph.received import Damaged, literal
from workbench.pipeline.config import Config
from workbench.pipeline.load import load, load_all
from workbench.pipeline.spec import SAMPLE, Pipeline, is_sample
from workbench.pipeline.step import Step
from workbench.pipeline.trace import Trace
from workbench.quoting import csv_text, shell_file
from workbench.terminal import print_line

if TYPE_CHECKING:
    import pandas as pd

    from workbench.widgets.graph.compare import CompareView
    from workbench.widgets.graph.view import GraphView
    from workbench.widgets.stepper.pass_stepper import PassStepper

PASS_FAILED = 3
"exit status: the command did its work, and one of the passes or configurations failed"
BAD_FILE, LOST = 2, 3
"exit statuses of a comparison: a file cannot be read as remarks; a decision of the first file is not in the second"


def trace(options: argparse.Namespace) -> int:
    """Run a pipeline, or the compiler's own, write the trace, and print the effect of each pass."""
    workload = _model(options.model, options.params, options.inputs, options.trust)
    if options.build:
        from workbench.pipeline.build import trace_build

        made = trace_build(
            workload,
            options.build,
            options.opt_level,
            options.disable,
            options.require,
            _settings(options.config),
            timeout=options.timeout,
        )
    else:
        from workbench.pipeline.run import trace as run

        passes = None if options.passes is None else Pipeline.parse(options.passes)
        made = run(workload, passes, options.opt_level)
    for step in made.steps:
        if step.changed or step.error or not options.changed:
            print_line(_step_line(step))
    checks = made.check().rows if options.check else ()
    for row in checks:
        if row.status == "unknown":
            print_line(f"{row.name} could not be checked: {row.message}", sys.stderr)
    changed = [row.name for row in checks if row.status == "different"]
    for name in changed:
        print_line(f"{name} changed the outputs", sys.stderr)
    if checks:
        found = Counter(row.status for row in checks)
        print_line(f"outputs: {', '.join(f'{count} {status}' for status, count in found.items())}")
    if options.output:
        print_line(f"written: {made.save(options.output)}")
    if made.failed is not None:
        print_line(f"tvm-workbench: {made.failed.name} failed: {made.failed.error}", sys.stderr)
    return PASS_FAILED if made.failed is not None or changed else 0


def show(options: argparse.Namespace) -> int:
    """Write a trace, or a model before and after the passes, as one self-contained file."""
    thing, failed = _load_for_show(options.file, options.inputs), None
    if isinstance(thing, Workload):
        made = None if options.graph or thing.graph.ask_after is None else _passes_of(thing)
        failed = made and made.failed
        thing = thing.graph if made is None else (made.start.graph, made.end.graph)
    output = options.output or Path(options.file).with_suffix(".html").name
    saved = _view(thing, options.step).save(output)
    print_line(f"written: {saved}")
    if options.open:
        import webbrowser

        webbrowser.open(saved.resolve().as_uri())
    if failed:
        print_line(f"tvm-workbench: {failed.name} failed: {failed.error}", sys.stderr)
    return PASS_FAILED if failed else 0


def _passes_of(workload: Workload) -> Trace:
    """Run the passes that a Workbench opens with, in child processes where the graph is too deep for this one."""
    from workbench.pipeline.run import trace as run

    try:
        made = run(workload)
    except TooDeep:
        made = run(workload, isolated=True)
    print_line(f"before and after: {', '.join(step.name for step in made.steps)}")
    return made


def kernels(options: argparse.Namespace) -> int:
    """Count the calls of a real build."""
    from workbench.measurement.kernels import kernels as count

    found = count(
        _model(options.model, options.params, options.inputs, options.trust),
        options.target,
        options.opt_level,
        options.disable,
        options.require,
        _settings(options.config),
        timeout=options.timeout,
    )
    print_line(f"target        {found.target}")
    for name in ("calls", "functions", "launches", "noops", "copies", "traffic_bytes", "flops"):
        value = getattr(found, name)
        print_line(f"{name:13} {'unknown' if value is None else value}")
    _print_notes(found.notes)
    _print_table(found.table, options.output)
    return 0


def schedules(options: argparse.Namespace) -> int:
    """List the rules that were tried for the schedule of each kernel, or check the schedules."""
    from workbench.debugging.schedule_checks import check_schedule
    from workbench.debugging.schedules import schedules as find

    workload = _model(options.model, options.params, options.inputs, options.trust)
    context = options.opt_level, options.disable, options.require, _settings(options.config)
    if options.check:
        found = checks = check_schedule(workload, options.target, None, None, None, *context, timeout=options.timeout)
    else:
        found, checks = find(workload, options.target, None, *context, timeout=options.timeout), None
    print_line(found)
    if options.output:
        _write(csv_text(found.table), options.output)
    return PASS_FAILED if checks is not None and checks.wrong else 0


def measure(options: argparse.Namespace) -> int:
    """Build and time configurations, one row each."""
    from workbench.measurement.measure import measure as time
    from workbench.measurement.measure import raise_interrupt
    from workbench.measurement.row import BROKEN, UNTRUSTED
    from workbench.measurement.tables import BRIEF

    rows = time(
        _model(options.model, options.params, options.inputs, options.trust),
        [Config.of(int(text) if text.isdigit() else text) for text in options.configs or ("0", "1", "2", "3")],
        options.target or ("llvm",),
        budget=options.budget,
        timeout=options.timeout,
    )
    if options.output:
        _write(csv_text(rows), options.output)
    print_line(rows[list(BRIEF)].to_string(index=False))
    raise_interrupt(rows)
    return PASS_FAILED if rows["status"].isin((*BROKEN, UNTRUSTED)).any() else 0


def remarks(options: argparse.Namespace) -> int:
    """Write the decisions of the passes, or compare two files of them."""
    if options.diff:
        return _lost(*options.diff)
    from workbench.debugging.remarks.result import remarks as collect

    if options.model.endswith(".wbtrace"):
        found = collect(Trace.open(Path(options.model)))
    else:
        workload = _model(options.model, options.params, options.inputs, options.trust)
        settings = _settings(options.config)
        switches = tuple(options.disable), tuple(options.require), settings, options.passes or ""
        found = collect(workload, options.target, Config("", options.opt_level, *switches), timeout=options.timeout)
    if options.output:
        print_line(f"written: {found.write(options.output, options.format)} ({found.headline})")
    else:
        print_line(found)
    return 0


def _lost(before: Path, after: Path) -> int:
    """Print the decisions of a file that another file lacks."""
    from workbench.debugging.remarks.result import Remarks, lost_text

    try:
        since, now = Remarks.open(before), Remarks.open(after)
    except LoadError as error:
        print_line(f"tvm-workbench: {error}", sys.stderr)
        return BAD_FILE
    lost = now.lost(since)
    print_line(lost_text(lost, now, before.name.partition(".")[0]))
    return LOST if lost else 0


def migrate(options: argparse.Namespace) -> int:
    """Build a model with both compilers, and write the comparison as an HTML file, with CSV, JSON and a live page next to it."""
    from workbench.debugging.compilers.run import compare_compilers
    from workbench.debugging.compilers.side import Compiler
    from workbench.measurement.row import BROKEN
    from workbench.plots.report import Files, Section, page, report_path, rows_of_text
    from workbench.widgets.graph.compilers import CompilerView

    path = report_path(options.output or f"{Path(options.model.removeprefix(SAMPLE)).stem}.html")
    found = compare_compilers(
        options.model,
        _shapes(options.inputs),
        options.target or ("llvm",),
        params=options.params,
        compilers=(Compiler("relay", options.relay), Compiler("relax", options.relax)),
        budget=options.budget,
        suggest=True,
        timeout=options.timeout,
    )
    files, model = Files(path), options.model if is_sample(options.model) else Path(options.model).name
    table, sides = found.printed.drop(columns="target" if len(found.pairs) == 1 else []), found.sides
    saved = files.csv("kernels", found.printed), files.csv("compilers", sides), files.json(found.to_data())
    views = [
        CompilerView(pair).save(path.with_name(f"{path.stem}.view{number or ''}.html")).name
        for number, pair in enumerate(found.pairs)
        if all(side.optimized is not None for side in pair.sides)
    ]
    sections = [
        Section("Both compilers", table=rows_of_text(sides), files=saved[1]),
        *([Section("Side by side", files=tuple(views))] if views else []),
        Section(
            "Kernels by the nodes of the model, Relay left and Relax right", table=rows_of_text(table), files=saved[0]
        ),
        Section("All figures", files=saved[2]),
        Section("To make it again", code=f"tvm-workbench migrate {shell_file(model)} -o {shell_file(path.name)}\n"),
    ]
    files.write(path, page(f"{found.name}: from Relay to Relax", str(found).splitlines()[1:], sections))
    print_line(found)
    print_line(f"written: {path}")
    return PASS_FAILED if sides["status"].isin(BROKEN).any() else 0


def export(options: argparse.Namespace) -> int:
    """Write a trace or a graph in another form, chosen by the suffix."""
    options.output = options.output or options.output_too
    if options.output is None:
        raise WorkbenchError("say where to write it: tvm-workbench export FILE OUTPUT, m.svg")
    thing, suffix = _trace_or_model(options.file, options.inputs), Path(options.output).suffix.lower()
    thing = thing.graph if isinstance(thing, Workload) else thing
    if suffix in (".html", ".svg", ".pdf", ".png"):
        print_line(f"written: {_view(thing, options.step).save(options.output)}")
        return 0
    if suffix not in _FORMS:
        known = ", ".join([*_FORMS, ".html", ".svg", ".pdf", ".png"])
        raise WorkbenchError(f"{options.output} is of no kind that can be exported; give a name ending in {known}")
    _write(_form(thing, options.step, suffix), options.output)
    print_line(f"written: {options.output}")
    return 0


def _model(source: str, params: Path | None, inputs: list[str], trust: bool = False) -> Workload:
    if is_sample(source):
        if inputs or params:
            raise LoadError(f"{source} has its shapes and parameters; leave --input and --params out")
        return samples.load_text(source)
    path, given = Path(source), _shapes(inputs)
    workload = load(path, params, shapes=_sizes(given)) if path.suffix in TEXTS else load(path, params, inputs=given)
    workload.trusted |= trust
    _print_notes(note for note in workload.notes if not (trust and note == UNTRUSTED))
    return workload


def _print_notes(notes: Iterable[str]) -> None:
    """Print notes to stderr, so that they are not part of a table on stdout."""
    for note in notes:
        print_line(f"note: {note}", sys.stderr)


def _shapes(given: list[str]) -> dict[str, tuple[int, ...]]:
    """Parse `NAME=1,128` options into shapes by name."""
    found: dict[str, tuple[int, ...]] = {}
    for text in given:
        name, equals, sizes = text.rpartition("=")
        try:
            shape = tuple(int(size) for size in sizes.split(",") if size)
        except ValueError:
            shape = ()
        if not equals or not shape:
            raise WorkbenchError(f"{text!r} is not a shape of an input; write it as NAME=SHAPE, ids=1,128")
        found[name] = shape
    return found


def _sizes(given: dict[str, tuple[int, ...]]) -> Shapes:
    """Return the argument of `wb.load(shapes=)`: in Relax one number by dimension, in Relay a shape by input."""
    is_relax = installed() == "relax"
    return {name: shape[0] if is_relax and len(shape) == 1 else shape for name, shape in given.items()}


def _trace_or_model(path: str, inputs: list[str]) -> Trace | Workload:
    return Trace.open(Path(path)) if path.endswith(".wbtrace") else _model(path, None, inputs)


def _load_for_show(path: str, inputs: list[str]) -> Trace | Graph | Workload | tuple[Graph, Graph]:
    """Load what `show` draws: both modules of a text with a before and an after."""
    if is_sample(path) or Path(path).suffix not in PASTES:
        return _trace_or_model(path, inputs)
    if inputs:
        raise LoadError(f"{path} is drawn with the shapes in it; leave --input out")
    models = load_all(Path(path))
    _print_notes(models[0].notes)
    return (models[0].graph, models[1].graph) if len(models) == 2 else models[0]


def _view(thing: Trace | Graph | tuple[Graph, Graph], step: int | None) -> GraphView | CompareView | PassStepper:
    if isinstance(thing, tuple):
        from workbench.widgets.graph.compare import CompareView

        return CompareView(*thing)
    if isinstance(thing, Graph):
        from workbench.widgets.graph.view import GraphView

        return GraphView(thing)
    if step is not None:
        chosen = thing.step(step)
        return _view((chosen.before, chosen.after), None)
    from workbench.widgets.stepper.pass_stepper import PassStepper

    return PassStepper(thing)


_FORMS = (".json", ".dot", ".py", ".txt")


def _form(thing: Trace | Graph, step: int | None, suffix: str) -> str:
    """Return a trace in the form of a suffix, or the graph after a step of it, by default the last."""
    if isinstance(thing, Graph):
        if suffix == ".py":
            raise WorkbenchError("a graph has no code; export a trace, which `tvm-workbench trace -o x.wbtrace` writes")
        if suffix == ".txt":
            raise WorkbenchError("a graph has no text of its own; export a trace")
        graph = thing
    elif suffix == ".py":
        return thing.code()
    elif suffix == ".txt":
        return thing.end.text if step is None else thing.step(step).text_after
    else:
        graph = thing.end.graph if step is None else thing.step(step).after
    return graph.to_json() if suffix == ".json" else graph.to_graphviz().source


def _settings(pairs: list[str]) -> dict[str, object]:
    """Parse `KEY=VALUE` options into PassContext config; values are Python literals, or else text."""
    found: dict[str, object] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise WorkbenchError(f"{pair!r} is not a setting; write it as KEY=VALUE, relay.FuseOps.max_depth=4")
        try:
            found[key] = literal(value)
        except Damaged:
            found[key] = value
    return found


def _step_line(step: Step) -> str:
    marks = {"changed": "*", "error": "!", "same": " ", "skipped": "-", "off": "-"}
    line = f"{marks[step.status]} {'  ' * step.depth}{step.name:{48 - 2 * step.depth}} {step.seconds * 1e3:9.1f} ms"
    if step.changed:
        line += f"  nodes {len(step.before.nodes)} -> {len(step.after.nodes)}"
        line += f", kernels {step.before.kernel_count} -> {step.after.kernel_count}"
    said = step.error or step.detail
    return line + (f"  {said}" if said else "")


def _print_table(table: pd.DataFrame, output: Path | None) -> None:
    if output is not None:
        _write(csv_text(table), output)
        return
    names = ("function", "kind", "launches", "flops", "bytes_read", "bytes_written", "outputs")
    print_line(table[[name for name in names if name in table]].to_string(index=False, na_rep="unknown"))


def _write(text: str, path: str | Path) -> None:
    with writing(path):
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")
