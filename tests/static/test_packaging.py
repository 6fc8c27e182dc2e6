"""The conda recipe, the citation and the release workflow agree with pyproject.toml, and the version has one source."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

import workbench

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
RELEASE = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
IN_CONDA = {"graphviz": "python-graphviz", "matplotlib": "matplotlib-base"}


def split(requirement: str) -> tuple[str, str]:
    found = re.fullmatch(r"([\w-]+) ?(.*)", requirement)
    assert found
    return found.group(1), found.group(2)


def test_recipe_has_the_dependencies_of_the_package() -> None:
    wanted = {IN_CONDA.get(name, name): bound for name, bound in map(split, PROJECT["dependencies"])}
    assert dict(map(split, RECIPE["requirements"]["run"])) == {"python": PROJECT["requires-python"], **wanted}
    (script,) = PROJECT["scripts"].items()
    assert RECIPE["build"]["python"]["entry_points"] == [" = ".join(script)]
    assert RECIPE["about"]["summary"] == PROJECT["description"]


def test_version_has_one_source() -> None:
    assert "version" in PROJECT["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.?(dev|a|b|rc)\d+)?", workbench.__version__)
    for name in ("pyproject.toml", "CITATION.cff", "recipe/recipe.yaml", ".github/workflows/release.yml"):
        assert workbench.__version__ not in (ROOT / name).read_text(), name
    assert f"\n## {workbench.__version__}, " in (ROOT / "CHANGELOG.md").read_text()


def test_citation_has_what_the_format_requires() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]


def test_release_publishes_only_a_tested_wheel() -> None:
    jobs = RELEASE["jobs"]
    assert jobs["publish"]["needs"] == "test"
    assert jobs["test"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    tested = set(jobs["test"]["strategy"]["matrix"]["python"])
    classified = {line.split(" :: ")[-1] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert tested == classified
    commands = " ".join(step.get("run", "") for job in jobs.values() for step in job["steps"])
    named = re.findall(r"tests/[\w/.]+", commands)
    assert named
    assert all((ROOT / name).exists() for name in named)


def test_readme_links_become_absolute_where_the_address_is_known() -> None:
    source = (ROOT / "hatch_build.py").read_text()
    found = re.search(r'RELATIVE = re\.compile\(r"""(.*)"""\)', source)
    assert found
    text = '![a](docs/a.png) [b](https://x.org) [c](#part) <img src="docs/a.png"> <img src="https://x.org/a.png">'
    assert re.sub(found.group(1), r"\g<1>https://files/", text) == (
        '![a](https://files/docs/a.png) [b](https://x.org) [c](#part) <img src="https://files/docs/a.png"> '
        '<img src="https://x.org/a.png">'
    )
