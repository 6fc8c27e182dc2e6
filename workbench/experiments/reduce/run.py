"""`wb.reduce`: the smallest program that still shows a symptom, and a script for an issue that needs TVM and numpy alone."""

from __future__ import annotations

import base64
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from workbench.analysis.tensors import Tensor, tensor, tensors
from workbench.dialects.base import SAFE_DEPTH, Workload, workload_of
from workbench.dialects.compiler.inputs import limit_of, random_code, random_values
from workbench.dialects.facets import CodeText
from workbench.dialects.registry import dialect_of
from workbench.errors import WorkbenchError, check_seconds
from workbench.experiments.reduce.search import Search, Shrink, run_phases
from workbench.experiments.reduce.size import Size, size_of
from workbench.experiments.symptoms import UNKNOWN, YES, Finding, Limits, Question, Symptom, probe, symptom_of
from workbench.graph.model import depth
from workbench.measurement.row import device_of
from workbench.pipeline.config import AS_IS, Config, check_config
from workbench.pipeline.outputs import TOLERANCE
from workbench.pipeline.run import trace
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.quoting import comment
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table, visible
from workbench.wording import counted
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd

    from workbench.pipeline.trace import Trace


@dataclass(frozen=True)
class Reduced:
    """A small program that shows the symptom of a large one, and the steps from one to the other."""

    workload: Workload
    "the small program"
    original: Workload = field(repr=False)
    config: Config
    "the smallest configuration under which the small program shows the symptom"
    given: Config
    "the configuration that the search began with"
    symptom: Symptom
    finding: Finding
    "the evidence of the small program's symptom"
    steps: tuple[Shrink, ...] = field(repr=False)
    "the edits that were kept, each with the program after it"
    before: Size
    after: Size
    probes: int
    "programs that were built and asked for the symptom, the original too"
    refused: int
    "edits that made no program: a pass or the type inference refused them"
    seconds: float
    complete: bool
    "whether the search tried all edits; False if it was cancelled or its time was over"
    limits: Limits = field(repr=False)

    @property
    def text(self) -> str:
        return self.workload.text()

    @property
    def edits(self) -> str:
        """The text of the Pipeline that makes the small program of the original."""
        return str(Pipeline(step.edit for step in self.steps if step.edit is not None))

    @cached_property
    def trace(self) -> Trace:
        """The edits as a Trace of the original, for PassStepper; changes of parameters' values are not steps of it."""
        return trace(self.original, self.edits, 0)

    @cached_property
    def script(self) -> str:
        """Python for an issue report: it needs TVM and numpy, makes the small program, and shows the symptom."""
        return script(self.workload, self.config, self.symptom, self.finding, self.limits)

    @property
    def table(self) -> pd.DataFrame:
        """One row for each edit that was kept, the original first: `edit`, `operators`, `elements`, `evidence`."""
        import pandas as pd

        return pd.DataFrame(list(self._rows()))

    def _rows(self) -> Iterator[dict[str, object]]:
        yield {"edit": "", "operators": self.before.operators, "elements": self.before.elements, "evidence": ""}
        for step in self.steps:
            size = {"operators": step.after.operators, "elements": step.after.elements}
            yield {"edit": step.said, **size, "evidence": step.finding.evidence}

    def __str__(self) -> str:
        sizes = f"{counted(self.before.operators, 'operator')} reduced to {self.after.operators:,}"
        cost = f"{counted(self.probes, 'probe')} in {self.seconds:.0f} s"
        end = "" if self.complete else "; the search was ended early"
        return visible(f"{self.symptom.name}: {sizes} with {cost}{end}: {self.finding.evidence}")

    def _repr_html_(self) -> str:
        return html_table(str(self), self._rows())


