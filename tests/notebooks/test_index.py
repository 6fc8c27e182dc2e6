"""notebooks/README.md names every notebook, in order, with a picture that is there and small."""

from __future__ import annotations

import re
import subprocess

import nbformat
import pytest
from index import PICTURES, SIZE
from PIL import Image
from stored_notebooks import FOLDER, INDEX, NAMES

MOST_BYTES = 60_000
"of one picture: twenty of them come with every clone"


def test_each_notebook_is_named_once_and_in_order() -> None:
    """A notebook that git does not have is a user's own."""
    listed = subprocess.run(
        ["git", "ls-files", "*.ipynb"], cwd=FOLDER, check=True, capture_output=True, text=True
    ).stdout
    assert [f"{name}.ipynb" for name in NAMES] == listed.split()


@pytest.mark.parametrize("name", NAMES)
def test_its_title_is_the_notebooks_own(name: str) -> None:
    title = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4).cells[0].source.splitlines()[0].removeprefix("# ")
    (listed,) = re.findall(rf"\*\*\[\d\d ([^\]]+)\]\({name}\.ipynb\)\*\*", INDEX)
    assert title.startswith(listed)


@pytest.mark.parametrize("name", NAMES)
def test_its_picture_is_there_and_small(name: str) -> None:
    assert f'[<img src="pictures/{name}.png" width="300" alt="' in INDEX
    picture = PICTURES / f"{name}.png"
    assert picture.stat().st_size < MOST_BYTES
    with Image.open(picture) as image:
        assert image.size == SIZE
        assert len(image.convert("RGB").getcolors(1 << 16) or ()) > 2, "it is blank"


def test_no_picture_is_of_a_notebook_that_there_is_not() -> None:
    assert sorted(path.stem for path in PICTURES.glob("*.png")) == NAMES
