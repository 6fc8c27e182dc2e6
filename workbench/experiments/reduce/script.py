"""Python for an issue report, which needs TVM and numpy alone: it makes a program and shows the symptom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from workbench.analysis.tensors import Tensor, tensor, tensors
from workbench.dialects.base import SAFE_DEPTH, Workload
from workbench.dialects.compiler.inputs import limit_of, random_code, random_values
from workbench.dialects.facets import CodeText
from workbench.dialects.python_text import SHORT, array
from workbench.dialects.registry import dialect_of
from workbench.errors import WorkbenchError
from workbench.experiments.symptoms import Finding, Limits, Symptom
from workbench.graph.model import depth
from workbench.measurement.row import device_of
from workbench.pipeline.config import AS_IS, Config
from workbench.pipeline.outputs import TOLERANCE
from workbench.pipeline.spec import PassStep, Pipeline
from workbench.quoting import comment


def script(workload: Workload, config: Config, symptom: Symptom, finding: Finding, limits: Limits) -> str:
    """Return the script of a program, its configuration and its symptom; refuse a program that is too deep for TVM's parser."""
    if depth(workload.graph) > SAFE_DEPTH:
        raise WorkbenchError(
            f"{workload.name} is too deep for TVM's parser, so there is no script for it; reduce it first"
        )
    here = dialect_of(workload)
    words = here.code(False)
    made, constants = here.frontend.source(workload.module)
    params = workload.params.items()
    values = {name: value if isinstance(value, np.ndarray) else value.numpy() for name, value in params}
    bind = [_dict("constants", {name: array(each) for name, each in constants.items()}), words.script.bind]
    program = [
        f"{made}\n",
        f"TARGET, DEVICE = {words.target(limits.target)}, tvm.device({device_of(limits.target)!r})",
        *(bind if constants else []),
        _dict("inputs", dict(_inputs(workload, limits.seed))),
        _dict("params", {name: array(each) for name, each in values.items()}),
    ]
    body = "\n".join(program)
    imports = [
        *(["import base64", "import zlib", ""] if "base64." in body else []),
        "import numpy as np",
        words.script.imports,
    ]
    runs = "\n".join(_runs(workload, config, words, symptom))
    about = f"Target {limits.target}, {config.whole}."
    title = f'"""{symptom.name}: {comment(finding.evidence)}\n\n{comment(about)}\n"""'
    return "\n\n".join([title, "\n".join(imports), body, f"\n{words.script.outputs}\n", runs, ""])


def _inputs(workload: Workload, seed: int) -> Iterator[tuple[str, str]]:
    """Yield the name of each input without a value, and the expression of the values that a probe gives it."""
    for node in workload.graph.nodes:
        kind = tensor(node.type)
        if node.kind == "param" and node.op not in workload.params and kind is not None:
            asked = (
                node.op,
                [int(each) for each in kind.shape],
                kind.dtype,
                seed,
                limit_of(workload, node.op, kind.dtype),
            )
            values = random_values(*asked)
            yield node.op, array(values) if values.size <= SHORT else random_code(*asked)


def _runs(workload: Workload, config: Config, words: CodeText, symptom: Symptom) -> Iterator[str]:
    steps = [step for step in Pipeline.parse(config.pipeline) if step.enabled] if config.pipeline else []
    if steps:
        yield from _passes(steps, config, words)
    build = f"outputs({'changed' if steps else 'mod'}, {_context(config.context())})"
    if symptom.name != "wrong":
        yield f"print({build})"
        return
    yield f"expected = outputs(mod, {_context(Config(opt_level=0, disabled=AS_IS))})"
    yield f"found = {build}"
    yield f"for a, b, tolerance in zip(found, expected, {_tolerances(workload)}):"
    yield "    if tolerance:"
    yield "        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())"
    yield "    else:  # assert_allclose compares integers as float64, where 2**53 + 1 is 2**53"
    yield "        np.testing.assert_array_equal(a, b)"


def _passes(steps: list[PassStep], config: Config, words: CodeText) -> Iterator[str]:
    ours = sorted({step.name for step in steps} & set(words.ours))
    if ours:
        yield f"from {words.passes} import {', '.join(ours)}  # of tvm-workbench: TVM has no such passes"
    yield "passes = ["
    for step in steps:
        options = ", ".join(f"{name}={value!r}" for name, value in step.options.items())
        named = step.name if step.name in ours else words.constructor(step.name)
        yield (
            f"    # {comment(step.name)}, a pass that only its notebook has"
            if step.name.startswith("<")
            else f"    {named}({options}),"
        )
    yield "]"
    yield f"with tvm.transform.PassContext(opt_level={config.opt_level}):"
    yield "    changed = tvm.transform.Sequential(passes)(mod)"


def _context(config: Config) -> str:
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
