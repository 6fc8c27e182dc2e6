"""The parts without TVM work on macOS and Windows: no part of it needs a module or a function that only Linux has.

Simulated, as far as one can on Linux: the modules and functions are missing, `sys.platform` differs, and the files of
`/proc` are not there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.graph.model import GraphBuilder
from workbench.pipeline.step import State, Step
from workbench.pipeline.trace import Trace

TEXT = Path(__file__).parents[1] / "pastes" / "casts.txt"
LINUX_ONLY = "os: sched_getaffinity sched_setaffinity pidfd_open memfd_create posix_fadvise"
POSIX_ONLY = (
    "os: fork forkpty killpg setsid getuid geteuid getgid getpgid setpgid wait4 mkfifo openpty fchmod\n"
    "signal: SIGKILL SIGCHLD SIGHUP SIGALRM SIGUSR1 alarm setitimer pthread_sigmask siginterrupt"
)
SYSTEMS = {
    "darwin": ([], LINUX_ONLY),
    "win32": (["fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog"], f"{LINUX_ONLY}\n{POSIX_ONLY}"),
}
PROGRAM = """
import builtins, importlib, io, json, os, pathlib, signal, sys
# The other libraries' own support of the system is theirs; they are imported before it changes.
for name in ("anywidget", "asyncio", "graphviz", "ipywidgets", "matplotlib.pyplot", "multiprocessing.connection", "networkx",
             "numpy", "pandas", "socket", "sqlite3", "subprocess", "tempfile", "webbrowser"):
    importlib.import_module(name)
system, refused, missing = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name in refused or name.split(".")[0] == "tvm":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
for name in refused:
    sys.modules.pop(name, None)
for line in missing.splitlines():
    module, _, names = line.partition(": ")
    for name in names.split():
        vars(sys.modules[module]).pop(name, None)

def without_proc(function):
    def open_file(file, *arguments, **options):
        if str(file).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory", str(file))
        return function(file, *arguments, **options)
    return open_file

builtins.open = without_proc(builtins.open)
io.open = without_proc(io.open)
os.listdir = without_proc(os.listdir)
os.scandir = without_proc(os.scandir)
sys.platform = system

import workbench as wb
from workbench.cli import main

missing = [name for name in wb.__all__ if not hasattr(wb, name)]
assert not missing, missing
text, trace = sys.argv[4:6]
graph = wb.load(pathlib.Path(text).read_text(encoding="utf-8")).graph
wb.GraphView(graph).save("view.html")
wb.PassStepper(wb.Trace.open(trace)).save("steps.html")
wb.CompareView(graph, graph).save("compare.html")
for arguments in (["show", text, "-o", "shown.html"], ["show", trace, "-o", "trace.html"], ["export", trace, "g.json"]):
    assert main(arguments) == 0, arguments
from workbench.environments import doctor
doctor.jupyter_kernels()
"""


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    build = GraphBuilder("g", "relay")
    x = build.node("param", "x", type="Tensor[(1), float32]")
    build.outputs.append(build.node("op", "exp", (x,), type="Tensor[(1), float32]"))
    graph = build.build()
    state = State(None, lambda: graph, lambda: "exp(x)")
    return Trace("t", "relay", (Step("FuseOps", state, state, "changed", 0.1),), state, 3).save(tmp_path / "t.wbtrace")


@pytest.mark.parametrize("system", SYSTEMS)
def test_graphs_and_traces_are_shown(system: str, saved: Path, tmp_path: Path) -> None:
    refused, missing = SYSTEMS[system]
    command = [sys.executable, "-c", PROGRAM, system, json.dumps(refused), missing, str(TEXT), str(saved)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    for name in ("view", "steps", "compare", "shown", "trace"):
        assert "<html" in (tmp_path / f"{name}.html").read_text(encoding="utf-8")
