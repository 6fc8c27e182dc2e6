"""Output, warnings and errors of TVM's converters; an error names the operator and its node."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import re
import threading
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from workbench.analysis.tensors import tensors
from workbench.errors import LoadError, Unconverted, WorkbenchError, reason_of
from workbench.graph.model import Graph, Node
from workbench.wording import counted


class Converting:
    """A block in which a converter of TVM runs.

    Raises Unconverted: the converter raised any error; the message has the operator, the node and the error.
    """

    def __init__(self) -> None:
        self.operator = self.node = ""
        self.contradicted = ""
        "the shapes of inputs= that differ from those of the model, which are the likely cause of an error"
        self.warnings: list[str] = []
        "the warnings, each once, when the block has ended"
        self._open = contextlib.ExitStack()
        self._caught: list[warnings.WarningMessage] = []
        self._logged = _Kept()

    def now(self, operator: str, node: str) -> None:
        """Record the operator and node that are being converted."""
        self.operator, self.node = operator, node

    def __enter__(self) -> Converting:
        caught = self._open.enter_context(warnings.catch_warnings(record=True))
        self._caught = [] if caught is None else caught
        warnings.simplefilter("always")
        self._open.enter_context(contextlib.redirect_stdout(io.StringIO()))
        self._open.enter_context(self._logged)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        lines = [_worth(text) for text in (*(str(caught.message) for caught in self._caught), *self._logged.texts)]
        self.warnings = list(dict.fromkeys(filter(None, lines)))
        if isinstance(error, Exception) and not isinstance(error, WorkbenchError):
            at = f"{self.operator[:LONGEST]} (node {self.node[:LONGEST]!r})" if self.operator else "the model"
            failed = f"TVM cannot convert {at}: {reason_of(error)}"
            if self.contradicted:
                raise Unconverted(f"{self.contradicted}; {failed}") from None
            raise Unconverted(
                f"{failed}; replace it in the model, or give the shapes of the inputs with inputs="
            ) from None


class _Kept(logging.Handler):
    """Keeps the messages that TVM's importers log in this thread while it is entered; a notebook shows them in red."""

    _lock = threading.Lock()
    _entered = 0
    "handlers that are entered now, in any thread"
    _propagated = True
    "whether the logger propagated before the first of them was entered"

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []
        self._thread = 0
        self._logger = logging.getLogger("Frontend")

    def __enter__(self) -> _Kept:
        self._thread = threading.get_ident()
        with _Kept._lock:
            if _Kept._entered == 0:
                _Kept._propagated = self._logger.propagate
            _Kept._entered += 1
            self._logger.addHandler(self)
            self._logger.propagate = False
        return self

    def __exit__(self, *_: object) -> None:
        with _Kept._lock:
            _Kept._entered -= 1
            self._logger.removeHandler(self)
            if _Kept._entered == 0:
                self._logger.propagate = _Kept._propagated

    def emit(self, record: logging.LogRecord) -> None:
        if threading.get_ident() == self._thread:
            self.texts.append(record.getMessage())


def _worth(warning: str) -> str:
    """Return the first line of a useful warning; empty for one that repeats a note of ours or names a renaming."""
    line = next(iter(warning.strip().splitlines()), "")
    return (
        "" if "unknown dimension shapes" in line or line.startswith("Renaming name") or "deprecated" in line else line
    )


_RANDOM = re.compile(r"(?:aten::)?(?:rand\w*|(?:normal|uniform|bernoulli|multinomial)_?)(?:\.\w+)?", re.IGNORECASE)
"an operator of ONNX or PyTorch that draws random numbers"
SHOWN = 3
"nodes named for each operator"
LONGEST = 200
"characters of a name"


def refuse(found: Iterable[tuple[str, str]], supported: Collection[str], what: str) -> None:
    """Raise an error unless all (operator, node) pairs are supported.

    Raises Unconverted: lists every unsupported operator, its number of nodes, and the first of them.
    """
    missing = [(op, node) for op, node in found if op not in supported]
    if missing:
        many = len({op for op, _ in missing})
        raise Unconverted(
            f"TVM here cannot convert {many} of the model's {what}: {_listed(missing)}; replace them in the model, or export a part without them"
        )


def drawn_once(found: Iterable[tuple[str, str]]) -> list[str]:
    """Return a note about the random operators among (operator, node) pairs: TVM's importers fix their values.

    >>> drawn_once([("aten::randn", "noise"), ("LayerNormalization", "norm")])
    ["the model draws random numbers: aten::randn (once: 'noise'); the imported program has the same ones in each run"]
    """
    random = [(op, node) for op, node in found if _RANDOM.fullmatch(op)]
    said = f"the model draws random numbers: {_listed(random)}; the imported program has the same ones in each run"
    return [said] if random else []


