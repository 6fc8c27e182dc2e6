"""The static lane parses every source file: a million nodes, which Python's collector would visit again and again."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
