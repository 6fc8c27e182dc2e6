"""The pytest option `--tried-passes`: after the tests, what `assert_pass` tried. pytest finds it by the entry point of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from workbench.testing.result import Tried

TRIED: list[Tried] = []
"what `assert_pass` tried in this process"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("tvm-workbench")
    group.addoption("--tried-passes", action="store_true", help="print what assert_pass of workbench.testing tried")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print a line for each pass, and one for each broken law."""
    if config.getoption("--tried-passes") and TRIED:
        terminalreporter.section("passes that were tried")
        for each in TRIED:
            terminalreporter.write_line(str(each))
