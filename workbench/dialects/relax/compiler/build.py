"""Building and running Relax workloads. Used in the child process only: a build can end the process it runs in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tvm
from tvm import relax

from workbench.dialects.base import Workload, refuse_without_main
from workbench.dialects.compiler.built import SOURCES, Built, Compiler, tir_text
from workbench.dialects.compiler.capture import pass_context
from workbench.dialects.compiler.cuda_code import compiled_where_it_runs
from workbench.dialects.compiler.planned import Program
from workbench.dialects.compiler.tvm_target import make_target
from workbench.dialects.relax import compat
from workbench.dialects.relax.compiler.fallbacks import fallbacks
from workbench.dialects.relax.compiler.kernels import CALLS, FUSED, Watch, pipeline, program_of_module
from workbench.dialects.relax.compiler.planned import plan, plan_of_build
from workbench.dialects.relax.compiler.running import Running, with_imports
from workbench.dialects.relax.entries import run_alone
from workbench.dialects.scheduling import scheduled
from workbench.dialects.trust import ask
from workbench.errors import MeasureError


class RelaxBuilt(Built):
    """An executable for Relax's virtual machine."""

    def program(self) -> Program:
        refuse_without_main(self.workload, MeasureError)
        # every build reaches this pass
        return program_of_module(run_alone(self.watch.first(CALLS), self.workload), self.workload.name)

    def module(self) -> tvm.IRModule:
        return run_alone(self.watch.first(FUSED, CALLS), self.workload)

    def peak_bytes(self) -> int | None:
        return plan_of_build(self.watch, self.workload, self.target).peak_bytes

    def code(self, form: str) -> str:
        if form == "tir":
            return tir_text(self.watch.first(CALLS))
        parts = list(with_imports(self.library.mod))
        if form in SOURCES:
            return "\n".join(str(part.inspect_source(SOURCES[form])) for part in parts if part.kind == "llvm")
        return "\n".join(str(part.inspect_source()) for part in parts if part.kind in (form, "c"))


def probed(workload: Workload) -> tuple[Workload, list[int]]:
    """Return the workload with a module whose outputs are the values of its nodes, and the id of the node of each output.

    Nodes are the calls and fields of tuples that `main` binds to variables, outside of any `if`.

    Raises
    ------
    MeasureError
        Bindings and nodes do not agree, so they cannot be matched.
    """
    module = relax.transform.ToNonDataflow()(workload.module)
    main = module["main"]
    bound: dict[str, list[relax.Var]] = {}
    nodes: dict[str, list[int]] = {}
    for block in main.body.blocks:
        for binding in block.bindings:
            value = binding.value if isinstance(binding, relax.VarBinding) else None
            if isinstance(value, (relax.Call, relax.TupleGetItem)):
                bound.setdefault(compat.name_of(binding.var).replace(".", "_"), []).append(binding.var)
    for node in workload.graph.nodes:
        if node.kind in ("op", "get_item"):
            nodes.setdefault(node.name, []).append(node.id)
    found: list[tuple[relax.Var, int]] = []
    for name, variables in bound.items():
        # variables of one name are in the order of their nodes
        if len(variables) == len(ids := nodes.get(name, [])):
            found += zip(variables, ids, strict=True)
    found = [(var, id) for var, id in found if compat.fixed_shape(compat.type_of(var)) is not None]
    if not found:
        raise MeasureError("no call of main has a value of its own")
    results = relax.Tuple([var for var, _ in found])
    body = relax.SeqExpr(main.body.blocks, results)
    function = relax.Function(main.params, body, compat.type_of(results), main.is_pure, main.attrs)
    module = module.clone()
    module.update_func(module.get_global_var("main"), function)
    probing = relax.transform.Normalize()(module)
    return workload.of(probing), [id for _, id in found]


class RelaxCompiler(Compiler):
    """Builds for Relax's virtual machine."""

    plan, fallbacks, probed = staticmethod(plan), staticmethod(fallbacks), staticmethod(probed)
    running = staticmethod(Running)

    def optimized(
        self, workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
    ) -> tvm.IRModule:
        """Return the module after the compiler's own pipeline has decided on its kernels.

        It is the input of FuseTIR: a kernel is still a function of its operators, and can be drawn as a box of them.
        """
        made = make_target(target)
        watch = Watch()
        with made, pass_context(config, [watch, *instruments]):
            relax.get_default_pipeline(made)(workload.module)
        return watch.first(FUSED, CALLS)

    def unoptimized(self, workload: Workload, target: str) -> tuple[Workload, str]:
        """Return both unchanged: every operator of Relax is compiled at any opt level, for any CPU."""
        return workload, target

    def compiled(
        self, workload: Workload, target: str, config: Mapping[str, Any], instruments: Sequence[Any] = ()
    ) -> Built:
        """Build for Relax's virtual machine.

        The pipeline is passed by name: TVM's default fuses for a GPU only, and leaves every operator of a CPU build a
        kernel.
        """
        ask()
        made = make_target(target)
        watch = Watch()
        with compiled_where_it_runs(target), scheduled(config, "relax"), pass_context(config, [watch, *instruments]):
            executable = tvm.compile(workload.module, made, relax_pipeline=pipeline(made, config))
        return RelaxBuilt(self, workload, target, executable, watch)

    def fingerprint(self, workload: Workload, target: str, config: Mapping[str, Any]) -> str:
        """Return TVM's structural hash of the module after the whole default pipeline, values of constants included."""
        made = make_target(target)
        with made, pass_context(config, []):
            module = relax.get_default_pipeline(made)(workload.module)
        return f"{compat.structural_hash(module) & (1 << 64) - 1:016x}"


COMPILER = RelaxCompiler()
