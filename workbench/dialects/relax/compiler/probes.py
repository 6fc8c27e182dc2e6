"""A Relax module whose outputs are the values of its nodes."""

from __future__ import annotations

from tvm import relax

from workbench.dialects.base import Workload
from workbench.dialects.relax import compat
from workbench.errors import MeasureError


def probed(workload: Workload) -> tuple[Workload, list[int]]:
    """Return the workload with another module, and the id of the node of each output.

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
