"""What is installed: its name on the package index, in one place, and in every hint and page."""

import re
import tomllib
from pathlib import Path

import pytest

import assay
from assay.distribution import NAME, VERSION, install

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
SOURCE = sorted((ROOT / "src").rglob("*.py"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.yml")]

# `assay` alone is another project's name on the index: neither installed, nor with an extra.
OTHER_PROJECT = re.compile(r"install (-\S+ )*['\"]?assay(?!-eval)\b|\bassay\[")


def test_the_name_and_the_version_have_one_source() -> None:
    assert PROJECT["name"] == NAME
    assert assay.__version__ == VERSION


def test_nobody_is_told_to_install_another_project() -> None:
    texts = {page: page.read_text() for page in (*SOURCE, *PAGES)}
    assert [page.name for page, text in texts.items() if OTHER_PROJECT.search(text)] == []


@pytest.mark.parametrize(
    "text", ["pip install assay", "pip install --upgrade assay", "pip install 'assay[web]'"]
)
def test_the_pattern_finds_the_other_project(text: str) -> None:
    assert OTHER_PROJECT.search(text)
    assert not OTHER_PROJECT.search(text.replace("assay", "assay-eval"))


def test_hints_are_formed_in_one_place_and_name_extras_that_there_are() -> None:
    told = {
        name for file in SOURCE for name in re.findall(r"install\(\"(\w+)\"\)", file.read_text())
    }
    assert told <= set(EXTRAS)
    assert told >= {"web", "postgres", "spark", "plot", "mlflow"}
    written = [file.name for file in SOURCE if f"pip install '{NAME}" in file.read_text()]
    assert written == ["distribution.py"]
    assert install("web") == f"pip install '{NAME}[web]'"
