"""The model of a comparison: what the caller gave, and what the child process of each compiler makes of it.

The Python of another environment runs the jobs of its compiler; nothing of that TVM is imported here.

An ONNX file is converted by each compiler. A Relay program is built by Relay, and Relax builds its translation by `wb.to_relax`, made
from the graph and the arrays that the Relay side wrote. A sample is built in Relay, so both compilers have one program. Without a
Relay side, Relax reads the text and builds the sample by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.dialects import arrays, readers
from workbench.dialects.base import GraphOnly, Shapes, Workload, choose_entry
from workbench.dialects.importers import torch_model
from workbench.dialects.importers.params import read_params
from workbench.dialects.programs import add_sources, read_graph
from workbench.dialects.registry import dialect_of, installed
from workbench.environments.doctor import find
from workbench.errors import LoadError
from workbench.pipeline.load import MODEL, TEXT, Allowance, run_limited, size_of
from workbench.pipeline.spec import is_sample, parse_sample
from workbench.worker.parent import Progress, Worker, worker

ACCEPTED = (
    "an ONNX file or ModelProto, a torch.export program, Relay or TVMScript as text or in a file ending in "
    f"{', '.join((*readers.PASTES, '.py'))}, a Workload, an IRModule, or a sample as 'sample:bert'"
)
ONE_WAY = "this is a Relax program, and there is no translation from Relax to Relay; give the model as ONNX or as Relay"
Params = Mapping[str, Any]


@dataclass(frozen=True)
class Recipe:
    """A job of `jobs/load.py` that makes a program, and its limits."""

    job: str
    arguments: Mapping[str, object]
    size: int
    "bytes of the source"
    allowance: Allowance
    trusted: bool = False
    "the kernels in the program are the user's own"


@dataclass(frozen=True)
class Environment:
    """A compiler, and the Python that runs it."""

    dialect: str
    python: Path | None
    "None for this process's own Python"
    role: str = "builds"
    "of the child process that builds and runs; two sides with one Python have two"

    @staticmethod
    def of(dialect: str, python: Path | None = None, role: str = "builds") -> Environment:
        """Return the environment of a dialect: the given Python, or this one, or the one that is found. Raises SetupError: none has it."""
        if python is None and installed() != dialect:
            python = find(dialect)
        return Environment(dialect, python, role)

    def worker(self, role: str = "") -> Worker:
        """Return the child process for a role, by default the one that builds and runs."""
        return worker(role or self.role, self.python)

    def load(self, recipe: Recipe, name: str, folder: Path, progress: Progress) -> Workload:
        """Make a program in the child process, which writes it into the folder, and return its graph as a Workload that the child can build.

        Raises LoadError: the compiler does not read the model, or its process ended or passed its limits.
        """
        given = {**recipe.arguments, "name": name, "folder": str(folder)}
        answer = run_limited(recipe.job, given, recipe.size, recipe.allowance, progress, self.python)
        if answer["dialect"] != self.dialect:
            raise LoadError(
                f"{self.python} runs a TVM with {answer['dialect']}, not {self.dialect}; give another Python"
            )
        if not answer["saved"]:
            raise LoadError(f"TVM cannot write the {self.dialect} module that it made of {name} to a file")
        made = GraphOnly(
            read_graph(folder), "only a child process has this program; load the model with wb.load", answer["notes"]
        )
        made.trusted = recipe.trusted or answer["trusted"]
        made.shapes = answer.get("shapes", {})
        self.worker().adopt(made, folder)
        return made


@dataclass
class Model:
    """A model that compilers load in their child processes."""

    name: str
    recipe: Recipe
    dialect: str = ""
    "that the program is written in; empty for an ONNX file, and for a sample, which both have"
    onnx: Path | None = None
    "the file that ONNX's reference evaluator runs"
    relay: Path | None = None
    "the folder of the Relay program that Relax translates"
    refused: LoadError | None = None
    "the error of the Relay side"

    def load(self, environment: Environment, folder: Path, progress: Progress) -> Workload:
        """Return the program in a compiler, which writes it into the folder; Relay's first, which Relax translates. Raises LoadError."""
        if self.dialect == "relax" and environment.dialect == "relay":
            raise LoadError(ONE_WAY)
        recipe = self.recipe
        if self.relay is not None and environment.dialect == "relax":
            recipe = Recipe("translated", {"given": str(self.relay)}, _size(self.relay), MODEL, recipe.trusted)
        try:
            made = environment.load(recipe, self.name, folder, progress)
        except LoadError as error:
            if environment.dialect == "relay" and self.onnx is None:
                self.refused = error
            # Relay's error is about the model that the caller gave
            raise self.refused or error from None
        if environment.dialect == "relay" and self.onnx is None:
            self.relay = folder
        return made


