"""`wb.kernels`: the calls of a real build, counted, with their code and their nodes in the graph."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.dialects.base import Shapes, Workload, choose_entry, workload_of
from workbench.errors import MeasureError, UnknownName
from workbench.graph.model import Graph, Group, Node
from workbench.measurement.row import column
from workbench.pipeline.config import Config, check_config, context_of
from workbench.target_text import TargetLike, target_text
from workbench.terminal import html_table
from workbench.wording import counted
from workbench.worker.limits import TIMEOUT
from workbench.worker.parent import JobOptions, Progress, never, worker
from workbench.worker.progress import showing_progress

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack


HANDOVER = ("producer", "consumer", "dtype", "bytes")
_OPEN = re.compile(r"\([\d, ]*[^\d, )][^)]*\)")
"a tensor with a dimension that is not a number"


@dataclass(frozen=True)
class Kernels:
    """The calls of a compiled workload. All counts are whole numbers."""

    rows: tuple[Mapping[str, Any], ...] = field(repr=False)
    "one row a call, in execution order"
    target: str
    config: Config
    build_seconds: float
    "of a Relay build less than TVM alone takes: what FoldConstant compiles again for an equal kernel is compiled once"
    answer: Mapping[str, Any] = field(default_factory=dict, repr=False)
    "the rest of the child process's answer: the graph, the handovers, the available forms of code"
    fetch: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    "returns the code of the whole library in a form"

    @property
    def calls(self) -> int:
        """Entries of the executor in one run, including reshapes without a copy; see `noops`."""
        return len(self.rows)

    @property
    def noops(self) -> int:
        """Calls that run no code."""
        return sum(row["noop"] for row in self.rows)

    @property
    def copies(self) -> int:
        """Calls that copy from one device to another."""
        return sum(row["kind"] == "copy" for row in self.rows)

    @property
    def functions(self) -> int:
        """Distinct compiled functions that are called; identical ones are shared."""
        return len(self._functions)

    @property
    def launches(self) -> int:
        """Launches of device kernels in one run; on a CPU one for each call that computes. See `launches_exact`."""
        return sum(row["launches"] for row in self.rows)

    @property
    def launches_exact(self) -> bool:
        """False where `launches` is a lower bound; `notes` gives the reason."""
        return all(row["launches_exact"] for row in self.rows)

    @property
    def traffic_bytes(self) -> int:
        """Bytes that the calls read and write, summed over calls."""
        return sum(row["bytes_read"] + row["bytes_written"] for row in self.rows if not row["noop"])

    @property
    def peak_bytes(self) -> int | None:
        """The most bytes that the executor holds at once, as `wb.memory` plans them; None if the plan is not exact."""
        return self.answer.get("peak_bytes")

    @property
    def flops(self) -> int | None:
        """Floating-point operations of one run; None if those of any call are unknown."""
        each = [row.get("flops") for row in self.rows]
        return None if None in each else sum(value for value in each if value is not None)

    @cached_property
    def graph(self) -> Graph:
        """The module that went to code generation: a kernel is a group around the operators it computes.

        Raises
        ------
        MeasureError
            Another process made the build, and its graph was not kept.
        """
        if "graph" not in self.answer:
            raise MeasureError("these counts were read back without their graph; wb.kernels makes them with it")
        return Graph.from_data(self.answer["graph"])

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for each call, in execution order; `flops` is NA if unknown or too large for 64 bits."""
        import pandas as pd

        table = pd.DataFrame(list(self.rows))
        whole = [name for name in ("flops", "group") if name in table]
        return table.assign(**{name: column(row.get(name) for row in self.rows) for name in whole})

    @cached_property
    def handovers(self) -> pd.DataFrame:
        """Return the values that one call writes and another reads: producer, consumer, dtype, bytes.

        Calls are given by their index, an input or an output of the program as -1. A value that two calls read has two
        rows. A no-op is neither producer nor consumer.
        """
        import pandas as pd

        return pd.DataFrame([tuple(row) for row in self.answer.get("handovers", ())], columns=list(HANDOVER))

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a sentence for each number that is not exact."""
        found = []
        for function in sorted({row["function"] for row in self.rows if not row["launches_exact"]}):
            kind = next(row["kind"] for row in self.rows if row["function"] == function)
            why = "another compiler made it" if kind == "external" else "its host part launches in a loop or a library"
            found.append(f"launches are a lower bound: of {function} only the least is known, {why}")
        tensors = (tensor for row in self.rows for tensor in (*row.get("inputs", ()), *row.get("outputs", ())))
        open = sorted({tensor for tensor in tensors if _OPEN.match(tensor)})
        if open:
            found.append(
                f"bytes are a lower bound: {', '.join(open)} count as none, with a dimension that is open; give it a value with shapes=, or load the model with inputs="
            )
        unknown = sorted({row["op"] for row in self.rows if row.get("flops", 0) is None})
        if unknown:
            why = "on the dimensions that are open" if open else "on how it is carried out"
            found.append(f"flops are unknown: how many {', '.join(unknown)} takes depends {why}")
        return tuple(found)

    def _repr_html_(self) -> str:
        names = ("function", "op", "kind", "index", "launches", "bytes_read", "bytes_written", "flops", "rule")
        rows = ({name: row.get(name) for name in names} for row in self.rows)
        return html_table(
            f"{counted(self.calls, 'call')} of {counted(self.functions, 'function')} for {self.target}", rows
        )

    def call_of(self, place: int | Node | Group) -> list[int]:
        """Return the calls that compute a node of `graph` (a Node or its id), or that a group is or contains."""
        if isinstance(place, Group):
            inside = {n.id for n in self.graph.nodes if place in self.graph.ancestors(n.group)}
        else:
            inside = {place.id if isinstance(place, Node) else place}
        return [row["index"] for row in self.rows if not inside.isdisjoint(row["nodes"])]

    def nodes_of(self, index: int) -> list[int]:
        """Return the nodes of `graph` that a call computes."""
        return list(self.rows[index]["nodes"])

    def forms(self, name: str | None = None) -> tuple[str, ...]:
        """Return the forms in which a function's code can be shown, the target's own first."""
        if name is not None:
            self._check_name(name)
        return tuple(self.answer.get("forms", ()))

    def source(self, name: str, form: str | None = None) -> str:
        """Return the generated code of one function.

        Parameters
        ----------
        form
            One of `forms()`: `llvm`, `asm`, `c`, `cuda`, `ptx`, `tir`; the target's own by default.

        Raises
        ------
        UnknownName
            No call runs that function, or the target has no such form.
        MeasureError
            The code cannot be made here; the message gives the missing part.
        """
        self._check_name(name)
        form = form or next(iter(self.forms()), "")
        if form not in self.forms():
            raise UnknownName("form of code", form, self.forms())
        if self.fetch is None:
            raise MeasureError("these counts were read back without their code; wb.kernels makes them with it")
        return function_in(self.fetch(form), form, name)

    def _check_name(self, name: str) -> None:
        if name not in self._functions:
            raise UnknownName("kernel", name, sorted(self._functions))

    @property
    def _functions(self) -> set[str]:
        kinds = ("kernel", "external")
        return {row["function"] for row in self.rows if row.get("kind", "kernel") in kinds and not row["noop"]}


def kernels(
    workload: Workload,
    target: TargetLike = "llvm",
    opt_level: int = 3,
    disabled: Sequence[str] = (),
    required: Sequence[str] = (),
    config: Mapping[str, Any] | Config | None = None,
    *,
    entry: str | None = None,
    shapes: Shapes | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] = never,
) -> Kernels:
    """Build in the child process, with code generation, and count. `cuda` needs neither a GPU nor nvcc.

    Parameters
    ----------
    target
        As TVM writes it; plain `llvm` gets this host's `-mcpu`, which `Kernels.target` shows.
    disabled, required
        Pass names for the PassContext.
    config
        PassContext config, `{"relay.FuseOps.max_depth": 4}`; or a whole Config, such as one with tuned schedules, instead of
        all of these.
    entry, shapes
        The function to run and the sizes to run it with, as `wb.load` takes them.

    Raises
    ------
    MeasureError, WorkerLost
        The build failed, or ended its process.

    Examples
    --------
    >>> w = wb.samples.load("parallel_cast")
    >>> built = wb.kernels(w)
    >>> built.launches, list(built.table["name"])
    (5, ['lv', 'lv', 'lv1', 'lv6', 'gv'])
    """
    workload = workload_of(workload, "kernels")
    how = context_of(opt_level, disabled, required, config)
    chosen_one = choose_entry(workload, entry, shapes)
    with showing_progress(progress, f"Building {workload.name}") as report:
        return kernels_config(chosen_one, how, target, timeout=timeout, progress=report, cancelled=cancelled)


def kernels_config(
    workload: Workload, config: Config, target: TargetLike = "llvm", **how: Unpack[JobOptions]
) -> Kernels:
    """Build under a Config and count; if it has a pipeline, `workload` is the pipeline's result."""
    check_config(workload, config)
    asked = {"target": target_text(target), "config": config.context().to_data()}

    def run(job: str, **more: Any) -> dict[str, Any]:
        return worker().run(job, workload, {**asked, **more}, **how)

    codes: dict[str, str] = {}

    def fetch(form: str) -> str:
        if form not in codes:
            codes[form] = run("code", form=form)["code"]
        return codes[form]

    return from_result(run("kernels"), config, fetch)


