# Two generations of TVM share this name and one environment holds one of them, so a type checker is told nothing of it.
from typing import Any

def __getattr__(name: str) -> Any: ...