def model_of(model: Any, params: Params | str | Path | None, shapes: Shapes, folder: Path) -> Model:
    """Return the model that the caller gave; what a child process needs of it is written into the folder; raises LoadError."""
    if isinstance(params, (str, Path)):
        params = read_params(Path(params))
    elif params is not None:
        params = readers.by_name(params)
        for name, value in params.items():
            if not hasattr(value, "dtype") or not hasattr(value, "shape"):
                raise LoadError(
                    f"the parameter {name:.80} is a {type(value).__name__}; give an array, numpy.asarray(value)"
                )
    text = model.sample if isinstance(model, Workload) else model
    if is_sample(text):
        if params or shapes:
            raise LoadError(f"{text:.80} has its shapes and parameters; leave params and shapes out")
        return Model(parse_sample(text)[0], Recipe("sample", {"text": text}, 0, MODEL))
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        proto: Any = model
        path = folder / f"{re.sub('[^A-Za-z0-9]+', '_', proto.graph.name)[:40] or 'model'}.onnx"
        path.write_bytes(proto.SerializeToString())
        return _onnx(path, params, shapes)
    if torch_model.kind_of(model) == "exported":
        written = folder / "program.onnx"
        torch_model.write_onnx(model, written)
        return _onnx(written, params, shapes)
    path = readers.as_path(model)
    if path is not None:
        return _file(path.expanduser().absolute(), params, shapes, folder)
    if isinstance(model, str):
        return _text(model, "text", params, shapes, folder)
    if isinstance(model, GraphOnly):
        # a text that was read without its TVM; a picture without text has none
        text, metadata = model.text(), f"\n#[metadata]\n{model.metadata}" if model.metadata else ""
        return _text(text + metadata, model.name, params, shapes, folder)
    return _live(model, params, shapes, folder)


def _onnx(path: Path, params: Params | None, shapes: Shapes) -> Model:
    if params:
        raise LoadError("an ONNX model has its weights; leave params out")
    if not path.is_file():
        raise LoadError(f"{path.name} cannot be read: there is no such file; check the path")
    arguments = {"format": "onnx", "inputs": list(shapes.items()), "path": str(path)}
    # an ONNX file has no kernels: those of its program are from TVM's converters
    return Model(path.stem, Recipe("model", arguments, size_of(path), MODEL, trusted=True), onnx=path)


def _file(path: Path, params: Params | None, shapes: Shapes, folder: Path) -> Model:
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        return _onnx(path, params, shapes)
    if suffix in torch_model.SUFFIXES:
        torch_model.refuse_file(path)
    if suffix not in (*readers.PASTES, ".py"):
        raise LoadError(f"compare_compilers takes {ACCEPTED}, not {path.name:.80}")
    return _text(readers.file_text(path), path.stem, params, shapes, folder)


def _text(text: str, name: str, params: Params | None, shapes: Shapes, folder: Path) -> Model:
    """Return the model of a text, which only child processes read."""
    from workbench.dialects.relax.parser.repair import BEGINS
    from workbench.dialects.relay.paste.reading import is_relay, is_script

    is_code = BEGINS.search(text) is not None and not is_relay(text)
    dialect = "relax" if is_code or is_script(text) else "relay"
    sizes = dict(shapes)
    for symbol, size in shapes.items() if dialect == "relax" else ():
        # the command line writes the size of a symbolic dimension as a shape
        sizes[symbol] = size if isinstance(size, int) or len(size) != 1 else size[0]
    given = folder / "given"
    arrays.write(given, params or {})
    arguments = {"text": text, "params": str(given), "shapes": list(sizes.items())}
    return Model(name, Recipe("source", arguments, len(text) + _size(given), TEXT), dialect)


def _live(model: Any, params: Params | None, shapes: Shapes, folder: Path) -> Model:
    """Return the model of a TVM object of this process."""
    kind = torch_model.kind_of(model)
    if kind is not None:
        raise LoadError(f"a PyTorch {kind} is not exported; give torch.export.export(model.eval(), example_inputs)")
    if isinstance(model, Workload):
        workload = choose_entry(model if params is None else replace(model, params=dict(params)), None, shapes)
    elif isinstance(model, tuple) or type(model).__module__.startswith("tvm."):
        workload = readers.load(model, params, shapes=shapes or None)
    else:
        raise LoadError(f"compare_compilers takes {ACCEPTED}, not {model!r:.80}")
    given = folder / "given"
    given.mkdir()
    dialect_of(workload).frontend.dump(workload, given)
    add_sources(workload, given)
    arguments = {"given": str(given), "shapes": list(workload.shapes.items())}
    recipe = Recipe("saved", arguments, _size(given), MODEL, workload.trusted)
    return Model(workload.name, recipe, workload.dialect, relay=given if workload.dialect == "relay" else None)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
