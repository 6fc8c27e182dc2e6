"""The Python of the environment whose TVM has a dialect, among those that `tvm-workbench doctor` lists and those beside this one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from glob import escape
from pathlib import Path

from workbench.environments import SetupError
from workbench.environments.doctor import answer, environments, jupyter_kernels, start_probe


@cache
def find(dialect: str) -> Path:
    """Return the Python of the first environment with the dialect; each is asked in a process of its own.

    Raises
    ------
    SetupError
        None has it.
    """
    asked = list(_pythons())
    for python in asked:
        found = answer(start_probe(python))
        if not isinstance(found, str) and found.get("dialect") == dialect and "error" not in found:
            return python
    raise SetupError(
        f"none of {len(asked)} other Python environments here has a TVM with {dialect}; `tvm-workbench doctor` lists them; "
        f"make one, or give its Python, wb.Compiler({dialect!r}, python=path)"
    )


def _pythons() -> Iterator[Path]:
    """Yield the Pythons of other environments, each once: registered kernels, then those beside this one with a name like its name.

    Any other folder beside it, such as one in a folder for downloads, may hold a Python that came from elsewhere: it is not started.
    """
    here = Path(sys.prefix)
    alike = f"{escape(here.name.partition('-')[0])}*/pyvenv.cfg"
    near = (marker.parent / "bin" / "python" for marker in sorted(here.parent.glob(alike)))
    seen = {Path(sys.executable).resolve().parent, Path(sys.executable).parent}
    for python in (*environments(jupyter_kernels()), *near):
        if python.parent not in seen and python.parent.resolve() not in seen:
            seen |= {python.parent, python.parent.resolve()}
            yield python
