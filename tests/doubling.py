"""Programs whose functions each call the one before twice, so that drawing each body at its call would not end."""

from __future__ import annotations

import workbench as wb
from workbench.dialects.nesting import DRAWN_ONCE
from workbench.graph.diff import diff

LEVELS = 24
TYPE = 'R.Tensor((1,), "float32")'


def relay_literals(count: int) -> str:
    """Local functions, each of which calls the one before twice."""
    bodies = ["exp(%p0)", *(f"add(%{i - 1}(%p{i}), %{i - 1}(%p{i}))" for i in range(1, count))]
    lines = [f"%{i} = fn(%p{i}: Tensor[(1), float32], note=1) {{ {body} }};" for i, body in enumerate(bodies)]
    return "\n".join(["def @main(%x: Tensor[(1), float32]) {", *lines, f"%{count - 1}(%x)", "}"])


def relay_globals(count: int) -> str:
    """Kernels that each call the one before twice."""
    bodies = ["exp(%p)", *(f"add(@f{i - 1}(%p), @f{i - 1}(%p))" for i in range(1, count))]
    head = "(%p: Tensor[(1), float32], Primitive=1) -> Tensor[(1), float32]"
    kernels = [f"def @f{i}{head} {{ {body} }}" for i, body in enumerate(bodies)]
    main = f"def @main(%x: Tensor[(1), float32]) -> Tensor[(1), float32] {{ @f{count - 1}(%x) }}"
    return "\n".join([main, *kernels])


def relax_globals(count: int) -> str:
    lines = ["@I.ir_module", "class Module:"]
    for i in range(count):
        body = ["a = R.exp(x)"] if i == 0 else [f"b = cls.f{i - 1}(x)", f"a = cls.f{i - 1}(b)"]
        head = ["@R.function(private=True)", f"def f{i}(x: {TYPE}) -> {TYPE}:"]
        lines += [f"    {line}" for line in head]
        lines += [f"        {line}" for line in ['R.func_attr({"Primitive": True})', "cls = Module", *body, "return a"]]
    lines += ["    @R.function", f"    def main(x: {TYPE}) -> {TYPE}:", "        cls = Module"]
    return "\n".join([*lines, f"        y = cls.f{count - 1}(x)", "        return y"])


def relax_locals(count: int) -> str:
    lines = ["@R.function", f"def main(x: {TYPE}) -> {TYPE}:"]
    for i in range(count):
        body = [f"a{i} = R.exp(p{i})"] if i == 0 else [f"b{i} = f{i - 1}(p{i})", f"a{i} = f{i - 1}(b{i})"]
        lines += ["    @R.function", f"    def f{i}(p{i}: {TYPE}) -> {TYPE}:"]
        lines += [f"        {line}" for line in ['R.func_attr({"Primitive": True})', *body, f"return a{i}"]]
    return "\n".join([*lines, f"    y = f{count - 1}(x)", "    return y"])


PROGRAMS = {"relay": (relay_literals, relay_globals), "relax": (relax_globals, relax_locals)}


def check(workload: wb.Workload) -> None:
    graph = workload.graph
    assert len(graph.nodes) < 8 * LEVELS
    assert [note for note in workload.notes if "drawn once and not at each call" in note]
    assert sum(group.attrs.get("drawn") == DRAWN_ONCE["drawn"] for group in graph.groups) >= LEVELS - 1
    assert len(diff(graph, graph).mapping) == len(graph.nodes)
    wb.explain_fusion(graph)
