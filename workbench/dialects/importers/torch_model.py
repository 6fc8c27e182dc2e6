"""PyTorch programs: the accepted objects, and why no files are accepted.

Both of PyTorch's formats for whole programs can run their author's code when opened: `torch.export.load` unpickles the
program's example inputs and constants and evaluates its symbolic dimensions as Python, and PyTorch's security policy
advises to treat TorchScript files as programs. A live object was made by the user's own code, so it is safe to inspect.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

from workbench.dialects.importers.converting import needed
from workbench.errors import LoadError, reason_of

SUFFIXES = (".pt", ".pth", ".pt2", ".ts", ".torchscript")
"of files that hold pickles"


def refuse_file(path: Path) -> NoReturn:
    """Raise a LoadError that describes what to do with a file of PyTorch's."""
    raise LoadError(
        f"{path.name} may run its author's code when it is opened, so it is not opened; if you trust it, open it with torch yourself and "
        "load the result, wb.load(torch.export.load(file)) or wb.load(torch.jit.load(file)), or export it to ONNX, which is data only"
    )


def kind_of(source: Any) -> str | None:
    """Return `exported`, `script` or `module`; None for an object that is not PyTorch's. Imports nothing."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    if isinstance(source, torch.export.ExportedProgram):
        return "exported"
    if isinstance(source, torch.jit.ScriptModule):
        return "script"
    return "module" if isinstance(source, torch.nn.Module) else None


def examples(inputs: Mapping[str, Any] | Sequence[Any] | None, what: str) -> tuple[Any, ...]:
    """Return tensors to trace a module with: ones of float32 for a shape, otherwise the given array or tensor.

    Raises LoadError: there are none.
    """
    import numpy as np
    import torch

    if not inputs:
        raise LoadError(
            f"a {what} does not describe its inputs; give shapes or example tensors, wb.load(model, inputs=[(1, 3, 224, 224)])"
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


def write_onnx(program: Any, path: Path) -> None:
    """Write a program of torch.export as an ONNX file, by PyTorch's exporter; its weights are in a file next to it.

    Raises LoadError: onnxscript is not installed, or the exporter refuses the program.
    """
    import torch

    needed("onnxscript", "simplify", "writing a PyTorch program as ONNX")
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            torch.onnx.export(program, f=str(path), dynamo=True, verbose=False)
    except Exception as error:  # noqa: BLE001  the exporter raises errors of many kinds
        raise LoadError(
            f"PyTorch cannot write the program as ONNX: {reason_of(error)}; write the file with torch.onnx.export, and give its path"
        ) from None


def evaluating(module: Any) -> Any:
    """Return the module itself.

    Raises LoadError: it is in training mode, where dropout and batch norm compute something else.
    """
    if module.training:
        raise LoadError(
            "the model is in training mode; call model.eval() first, so that dropout and batch norm are what they are in use"
        )
    return module
