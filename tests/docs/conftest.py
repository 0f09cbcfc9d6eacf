"""A program for the blocks of pages, and for the steps of the action."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.running import program


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for the PATH, in which `assay` starts at once."""
    with program(tmp_path_factory.mktemp("path")) as folder:
        yield folder
