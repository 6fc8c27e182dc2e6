"""TunePanel in JupyterLab: started, paused, its kernel restarted, gone on with from the log, applied."""

from __future__ import annotations

import json
import re
from pathlib import Path

from browser.driver import BRIEFLY, Notebook
from browser.lab import Lab, nothing_fails
from playwright.sync_api import Browser, Locator, expect

# A search that would go on for minutes: what is pressed is pressed in time, however slow the machine is.
MAKE = """
from dataclasses import replace
import workbench as wb
w = wb.samples.load("parallel_cast")
space = replace(wb.Space.of(w), opt_levels=(3, 2, 1, 0))
panel = wb.TunePanel(w, space, objective="kernels", budget=600, log="cast.jsonl", check=False, store=False)
panel
"""
SOME = re.compile(r"\b([2-9]|[1-9]\d+) candidates tried")
LOST = r"Cancell?ed( future for .*)?|Kernel message validation error: .*stream\.stderr.*"
"""What JupyterLab says of a kernel that is restarted: its own questions have no answer, and of the last messages one may be in
pieces, since ipykernel sends from several threads at once when its own has ended."""


def logged(log: Path) -> list[str]:
    """The configuration of each candidate in the log."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [json.dumps(line["config"], sort_keys=True) for line in lines if "config" in line]


def restart_and_run_again(opened: Notebook) -> None:
    """As a person does it: from the menu, and then the same cell again."""
    command = "(name) => { window.done = window.jupyterapp.commands.execute(name); }"
    opened.page.evaluate(command, "kernelmenu:restart")
    opened.page.locator(".jp-Dialog .jp-mod-accept").click()
    opened.page.evaluate("() => window.done")
    opened.page.evaluate(command, "notebook:run-cell")


def test_search_is_paused_resumed_after_a_restart_and_applied(lab: Lab, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1600, "height": 1100})
    page.set_default_timeout(BRIEFLY)
    with nothing_fails(page, but=LOST):
        search(lab, lab.open(page, lab.new("tune").name))
        page.close()


def part(opened: Notebook, name: str) -> Locator:
    """Return the newest element with that data-testid: the panel of the cell that ran last."""
    return opened.page.locator(f"[data-testid='{name}']").last


def search(lab: Lab, opened: Notebook) -> None:
    log = lab.folder / "cast.jsonl"
    opened.run_cell(MAKE)
    start, state, counts = (part(opened, name) for name in ("act-tune-start", "tune-state", "tune-counts"))
    expect(state).to_have_text("Not begun")
    expect(start).to_have_text("Start")
    start.click()
    expect(counts).to_contain_text(SOME)
    row = part(opened, "tune-table").locator("tr").nth(1).element_handle()
    part(opened, "act-tune-pause").click()
    expect(state).to_have_text("Paused")
    expect(start).to_have_text("Resume")
    assert opened.python("1 + 1") == 2
    # the table has grown meanwhile, but not under the pointer
    assert row.evaluate("row => row.isConnected")

    restart_and_run_again(opened)
    expect(start).to_have_text("Resume from the log")
    before = logged(log)
    assert len(before) >= 2
    expect(counts).to_contain_text(f"{len(before)} of them from the log")
    expect(part(opened, "tune-table").locator("tr")).not_to_have_count(0)
    start.click()
    expect(counts).not_to_contain_text(f"{len(before)} candidates tried")
    part(opened, "act-tune-stop").click()
    expect(state).to_have_text("Stopped")
    after = logged(log)
    assert len(after) > len(before)
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == opened.python("len(panel.run.trials)")

    part(opened, "act-tune-apply").click()
    expect(part(opened, "tune-applied")).to_contain_text("panel.applied has")
    kernels = opened.python("[panel.applied.graph.kernel_count, panel.result.best.values['kernels']]")
    assert kernels[0] == kernels[1]
    expect(part(opened, "tune-best")).to_contain_text(f"kernels {kernels[1]}")
    row = part(opened, "tune-table").locator("tr").nth(3)
    number = row.locator("th").text_content()
    row.get_by_role("button").click()
    expect(opened.page.locator(".wb-tune h4")).to_contain_text(f"Candidate {number}:")
    expect(part(opened, "tune-curve").locator("img:visible")).to_have_count(1)
