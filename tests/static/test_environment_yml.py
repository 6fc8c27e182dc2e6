"""environment.yml says what pyproject.toml says."""

import re
from pathlib import Path

import yaml

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = dict(re.match(r"(\S+) ?(.*)", line).groups() for line in ENVIRONMENT["dependencies"] if isinstance(line, str))
PIP = next(part["pip"] for part in ENVIRONMENT["dependencies"] if isinstance(part, dict))


def test_same_name_and_python():
    assert ENVIRONMENT["name"] == PROJECT["name"]
    assert CONDA["python"].split(",")[0] == PROJECT["requires-python"]


def test_python_is_not_newer_than_relay_runs_on():
    from workbench.environments.relay import PYTHON_TOO_NEW

    assert CONDA["python"].split(",")[1] == "<" + ".".join(map(str, PYTHON_TOO_NEW))


def test_node_is_as_new_as_the_build_asks():
    oldest = re.search(r"OLDEST_NODE = (\d+)", (ROOT / "hatch_build.py").read_text()).group(1)
    assert CONDA["nodejs"] == f">={oldest}"


def test_every_python_dependency_comes_from_pyproject():
    (install,) = PIP
    extras = re.fullmatch(r"-e \.\[(.*)\]", install).group(1).split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])
    listed = {re.match(r"[\w-]+", line).group().lower() for line in PROJECT["dependencies"]}
    assert listed & set(CONDA) <= {"graphviz"}, "graphviz is dot in conda and the Python package in pyproject"
