"""A Session without its widget, and the Workbench's table of messages."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest
from page_driver import Page
from workbench_widget.driving import MERGE, PIPELINE

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.measurement.row import Row
from workbench.pipeline.run import Runner
from workbench.widgets.background import Work
from workbench.widgets.history import History
from workbench.widgets.workbench.drawing import Setup
from workbench.widgets.workbench.measure_panel import MeasurePanel
from workbench.widgets.workbench.pass_list import Catalog, Choice
from workbench.widgets.workbench.session import Session

pytestmark = pytest.mark.one_dialect


class RecordedPage:
    """A page that keeps what it is given."""

    def __init__(self):
        self.state, self.traits, self.pictures, self.complete = {}, {}, [], []
        self.errors, self.error = [], ""
        self.work = Work(self.errors.append)

    def push(self, **changes):
        self.state.update(changes)

    def show(self, **traits):
        self.traits.update(traits)

    def draw(self, picture, selection=None):
        self.pictures.append(picture)

    def retitle(self, old, new):
        pass

    def drawn(self, *, complete):
        self.complete.append(complete)

    def overlay_after(self, overlay):
        pass

    def selected(self):
        return set()

    def select(self, nodes):
        pass


@pytest.fixture
def page():
    return RecordedPage()


@pytest.fixture
def session(cast, dialect, page):
    history = History(Choice("pipeline", wb.Pipeline.parse(PIPELINE[dialect])))
    made = Session(Setup(cast, "llvm", Catalog.of(cast), history, 0.02), page)
    made.start()
    assert page.work.wait(60)
    yield made
    made.cancel()
    assert page.work.wait(60)
    assert page.errors == []


def test_session_needs_no_widget_library():
    program = "import sys, workbench.widgets.workbench.session; print({'traitlets', 'ipywidgets', 'anywidget'} & {*sys.modules})"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_choice_becomes_a_trace_and_a_picture(session, page):
    assert len(page.pictures) == 1
    assert page.complete == [True]
    assert session.kernels == session.trace.end.graph.kernel_count
    assert page.state["passes"][0]["status"] == "changed"


def test_measured_rows_are_shown_and_raced(session, page):
    MeasurePanel(session)
    with pytest.raises(WorkbenchError, match="two configurations"):
        session.race()
    session.measure(again=False)
    assert page.work.wait(120)  # a request that still waits is withdrawn by the toggle
    session.toggle(MERGE)
    session.measure(again=False)
    assert page.work.wait(120)
    assert [row.status for row in session.measurements.all().values()] == ["ok", "ok"]
    assert [block["name"] for block in page.traits["plots"]] == ["plot-kernels", "plot-runtime"]
    session.race()
    assert page.work.wait(120)
    assert "Race again" in [block.get("label") for block in page.traits["measure_tab"]]


def test_progress_of_one_lane_does_not_hide_that_of_another(bench):
    host = bench._host
    host.show_busy("measures", {"what": "Building", "fraction": 0.5, "since": 0.0})
    host.show_busy("checks", {"what": "Checking", "fraction": 0.1, "since": 0.0})
    host.show_busy("checks", None)
    assert bench.state["busy"]["what"] == "Building"
    host.show_busy("measures", None)
    assert bench.state["busy"] is None


def test_of_two_threads_that_show_rows_the_newer_rows_are_shown_last(session, page, monkeypatch):
    assert page.work.wait(60)
    shown = []

    def slow(measure_tab=(), **_):
        for table in (block for block in measure_tab if block["t"] == "table"):
            said = table["rows"][1][-1]
            time.sleep(0.3 if "measuring" in said else 0)
            shown.append(said)

    panel = MeasurePanel(session)
    rows = {wb.Config(): Row("a", "llvm", "llvm", "", "running")}
    monkeypatch.setattr(session.measurements, "all", lambda: dict(rows))
    monkeypatch.setattr(page, "show", slow)
    other = threading.Thread(target=panel.show)
    other.start()
    time.sleep(0.1)
    rows[wb.Config()] = Row("a", "llvm", "llvm", "", "wrong")
    panel.show()
    other.join()
    assert shown == ["measuring\u2026", "! wrong"]


def test_control_of_an_unknown_tab_is_refused(bench):
    Page(bench).click_action("kernel-time")
    assert "kernels" in bench.state["error"]["text"]


def test_threads_share_the_workload_of_a_state(cast, monkeypatch, dialect):
    runner = Runner(cast)
    end = runner.run(wb.Pipeline(["FoldConstant", MERGE])).end
    plain = type(cast).of

    def slow(self, module):
        time.sleep(0.05)
        return plain(self, module)

    monkeypatch.setattr(type(cast), "of", slow)
    found = []
    threads = [threading.Thread(target=lambda: found.append(runner.workload_of(end))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len({id(each) for each in found}) == 1
