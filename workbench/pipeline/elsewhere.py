"""A model in a compiler of another environment, whose Python runs the jobs; nothing of its TVM is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.dialects.base import GraphOnly, Workload
from workbench.dialects.programs import read_graph
from workbench.dialects.registry import installed
from workbench.environments.doctor import find
from workbench.errors import LoadError, from_data
from workbench.pipeline.load import Allowance, run_limited
from workbench.worker.parent import Progress, Worker, worker


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
        """Return the environment of a dialect: the given Python, or this one, or the one that is found.

        Raises SetupError: no environment has the dialect.
        """
        if python is None and installed() != dialect:
            python = find(dialect)
        return Environment(dialect, python, role)

    def worker(self, role: str = "") -> Worker:
        """Return the child process for a role, by default the one that builds and runs."""
        return worker(role or self.role, self.python)

    def load(self, recipe: Recipe, name: str, folder: Path, progress: Progress) -> Workload:
        """Make a program in the child process, and return its graph as a Workload that the child can build.

        `folder`: where the child writes the program; the Workload can be built while the folder is there. Raises
        LoadError: the compiler does not read the model, or its process ended or passed its limits.
        """
        given = {**recipe.arguments, "name": name, "folder": str(folder)}
        answer = run_limited(recipe.job, given, recipe.size, recipe.allowance, progress, self.python)
        if "error" in answer:
            raise from_data(answer["error"])
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
