"""A report on this machine, one line a finding. Never raises: the report has a line for anything unreadable."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from glob import escape
from pathlib import Path

from workbench.environments import SetupError
from workbench.environments.relay import default_prefix
from workbench.temporary import new_folder

PROBE = Path(__file__).parent / "probe.py"
SECONDS = 30
"The longest wait for one environment."
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def report() -> Iterator[str]:
    """Yield the lines."""
    kernels = jupyter_kernels()
    # Start all before waiting for the first: each imports its TVM, which takes a second or so.
    probes = [(name, python, start_probe(python)) for python, name in environments(kernels).items()]
    for name, python, process in probes:
        yield _line(name, f"{_environment(process)} [{python}]")
    others = _other_owners()
    if others:
        yield _line("WARNING", others)
    yield _line("CUDA compiler", _version(["nvcc", "--version"], "no nvcc", last=True))
    yield _line("CUDA device", _device())
    yield _line("dot", _version(["dot", "-V"], "not found: apt-get install graphviz (static pictures need it)"))
    browser = next((name for name in BROWSERS if shutil.which(name)), "chromium")
    yield _line("browser", _version([browser, "--version"], "not found: apt-get install chromium (tests need it)"))
    yield _line(
        "JupyterLab",
        _version([str(Path(sys.executable).parent / "jupyter-lab"), "--version"], "not found in this environment"),
    )
    yield _line("kernels", ", ".join(kernels) or "none registered")


def environments(kernels: Mapping[str, Path]) -> dict[Path, str]:
    """Return the name of each known environment by its Python, this one first."""
    found = {Path(sys.executable): "this environment"}
    for name, python in kernels.items():
        found.setdefault(python, name)
    own = default_prefix() / "bin" / "python"
    if own.exists():
        found.setdefault(own, "install-relay")
    return found


def jupyter_kernels() -> dict[str, Path]:
    """Return the Python of each registered kernel, by the name that JupyterLab shows."""
    data = os.environ.get("JUPYTER_DATA_DIR") or Path.home() / ".local" / "share" / "jupyter"
    named = [Path(part) for part in os.environ.get("JUPYTER_PATH", "").split(os.pathsep) if part]
    folders = [*named, Path(data), Path(sys.prefix) / "share" / "jupyter", Path("/usr/local/share/jupyter")]
    found: dict[str, Path] = {}
    for folder in folders:
        for file in sorted(folder.glob("kernels/*/kernel.json")):
            try:
                kernel = json.loads(file.read_text())
                # Jupyter itself uses its own Python where a kernel's command is just "python".
                python = Path(sys.executable if kernel["argv"][0].startswith("python") else kernel["argv"][0])
                if kernel.get("language") == "python":
                    found.setdefault(kernel["display_name"], python)
            except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
                found.setdefault(f"{file.parent.name} (kernel.json can not be read)", Path(sys.executable))
    return found


def variables() -> dict[str, str]:
    """Return the environment variables for another environment's Python, without this one's path and warnings."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONWARNINGS")}


def start_probe(python: Path) -> subprocess.Popen[str] | None:
    """Start the probe of an environment; None if its Python cannot be started."""
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen([python, PROBE], stdout=pipe, stderr=pipe, text=True, env=variables(), cwd=new_folder())
    except (OSError, ValueError):  # a name with a NUL byte
        return None


def answer(process: subprocess.Popen[str] | None) -> dict[str, str] | str:
    """Return the facts that a probe found, or the reason for none."""
    if process is None:
        return "its Python is missing: make it again"
    try:
        output, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"no answer in {SECONDS} s"
    try:
        return json.loads(output.splitlines()[-1])
    except (ValueError, LookupError):
        return f"ended with status {process.returncode} ({(errors.splitlines() or ['no message'])[-1]})"


def _environment(process: subprocess.Popen[str] | None) -> str:
    found = answer(process)
    if isinstance(found, str):
        return found
    if "error" in found:
        return f"Python {found['python']}, TVM can not be imported ({found['error']})"
    if "tvm" not in found:
        return f"Python {found['python']}, no TVM"
    dialect = found["dialect"] or "neither relay nor relax"
    llvm = f"LLVM {found['llvm']}" if found["llvm"] else "no LLVM"
    return f"Python {found['python']}, TVM {found['tvm']} with {dialect}, {llvm}, CUDA: {found['cuda']}"


def _other_owners() -> str:
    """Return a warning if other distributions own the import name `workbench`; "" if none does."""
    try:
        owners = importlib.metadata.packages_distributions().get("workbench", [])
    except Exception as error:  # noqa: BLE001 - a damaged distribution raises anything
        return f"the installed packages can not be read ({type(error).__name__})"
    others = sorted({name for name in owners if re.sub(r"[-_.]+", "-", name).lower() != "tvm-workbench"})
    if not others:
        return ""
    return f"{', '.join(others)} installs a package named workbench too: uninstall it, or use another environment"


def _device() -> str:
    """Ask the driver itself for the device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "none (no NVIDIA driver: libcuda.so.1 was not found); CUDA times cannot be measured"
    count = ctypes.c_int(0)
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status != 0 or count.value == 0:
        return f"none (the driver answers {status})"
    name = ctypes.create_string_buffer(100)
    driver.cuDeviceGetName(name, 100, 0)
    return f"{count.value} x {name.value.decode(errors='replace')}"


def _version(command: list[str], missing: str, *, last: bool = False) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=new_folder())
    except (OSError, subprocess.TimeoutExpired):
        return missing
    lines = (result.stdout + result.stderr).strip().splitlines() or ["no version printed"]
    return f"{lines[-1] if last else lines[0]} [{shutil.which(command[0])}]"


def _line(what: str, found: str) -> str:
    return f"{what!s:18} {found}"


@cache
def find(dialect: str) -> Path:
    """Return the Python of the first environment with the dialect; each is asked in a process of its own. Raises SetupError: none has it."""
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
