"""What is installed: its name on the package index, in one place, and in every hint and page."""

import re
import tomllib
from pathlib import Path

import pytest

import assay
from assay.errors import NAME, VERSION, install
from tests.docs import first

ROOT = Path(__file__).parents[1]
_WRITTEN = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT, TOOLS = _WRITTEN["project"], _WRITTEN["tool"]
EXTRAS = PROJECT["optional-dependencies"]
SOURCE = sorted((ROOT / "src").rglob("*.py"))
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.yml")]

# `assay` alone is another project's name on the index: neither installed, nor with an extra.
OTHER_PROJECT = re.compile(r"install (-\S+ )*['\"]?assay(?!-eval)\b|\bassay\[")


def test_the_name_and_the_version_have_one_source() -> None:
    assert PROJECT["name"] == NAME
    assert assay.__version__ == VERSION


def test_what_an_extra_installs_is_there_for_the_tests() -> None:
    groups = _WRITTEN["dependency-groups"]
    known = {re.split(r"[\[<>=]", each)[0] for each in (*groups["dev"], *groups["engines"])}
    wanted = {re.split(r"[\[<>=]", each)[0] for extra in EXTRAS.values() for each in extra}
    assert wanted - {NAME} <= known


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
    assert told >= {"web", "postgres", "spark", "plot", "mlflow", "notebook"}
    written = [file.name for file in SOURCE if f"pip install '{NAME}" in file.read_text()]
    assert written == ["errors.py"]
    assert install("web") == f"pip install '{NAME}[web]'"


# The README on the package's page of the index, where no repository is around it.


def on_the_index(text: str) -> str:
    """Return the README as the build writes it into the package."""
    hook = TOOLS["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    for each in hook["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    return text


def test_links_and_pictures_of_the_readme_work_on_the_package_page() -> None:
    readme = (ROOT / "README.md").read_text()
    shown = on_the_index(readme)
    links = re.findall(r"(!?)\[[^\[\]]*\]\(([^)]+)\)", shown)
    assert len(links) == len(re.findall(r"(!?)\[[^\[\]]*\]\(([^)]+)\)", readme)) > 15
    source = PROJECT["urls"]["Source"]
    raw = source.replace("https://github.com", "https://raw.githubusercontent.com")
    for picture, target in links:
        outside = f"{raw}/main/" if picture else f"{source}/blob/main/"
        if not target.startswith("https://img.shields.io/badge/"):
            assert target.startswith(outside)
            assert (ROOT / target.removeprefix(outside).partition("#")[0]).exists()
    assert "<!--" not in shown
    assert any(picture and target.endswith(".gif") for picture, target in links)


def test_pictures_of_the_readme_are_small() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\((docs/[^)]+)\)", (ROOT / "README.md").read_text())
    assert pictures
    assert all((ROOT / picture).stat().st_size < 1_000_000 for picture in pictures)


def test_the_readme_opens_with_what_it_is_for_and_at_most_five_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    block = first.block()
    told = first.commands(block.text)
    assert told[0].startswith(f"pip install {NAME} ")
    assert len(told) <= first.MOST
    assert all(line.startswith("assay ") for line in told[1:])
    before = readme[: readme.index("```bash")].lower()
    assert "measures how good a classifier is" in before
    assert "paper" not in before


def test_the_readme_says_what_is_so() -> None:
    readme = (ROOT / "README.md").read_text()
    assert PROJECT["requires-python"] == ">=3.11" and "Python 3.11 or newer" in readme
    assert PROJECT["license"] == "Apache-2.0" and "[Apache-2.0](LICENSE)" in readme