def from_result(result: Mapping[str, Any], how: Config, fetch: Callable[[str], str] | None = None) -> Kernels:
    """Return the Kernels of an answer of the child process."""
    return Kernels(tuple(result["calls"]), result["target"], how, result["build_seconds"], result, fetch)


# The start and end of a definition, and the spelling of a name, in each form. Current TVM puts `__tvm_ffi_` before an entry
# point's name and `_compute_` after the function that does the work; a device kernel's name ends in `_kernel` and a number.
_BLOCKS = {
    "llvm": re.compile(r"^define [^\n]*?@(?P<name>[\w.]+)\(.*?(?:^}|\Z)", re.MULTILINE | re.DOTALL),
    "asm": re.compile(
        r"^(?P<name>[A-Za-z_][\w.]*):(?:(?!^[A-Za-z_][\w.]*:).)*?^\.Lfunc_end\d+:[^\n]*$", re.MULTILINE | re.DOTALL
    ),
    "c": re.compile(r"^[^\n#/{}(]*\b(?P<name>\w+)\([^;{(]*\)\s*\{.*?(?:^}|\Z)", re.MULTILINE | re.DOTALL),
    "cuda": re.compile(
        r'^extern "C" __global__ [^\n;{]*?\b(?P<name>(?!__launch_bounds__)\w+)\([^\n;{(]*\)\s*\{.*?(?:^}|\Z)',
        re.MULTILINE | re.DOTALL,
    ),
    "ptx": re.compile(r"^\.visible \.entry (?P<name>\w+)\(.*?(?:^}|\Z)", re.MULTILINE | re.DOTALL),
    "tir": re.compile(r"^@T\.prim_func[^\n]*\ndef (?P<name>\w+)\(.*?(?=\n\S|\Z)", re.MULTILINE | re.DOTALL),
}
_BEHIND = r"(?:_compute_|_kernel(?:_\d+)?)?"
_SYMBOL = re.compile(r"[A-Za-z_][\w.]*")


def function_in(code: str, form: str, name: str) -> str:
    """Return the definitions of one function, with those only it refers to; all the code if none is found."""
    blocks = {found["name"]: found.group() for found in _BLOCKS[form].finditer(code)}
    own = re.compile(rf"(?:__tvm_ffi_)?{re.escape(name)}{_BEHIND}")
    roots = [each for each in blocks if own.fullmatch(each)]
    kept = dict.fromkeys(roots)
    waiting = list(roots)
    while waiting:
        for symbol in _SYMBOL.findall(blocks[waiting.pop()]):
            # the parts that run on other threads have other names
            if symbol in blocks and symbol not in kept and symbol.startswith(("__tvm_parallel_lambda", ".", "__")):
                kept[symbol] = None
                waiting.append(symbol)
    return "\n\n".join(blocks[each] for each in kept) or code
