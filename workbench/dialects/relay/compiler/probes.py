"""A Relay module whose outputs are the values of its nodes.

Only the printed text connects a node of the graph with an expression of the module: `Node.line` is the line that binds
it. So the text is read back with another result. TVM prints names that it does not read, as `%input.1`, and those of ONNX are such:
the variables have plain names in the text, and the inputs their own names again afterwards, because they get values by name.
"""

from __future__ import annotations

import re

import tvm
from tvm import relay

from workbench.dialects.arrays import bytes_of
from workbench.dialects.base import Workload
from workbench.dialects.relay.diagnostics import as_error
from workbench.dialects.relay.printer import with_plain_names
from workbench.errors import MeasureError, reason_of

_BOUND = re.compile(r"  (%(\d+)) = ")
_READ = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"a name that TVM's parser reads as it prints it"
MOST_BYTES = 64_000_000
"of constants, which are printed as text"


def probed(workload: Workload) -> tuple[Workload, list[int]]:
    """Return the workload with another module, and the id of the node of each output.

    Nodes are the operators of `main` outside of kernels, `let` and `if`.

    Raises
    ------
    MeasureError
        The module has no such nodes, or is too large to be printed.
    """
    ids = {node.line: node.id for node in workload.graph.nodes if node.kind == "op" and node.type.startswith("Tensor[")}
    lines = _text(_with_plain_names(workload.module)).splitlines()
    start = next((place for place, line in enumerate(lines) if line.startswith("def @main")), None)
    if start is None:
        raise MeasureError("the module has no main")
    end = next(place for place in range(start, len(lines)) if lines[place] == "}")
    bound = {place: match for place in range(start + 1, end) if (match := _BOUND.match(lines[place]))}
    last = max(bound, default=start)
    found = [(match.group(1), ids[place + 1]) for place, match in bound.items() if place + 1 in ids]
    if last + 2 == end and end in ids:
        # the result, which has no name
        name = f"%{max((int(match.group(2)) for match in bound.values()), default=-1) + 1}"
        found.append((name, ids[end]))
        last += 1
        lines[last] = f"  {name} = {lines[last].strip()};"
    # a bound function ends on a later line
    if not found or not lines[last].endswith(";"):
        raise MeasureError("no operator of main has a value of its own")
    head = lines[start].partition(") -> ")[0].removesuffix(") {") + ") {"
    result = f"  ({', '.join(name for name, _ in found)},)"
    text = "\n".join([*lines[:start], head, *lines[start + 1 : last + 1], result, *lines[end:]])
    unreadable = "the module cannot be printed and read back: "
    try:
        with as_error(MeasureError, unreadable):
            module = tvm.relay.parse(text)
    except tvm.TVMError as error:
        raise MeasureError(f"{unreadable}{reason_of(error)}") from None
    main, own = module["main"], workload.module["main"]
    params = [relay.Var(old.name_hint, new.type_annotation) for old, new in zip(own.params, main.params, strict=True)]
    body = relay.bind(main.body, dict(zip(main.params, params, strict=True)))
    module["main"] = relay.Function(params, body, None, main.type_params, main.attrs)
    return workload.of(relay.transform.InferType()(module)), [id for _, id in found]


def _with_plain_names(module: tvm.IRModule) -> tvm.IRModule:
    functions, names = dict(module.functions), dict[str, str]()
    for name, function in functions.items():
        if isinstance(function, relay.Function):
            odd = [each for each in relay.analysis.all_vars(function) if not _READ.fullmatch(each.name_hint)]
            functions[name] = with_plain_names(function, odd, names)
    return relay.transform.InferType()(tvm.IRModule(functions, module.type_definitions)) if names else module


def _text(module: tvm.IRModule) -> str:
    size = 0

    def add(expression: relay.Expr) -> None:
        nonlocal size
        if isinstance(expression, relay.Constant):
            size += bytes_of(expression.data).nbytes

    for function in module.functions.values():
        if isinstance(function, relay.Function):
            relay.analysis.post_order_visit(function, add)
    if size > MOST_BYTES:
        raise MeasureError(f"its constants are {size >> 20} MB, too many to look inside")
    return module.astext(show_meta_data=True)
