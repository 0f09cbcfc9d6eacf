"""Every module, file and `make` target that a document names exists."""

import re
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

import pytest

import assay
from tests.docs.blocks import ROOT, pages

DOCUMENTS = [*pages(), *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md"))]
PACKAGES = [each for each in (ROOT / "src/assay").iterdir() if (each / "__init__.py").exists()]
NAMES = "|".join(sorted(each.name for each in PACKAGES))
PLACES = (ROOT, ROOT / "src", ROOT / "src/assay", *PACKAGES)
FILE = re.compile(r"(?<![\w/.:-])(?:[\w-]+/)+[\w-]+\.(?:py|md|html|css|toml)\b")
DOTTED = re.compile(rf"`((?:assay|studies|benchmarks|{NAMES})(?:\.\w+)+)[`(]")
MODULE = re.compile(r"python -m ([\w.]+)")
TARGET = re.compile(r"(?:`|^\$ )make ([a-z]+)", re.MULTILINE)
TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
# Files that a reader makes, and parameters in MLflow.
OTHERS = re.compile(
    r"\.(db|csv|json|zip|parquet)$|^assay\.(goal|design|seed|fingerprint|items|campaign|version)$"
)


def absent(text: str, folder: Path = ROOT) -> list[str]:
    """Names in a text of `folder` that stand for nothing in the repository."""
    made = re.compile(r"^reference/|_N\.py$")  # with the site; a pattern of names
    files = [name for name in FILE.findall(text) if not made.search(name)]
    return [
        *(name for name in files if not any((at / name).exists() for at in (folder, *PLACES))),
        *(name for name in DOTTED.findall(text) if not (OTHERS.search(name) or known(name))),
        *(name for name in MODULE.findall(text) if not find_spec(name)),
        *(f"make {name}" for name in TARGET.findall(text) if name not in TARGETS),
    ]


def known(name: str) -> bool:
    """Whether a dotted name is a module, something in one, or a method of a campaign."""
    root, rest = name.split(".", 1)
    if root == "campaign" and hasattr(assay.Campaign, rest):
        return True
    try:
        resolve_name(name if root in ("assay", "benchmarks", "studies") else f"assay.{name}")
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_document_names_exists(page: Path) -> None:
    assert absent(page.read_text(), page.parent) == []
