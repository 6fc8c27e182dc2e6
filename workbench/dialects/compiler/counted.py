"""The calls of a build in the same terms for every dialect, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.tensors import Tensor

OK, FAILED, OPEN, NOT_BUILT = "ok", "failed", "lower bound", "not built"
"""status of counts: TVM builds the program; it does not; it does, and tensors with open dimensions count no bytes; only a build shows
whether it does, and the workbench makes none"""
GIVE_SIZES = "give the open dimensions values with shapes=, or load the model with inputs="
OUTSIDE = -1
"in place of a call: an input of the program, or its result"


@dataclass(frozen=True)
class Call:
    """One entry of the executor."""

    name: str
    function: str
    "the compiled function; calls of one name run the same code"
    kind: str
    "`kernel`, `noop` (the same memory under another shape), `copy` (between devices), `external` (an offloaded region)"
    inputs: tuple[Tensor, ...]
    "tensors that it reads: of a tuple, the fields that it uses"
    sources: tuple[int, ...]
    "for each input the call that produces it, or OUTSIDE"
    outputs: tuple[Tensor, ...]

    def row(self, index: int, launches: int, exact: bool) -> dict[str, Any]:
        """Return the call as a row of `wb.kernels`."""
        return {
            "index": index,
            "name": self.name,
            "function": self.function,
            "kind": self.kind,
            "noop": self.kind == "noop",
            "launches": launches,
            "launches_exact": exact,
            "bytes_read": sum(tensor.nbytes for tensor in self.inputs),
            "bytes_written": sum(tensor.nbytes for tensor in self.outputs),
            "inputs": [text(tensor) for tensor in self.inputs],
            "outputs": [text(tensor) for tensor in self.outputs],
        }


@dataclass(frozen=True)
class Program:
    """The calls of one run, in order, and its results."""

    calls: tuple[Call, ...]
    results: tuple[tuple[int, Tensor], ...]
    "the call that produces each result, or OUTSIDE, and its type"
    failing: str = ""
    "the reason why no build of it runs"
    unbuilt: str = ""
    "the reason why no build was made, where only a build shows whether one runs"

    def rows(self, launches: Mapping[str, tuple[int, bool]] | None) -> list[dict[str, Any]]:
        """Return the calls as rows of `wb.kernels`.

        Parameters
        ----------
        launches
            Function -> the number of device kernels that a call of it launches, and whether that is exact. None without
            a separate device: then each kernel is one launch.
        """
        return [call.row(place, *_launched(call, launches)) for place, call in enumerate(self.calls)]

    def handovers(self) -> list[tuple[int, int, str, int]]:
        """Return the producer, consumer, data type and bytes of every tensor that a call reads or the program returns.

        A no-op passes its input on, so it is neither producer nor consumer. A value that is read twice is listed twice.
        """
        read = [
            (self._writer(source), place, tensor)
            for place, call in enumerate(self.calls)
            if call.kind != "noop"
            for source, tensor in zip(call.sources, call.inputs, strict=True)
        ]
        given = [(self._writer(source), OUTSIDE, tensor) for source, tensor in self.results]
        return [(producer, consumer, tensor.dtype, tensor.nbytes) for producer, consumer, tensor in read + given]

    def counts(self) -> dict[str, Any]:
        """Return the integer counts that need no generated code, as `wb.count` returns them."""
        kinds = Counter(call.kind for call in self.calls)
        between: Counter[str] = Counter()
        for producer, consumer, dtype, size in self.handovers():
            if OUTSIDE not in (producer, consumer):
                between[dtype] += size
        working = [call for call in self.calls if call.kind != "noop"]
        return {
            "calls": len(self.calls),
            "functions": len({call.function for call in self.calls if call.kind in ("kernel", "external")}),
            "noops": kinds["noop"],
            "copies": kinds["copy"],
            "traffic_bytes": sum(t.nbytes for call in working for t in (*call.inputs, *call.outputs)),
            "handover_bytes": dict(sorted(between.items())),
            **self._status([t for call in working for t in (*call.inputs, *call.outputs)]),
        }

    def _status(self, tensors: Sequence[Tensor]) -> dict[str, str]:
        open = sorted({text(tensor) for tensor in tensors if not tensor.known})
        if self.failing:
            return {"status": FAILED, "reason": self.failing}
        if self.unbuilt:
            return {"status": NOT_BUILT, "reason": self.unbuilt}
        if open:
            return {"status": OPEN, "reason": f"{', '.join(open[:3])} count as no bytes; {GIVE_SIZES}"}
        return {"status": OK, "reason": ""}

    def _writer(self, source: int) -> int:
        while source != OUTSIDE and self.calls[source].kind == "noop":
            source = _first(self.calls[source].sources)
        return source


def _launched(call: Call, launches: Mapping[str, tuple[int, bool]] | None) -> tuple[int, bool]:
    if call.kind in ("noop", "copy"):
        return 0, True
    if call.kind == "external":
        # the launches of another compiler's code are unknown
        return 1, False
    return (1, True) if launches is None else launches.get(call.function, (1, False))


def _first(sources: Sequence[int]) -> int:
    return sources[0] if sources else OUTSIDE


def text(tensor: Tensor) -> str:
    """Return a tensor's text in a row.

    >>> text(Tensor((64,), "int8")), text(Tensor(("n", 4), "float32"))
    ('(64,) int8', '(n, 4) float32')
    """
    tail = "," if len(tensor.shape) == 1 else ""
    return f"({', '.join(map(str, tensor.shape))}{tail}) {tensor.dtype}"
