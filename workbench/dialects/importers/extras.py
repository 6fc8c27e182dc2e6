"""Packages that only an importer needs: optional, and named when they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from workbench.errors import LoadError


def needed(package: str, extra: str, purpose: str) -> Any:
    """The package, imported.

    Raises
    ------
    LoadError
        It is not installed; the sentence says which extra brings it.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        raise LoadError(
            f"{purpose} needs the package {package.partition('.')[0]}; pip install 'tvm-workbench[{extra}]'"
        ) from None
