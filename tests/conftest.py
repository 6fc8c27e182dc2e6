"""Lanes: each test belongs to one, and `pytest --lane NAME` runs that one.

A test's lane is the folder it is in (tests/relay/...), else its mark (`@pytest.mark.widgets`), else, when it takes the
`dialect` fixture, the dialect it gets, else core. Without --lane, all that this environment can run is run.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from breadth import in_half
from dialect_facts import FACTS, Facts, installed_dialect

if TYPE_CHECKING:
    from rpc_park import Park

    from workbench.dialects.base import Workload
    from workbench.worker.parent import Worker

TESTS = Path(__file__).parent
LANES = ("static", "core", "relay", "relax", "pytorch", "widgets", "browser", "notebooks", "install", "device")
# Lanes whose tests are all in their folder: the other files are not even imported.
IN_FOLDERS = ("static", "pytorch", "browser", "notebooks", "device")
# What a lane can not do without: a module of the environment.
NEEDS = {"static": "importlinter", "pytorch": "torch", "browser": "playwright", "notebooks": "nbclient"}


# nbformat imports jsonschema, which would parse a grammar of addresses for seconds. No test checks an address.
sys.modules.setdefault("rfc3987_syntax", None)

# PyTorch for the lane pytorch, beside both environments; what they have themselves comes first.
TORCH = TESTS.parent / ".torch"


DIALECT = installed_dialect()


@pytest.fixture(params=[DIALECT] if DIALECT else [])
def dialect(request: pytest.FixtureRequest) -> str:
    """Return the dialect under test; the test runs once in each environment."""
    return request.param


@pytest.fixture
def facts(dialect: str) -> Facts:
    """What of the dialect under test a test's body may not take for granted."""
    return FACTS[dialect]


@pytest.fixture
def small(dialect: str) -> Workload:
    """Return a program of three operators."""
    import workbench as wb

    return wb.samples.load("mlp", layers=1, width=4)


@pytest.fixture
def cast(dialect: str) -> Workload:
    """Return the sample of two branches that cast: five kernels without EliminateCommonSubexpr, three with it."""
    import workbench as wb

    return wb.samples.load("parallel_cast")


@pytest.fixture(scope="module")
def park() -> Iterator[Park]:
    """TVM's tracker and servers, of the module's own."""
    from rpc_park import Park

    made = Park()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def jobs() -> Iterator[None]:
    """Let child processes find the jobs of tests/: those that start after this."""
    places = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(places))
        yield


@pytest.fixture(scope="module")
def child(jobs: None) -> Iterator[Worker]:
    """A worker of the module's own, whose child process finds the jobs of tests/."""
    from workbench.worker.parent import Worker

    made = Worker()
    yield made
    made.close()


@pytest.fixture
def tell(request: pytest.FixtureRequest) -> Callable[[object], None]:
    """Have a measured figure printed at the end of the lane, whichever process the test ran in."""
    return lambda figure: request.node.user_properties.append(("told", str(figure)))


@pytest.fixture(scope="session", autouse=True)
def _own_store(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests, and the notebooks they start, keep what they measure in a file of their own."""
    os.environ["TVM_WORKBENCH_STORE"] = str(tmp_path_factory.mktemp("store") / "tests.sqlite")


class NoTVM:
    """The core lane has no TVM: importing it fails there as it does where none is installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.split(".")[0] == "tvm":
            raise ModuleNotFoundError("No module named 'tvm' (the core lane runs without one)", name=name)
        return None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lane", choices=LANES, help="run this lane only")


def pytest_configure(config: pytest.Config) -> None:
    # a shell's background job, as a CI may start this, ignores Ctrl-C, and some tests send it
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--lane") == "pytorch":
        sys.path.append(str(TORCH))
    if config.getoption("--lane") == "core":
        sys.meta_path.insert(0, NoTVM())


def pytest_report_header(config: pytest.Config) -> str:
    return f"lane: {config.getoption('--lane') or 'all that can run here'}; dialect: {DIALECT or 'none'}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    folder = _folder_lane(collection_path)
    lane = config.getoption("--lane")
    if folder is None:
        outside = lane in IN_FOLDERS and collection_path.is_file() and collection_path.name != "conftest.py"
        return True if outside else None
    return True if folder != lane and (lane is not None or not _possible(folder)) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ended = [report for report in terminalreporter.stats.get("", ()) if report.when == "teardown"]
    figures = [value for report in ended for name, value in report.user_properties if name == "told"]
    if figures:
        terminalreporter.section("measured")
    for figure in figures:
        terminalreporter.line(figure)


@pytest.hookimpl(tryfirst=True)  # before pytest reads the marks for -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    lane = config.getoption("--lane")
    chosen, left_out = [], []
    for item in items:
        own = _lane(item)
        item.add_marker(own)
        if DIALECT == "relay" and item.get_closest_marker("one_dialect"):
            item.add_marker("sweep")
        if os.environ.get("LONG_HALF") and item.get_closest_marker("long") and not in_half(item.nodeid):
            item.add_marker("sweep")
        (chosen if own == lane or (lane is None and _possible(own)) else left_out).append(item)
    items[:] = chosen
    config.hook.pytest_deselected(items=left_out)


def _lane(item: pytest.Item) -> str:
    folder = _folder_lane(item.path)
    if folder:
        return folder
    for mark in item.iter_markers():
        if mark.name in LANES:
            return mark.name
    callspec = getattr(item, "callspec", None)
    takes_dialect = callspec is not None and "dialect" in callspec.params
    return DIALECT if takes_dialect and DIALECT else "core"


def _folder_lane(path: Path) -> str | None:
    if not path.is_relative_to(TESTS):
        return None
    first = path.relative_to(TESTS).parts[:1]
    return first[0] if first and first[0] in LANES else None


def _possible(lane: str) -> bool:
    if lane == "device":
        return False  # only on request
    if lane in ("relay", "relax"):
        return lane == DIALECT
    return lane not in NEEDS or importlib.util.find_spec(NEEDS[lane]) is not None