def reduce(
    workload: Workload,
    symptom: str | Question | Symptom = "wrong",
    config: object = 3,
    *,
    reference: object = None,
    target: TargetLike = "llvm",
    budget: float = inf,
    timeout: float = TIMEOUT,
    memory: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Reduced:
    """Find a small program that shows the same symptom.

    The search removes operators, reads earlier values in the place of later ones, inlines functions, makes data types, dimensions,
    constants and parameters simple, and leaves out passes and options. It keeps an edit if TVM infers the types of the program, the program is smaller, and
    it shows the same symptom: on a crash, the same crash.

    Parameters
    ----------
    symptom
        As `wb.bisect` takes it: "wrong", "crash", "hang", "slower", "kernels", "peak_bytes", or a function of a Workload and a
        Config that returns whether the symptom shows.
    config
        The configuration that shows it: an opt level, a pipeline, a dict of Config's fields, a Config.
    reference
        The configuration that "slower", "kernels" and "peak_bytes" compare with; by default TVM's own.
    budget
        Seconds of the whole search; the smallest program so far is returned when they are over.
    timeout, memory
        Seconds and bytes of a build, or of a run.
    seed
        Of the random inputs.
    cancelled
        Returns whether to stop and return the smallest program so far, as Ctrl-C does.

    Raises
    ------
    WorkbenchError
        The program does not show the symptom, or the symptom has an unknown name.

    Examples
    --------
    >>> def has_softmax(w, config):
    ...     return any("softmax" in node.op for node in w.graph.ops)
    >>> small = wb.reduce(wb.samples.load("attention", seq=8), has_softmax)
    >>> [node.op for node in small.workload.graph.ops]
    ['relax.nn.softmax']
    """
    check_seconds(budget=budget)
    workload = workload_of(workload, "reduce")
    chosen = Config.of(config)
    # Python functions and Pass objects of a pipeline run in this process
    given = config.get("pipeline") if isinstance(config, Mapping) else config
    has_functions = isinstance(given, Pipeline) and any(step.enabled and step.run for step in given)
    pipeline = given if isinstance(given, Pipeline) and has_functions else None
    check_config(workload, chosen)
    asked = symptom_of(symptom, workload, chosen, None if reference is None else Config.of(reference))
    started = time.monotonic()
    with showing_progress(progress, f"Reducing {workload.name}") as report:
        job: JobOptions = {"timeout": timeout, "memory": memory, "progress": report, "cancelled": cancelled}
        limits = Limits(target=target_text(target), seed=seed, **job)
        first = probe(asked, workload, chosen, pipeline, limits)
        if first.answer != YES:
            said = "it is not known whether it shows" if first.answer == UNKNOWN else "it does not show"
            raise WorkbenchError(
                f"{workload.name} cannot be reduced: {said} the symptom {asked.name} under {chosen.label}: {first.evidence}"
            )
        search = Search(workload, chosen, pipeline, asked, limits, first, started + budget)
        complete = run_phases(search)
    last = search.workload
    if search.steps:
        # parameters become TVM's tensors again
        last = dialect_of(last).frontend.load(last.module, last.params, last.name) or last
        last.trusted, last.shapes = workload.trusted, workload.shapes
    return Reduced(
        workload=last,
        original=workload,
        config=search.config,
        given=chosen,
        symptom=search.symptom,
        finding=search.found,
        steps=tuple(search.steps),
        before=search.steps[0].before if search.steps else size_of(workload),
        after=search.size,
        probes=search.probes,
        refused=search.refused,
        seconds=time.monotonic() - started,
        complete=complete,
        limits=search.limits,
    )


def script(workload: Workload, config: Config, symptom: Symptom, finding: Finding, limits: Limits) -> str:
    """Return the script of a program, its configuration and its symptom; refuse a program that is too deep for TVM's parser."""
    words = dialect_of(workload).code(False)
    runs = "\n".join(_runs(workload, config, words, symptom))
    about = f"Target {limits.target}, {config.whole}."
    return standalone(workload, f"{symptom.name}: {finding.evidence}", about, runs, limits.target, limits.seed)


def standalone(workload: Workload, title: str, about: str, runs: str, target: str, seed: int) -> str:
    """Return Python that makes a program as `mod`, with a function `outputs` that builds and runs one, and then what `runs` does."""
    if depth(workload.graph) > SAFE_DEPTH:
        raise WorkbenchError(f"{workload.name} is too deep for TVM's parser, which a script needs; reduce it first")
    here = dialect_of(workload)
    words = here.code(False)
    made, constants = here.frontend.source(workload.module)
    params = workload.params.items()
    values = {name: value if isinstance(value, np.ndarray) else value.numpy() for name, value in params}
    bind = [_dict("constants", {name: _array(each) for name, each in constants.items()}), words.script.bind]
    program = [
        f"{made}\n",
        f"TARGET, DEVICE = {words.target(target)}, tvm.device({device_of(target)!r})",
        *(bind if constants else []),
        _dict("inputs", dict(_inputs(workload, seed))),
        _dict("params", {name: _array(each) for name, each in values.items()}),
    ]
    body = "\n".join(program)
    imports = [
        # a function of the user's may have types whose modules are not imported
        *(["from __future__ import annotations", ""] if "def " in runs else []),
        *(["import base64", "import zlib", ""] if "base64." in body else []),
        "import numpy as np",
        words.script.imports,
    ]
    head = f'"""{comment(title)}\n\n{comment(about)}\n"""'
    return "\n\n".join([head, "\n".join(imports), body, f"\n{words.script.outputs}\n", runs, ""])


def _inputs(workload: Workload, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the name of each input without a value, and the expression of the values that a probe gives it."""
    for node in workload.graph.nodes:
        kind = tensor(node.type)
        if node.kind == "param" and node.op not in workload.params and kind is not None:
            shape = [int(str(workload.shapes.get(str(each), each))) for each in kind.shape]
            asked = (node.op, shape, kind.dtype, seed, limit_of(workload, node.op, kind.dtype))
            values = random_values(*asked)
            yield node.op, _array(values) if values.size <= SHORT or seed < 0 else random_code(*asked)


def _runs(workload: Workload, config: Config, words: CodeText, symptom: Symptom) -> Iterator[str]:
    steps = [step for step in Pipeline.parse(config.pipeline) if step.enabled] if config.pipeline else []
    if steps:
        yield from pass_list(steps, config.opt_level, words)
    build = f"outputs({'changed' if steps else 'mod'}, {context_text(config.context())})"
    if symptom.name != "wrong":
        yield f"print({build})"
        return
    yield f"expected = outputs(mod, {context_text(Config(opt_level=0, disabled=AS_IS))})"
    yield f"found = {build}"
    yield from comparison(workload)


def comparison(workload: Workload) -> Iterator[str]:
    """Yield the lines that compare `found` with `expected`."""
    yield f"for a, b, tolerance in zip(found, expected, {_tolerances(workload)}):"
    yield "    if tolerance:"
    yield "        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())"
    yield "    else:  # assert_allclose compares integers as float64, where 2**53 + 1 is 2**53"
    yield "        np.testing.assert_array_equal(a, b)"


def pass_list(steps: Sequence[PassStep], opt_level: int, words: CodeText) -> Iterator[str]:
    """Yield the lines that run named passes on `mod`; `changed` is the result."""
    yield from imports_of(steps, words)
    yield "passes = ["
    for step in steps:
        yield (
            f"    # {comment(step.name)}, a pass that only its notebook has"
            if step.name.startswith("<")
            else f"    {constructed(step, words)},"
        )
    yield "]"
    yield f"with tvm.transform.PassContext(opt_level={opt_level}):"
    yield "    changed = tvm.transform.Sequential(passes)(mod)"


def imports_of(steps: Sequence[PassStep], words: CodeText) -> Iterator[str]:
    """Yield the line that imports the named passes that TVM has not, if there are any."""
    ours = sorted({step.name for step in steps} & set(words.ours))
    if ours:
        yield f"from {words.passes} import {', '.join(ours)}  # of tvm-workbench: TVM has no such passes"


def constructed(step: PassStep, words: CodeText) -> str:
    """Return the Python that makes a named pass."""
    options = ", ".join(f"{name}={value!r}" for name, value in step.options.items())
    return f"{step.name if step.name in words.ours else words.constructor(step.name)}({options})"


def context_text(config: Config) -> str:
    """Return the arguments of a PassContext."""
    given = {
        "disabled_pass": list(config.disabled),
        "required_pass": list(config.required),
        "config": dict(config.options),
    }
    return ", ".join(
        [f"opt_level={config.opt_level}", *(f"{name}={value!r}" for name, value in given.items() if value)]
    )


def _tolerances(workload: Workload) -> list[float]:
    kinds: list[Tensor] = []
    for node in workload.graph.outputs:
        one = tensor(workload.graph.nodes[node].type)
        kinds += tensors(workload.graph.nodes[node].type) if one is None else [one]
    return [TOLERANCE.get(each.dtype, 0.0) for each in kinds]


def _dict(name: str, values: Mapping[str, str]) -> str:
    if not values:
        return f"{name} = {{}}"
    lines = "".join(f"\n    {key!r}: {value}," for key, value in values.items())
    return f"{name} = {{{lines}\n}}"


SHORT = 64
"elements of an array that is written as a list"


def _array(values: np.ndarray) -> str:
    """Return the expression of an array, with numpy as `np`; a long one is compressed.

    >>> _array(np.ones((2, 3), "int8")), _array(np.array([1.5, 2], "float32"))
    ("np.full((2, 3), 1, 'int8')", "np.array([1.5, 2.0], 'float32')")
    """
    dtype = str(values.dtype)
    first = values.reshape(-1)[:1].tolist()
    if first and np.isfinite(first[0]) and values.ndim and (values == first[0]).all():
        return f"np.full({values.shape!r}, {first[0]!r}, {dtype!r})"
    if values.size <= SHORT and np.isfinite(values.astype("float64")).all():
        return f"np.array({values.tolist()!r}, {dtype!r})"
    packed = base64.b85encode(zlib.compress(np.ascontiguousarray(values).tobytes())).decode()
    return f"np.frombuffer(zlib.decompress(base64.b85decode({packed!r})), {dtype!r}).reshape({values.shape!r})"
