"""PyTorch programs: which objects are taken, and why no files are.

Both of PyTorch's files of whole programs can run code of their author while they are opened: `torch.export.load` unpickles the
program's example inputs and constants and evaluates its symbolic dimensions as Python, and PyTorch's security policy tells
people to treat TorchScript files as programs. A live object was made by the person's own code, so it is safe to look at.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from workbench.errors import LoadError

SUFFIXES = (".pt", ".pth", ".pt2", ".ts", ".torchscript")
"of files that hold pickles"


def refuse_file(path: Path) -> NoReturn:
    """Raise the LoadError that says what to do with a file of PyTorch's."""
    raise LoadError(
        f"{path.name} may run code of whoever made it when it is opened, so it is not; if you trust it, open it with torch yourself and "
        "load what you get, wb.load(torch.export.load(file)) or wb.load(torch.jit.load(file)), or export it to ONNX, which is data only"
    )


def kind_of(source: Any) -> str | None:
    """`exported`, `script` or `module`; None for what is not PyTorch's. Imports nothing."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(source, torch.export.ExportedProgram):
        return "exported"
    if isinstance(source, torch.jit.ScriptModule):
        return "script"
    return "module" if isinstance(source, torch.nn.Module) else None


def examples(inputs: Mapping[str, Any] | Sequence[Any] | None, what: str) -> tuple[Any, ...]:
    """Tensors to trace a module with: a shape gives ones of float32, an array or a tensor gives itself.

    Raises
    ------
    LoadError
        There are none.
    """
    import numpy as np
    import torch

    if not inputs:
        raise LoadError(
            f"a {what} says nothing of its inputs; give shapes or example tensors, wb.load(model, inputs=[(1, 3, 224, 224)])"
        )
    values = inputs.values() if isinstance(inputs, Mapping) else inputs
    made = []
    for value in values:
        if isinstance(value, torch.Tensor):
            made.append(value)
        elif isinstance(value, np.ndarray):
            made.append(torch.from_numpy(value))
        else:
            made.append(torch.ones(tuple(value)))
    return tuple(made)


def evaluating(module: Any) -> Any:
    """The module itself.

    Raises
    ------
    LoadError
        It is in training mode, where dropout and batch norm compute something else.
    """
    if module.training:
        raise LoadError(
            "the model is in training mode; call model.eval() first, so that dropout and batch norm are what they are in use"
        )
    return module
