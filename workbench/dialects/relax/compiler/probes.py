"""A Relax module whose outputs are the values of its nodes."""

from __future__ import annotations

from tvm import relax

from workbench.dialects.base import Workload
from workbench.dialects.relax import compat
from workbench.errors import MeasureError


def probed(workload: Workload) -> tuple[Workload, list[int]]:
    """Return the workload with another module, and the id of the node of each output.

    Nodes are the calls that `main` binds to variables, outside of any `if`.

    Raises
    ------
    MeasureError
        Bindings and nodes do not agree, so they cannot be matched.
    """
    module = relax.transform.ToNonDataflow()(workload.module)
    main = module["main"]
    bound = [
        binding.var
        for block in main.body.blocks
        for binding in block.bindings
        if isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Call)
        if compat.fixed_shape(compat.type_of(binding.var)) is not None
    ]
    nodes = [node for node in workload.graph.nodes if node.kind == "op" and node.type.startswith("R.Tensor(")]
    by_name: dict[str, list[int]] = {}
    for node in nodes:
        by_name.setdefault(node.name, []).append(node.id)
    found = [(var, ids[0]) for var in bound if len(ids := by_name.get(compat.name_of(var), [])) == 1]
    if not found:
        raise MeasureError("no call of main has a value of its own")
    body = relax.SeqExpr(main.body.blocks, relax.Tuple([var for var, _ in found]))
    function = relax.Function(main.params, body, is_pure=main.is_pure, attrs=main.attrs)
    module = module.clone()
    module.update_func(module.get_global_var("main"), function)
    probing = relax.transform.Normalize()(module)
    return workload.of(probing), [id for _, id in found]