def wrong_outputs(declared: Sequence[tuple[str, Sequence[int | None] | None]], graph: Graph) -> list[str]:
    """Return a note about outputs that the import gives another shape than the model declares; None is unknown."""
    imported = [each.shape for id in graph.outputs for each in tensors(graph.nodes[id].type)]
    if len(imported) != len(declared):
        return []
    pairs = zip(declared, imported, strict=True)
    return wrong_shapes((f"the output {name}", ours, theirs) for (name, theirs), ours in pairs if theirs is not None)


def wrong_shapes(compared: Iterable[tuple[str, Sequence[int | str], Sequence[int | None]]]) -> list[str]:
    """Return a note about the first value whose shape as imported is not that of the model.

    >>> wrong_shapes([("the output y", (1, "?", 2), (1, 4, None)), ("the output z", (1, 2), (1, 3)), ("the output u", (), (1,))])
    ["TVM imports the output z as 1 x 2, and in the model it is 1 x 3 (and 1 more): the outputs are not the model's"]
    """
    wrong = [
        (name, ours, theirs)
        for name, ours, theirs in compared
        if len(ours) != len(theirs)
        or any(isinstance(a, int) and b is not None and a != b for a, b in zip(ours, theirs, strict=True))
    ]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return [
        f"TVM imports {name[:LONGEST]} as {_sizes(ours)}, and in the model it is {_sizes(theirs)}{more}: the outputs are not the model's"
        for name, ours, theirs in wrong[:1]
    ]


def _sizes(shape: Sequence[int | str | None]) -> str:
    return " x ".join("?" if size is None else str(size) for size in shape) or "a scalar"


def _listed(found: Iterable[tuple[str, str]]) -> str:
    places: dict[str, list[str]] = {}
    for op, node in found:
        places.setdefault(op, []).append(node)
    listed: list[str] = []
    for op, nodes in sorted(places.items()):
        named = ", ".join(repr(node[:LONGEST]) for node in nodes[:SHOWN] if node)
        more = ", ..." if len(nodes) > sum(map(bool, nodes[:SHOWN])) else ""
        count = f"{len(nodes)} times" if len(nodes) > 1 else "once"
        listed.append(f"{op[:LONGEST]} ({count}{named and f': {named}{more}'})")
    return "; ".join(listed)


_SHAPELESS = re.compile(r"R\.Tensor\((?!\()")
"a tensor of Relax without a shape"
Inputs = Mapping[str, Any] | Sequence[Any] | None


def shapes(inputs: Inputs, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Return input name -> shape. Raises LoadError: there are more shapes than inputs, or one is not a shape."""
    given = dict(inputs) if isinstance(inputs, Mapping) else dict(enumerate(inputs or ()))
    if len(given) > len(names):
        raise LoadError(f"{counted(len(given), 'input')} given, and the model has {len(names)}: {', '.join(names)}")
    found: dict[str, tuple[int, ...]] = {}
    for key, value in given.items():
        try:
            sizes = tuple(int(size) for size in getattr(value, "shape", value))
        except (TypeError, ValueError):
            raise LoadError(
                f"{value!r} is not a shape for the input {key!r}; give numbers, (1, 128), or an array"
            ) from None
        if any(size < 1 for size in sizes):
            raise LoadError(f"{sizes} is not a shape for the input {key!r}: each dimension has to be at least 1")
        found[key if isinstance(key, str) else names[key]] = sizes
    return found


def unknown_shapes(graph: Graph) -> list[Node]:
    """Return the operators whose result has an unknown shape though the shape of each input is known.

    >>> from workbench.graph.model import GraphBuilder
    >>> b = GraphBuilder("one", "relay")
    >>> node = b.node("op", "argwhere", (b.node("param", "x", type="Tensor[(3), float32]"),), type="Tensor[(?, 1), int32]")
    >>> [node.op for node in unknown_shapes(b.build())]
    ['argwhere']
    """
    types = {node.type for node in graph.nodes}
    types = {type for type in types if _SHAPELESS.search(type) or not all(each.known for each in tensors(type))}
    unknown = [node for node in graph.nodes if node.type in types]
    return [] if any(node.kind == "param" for node in unknown) else [node for node in unknown if node.kind == "op"]


def needed(package: str, extra: str, purpose: str) -> Any:
    """Import and return a package.

    Raises LoadError: it is not installed; the message names the extra that installs it.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        raise LoadError(
            f"{purpose} needs the package {package.partition('.')[0]}; pip install 'tvm-workbench[{extra}]'"
        ) from None
