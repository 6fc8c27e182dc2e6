"""`import workbench` is light: whatever is heavy is imported by what needs it."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("tvm", "numpy", "pandas", "matplotlib", "ipywidgets", "anywidget", "IPython", "graphviz")
LIST_MODULES = "import sys, json; {}; print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"


def top_level_modules(statement: str) -> set[str]:
    command = [sys.executable, "-c", LIST_MODULES.format(statement)]
    return set(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


@pytest.mark.parametrize("name", HEAVY)
def test_there_is_something_heavy_to_load(name):
    assert importlib.util.find_spec(name), "installed, or the test below would pass without showing anything"


@pytest.mark.parametrize("module", ["workbench", "workbench.cli"])
def test_loads_the_standard_library_only(module):
    loaded = top_level_modules(f"import {module}") - top_level_modules("pass")
    assert loaded - set(sys.stdlib_module_names) == {"workbench"}


def test_no_module_imports_itself_through_others() -> None:
    """Imports within functions count too; those for type checkers do not."""
    import grimp

    graph = grimp.build_graph("workbench", exclude_type_checking_imports=True, cache_dir=None)
    waiting = {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    while free := [module for module, imported in waiting.items() if not imported & waiting.keys()]:
        for module in free:
            del waiting[module]
    assert not waiting, f"these import each other: {sorted(waiting)}"


def test_each_public_name_is_in_its_module() -> None:
    import workbench

    assert len(workbench.__all__) > 50
    assert all(hasattr(workbench, name) for name in workbench.__all__)
    assert dir(workbench) == sorted(workbench.__all__)


def test_no_public_function_shares_its_name_with_a_folder() -> None:
    import workbench

    folders = {path.stem for path in Path(workbench.__file__).parent.iterdir()}
    assert folders & set(workbench.__all__) == {"plots", "samples", "testing"}  # these are the folders themselves
