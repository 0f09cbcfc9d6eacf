"""Storages to torture."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.torture.postgres import Postgres, running_postgres

_numbers = count()


@dataclass(frozen=True)
class Database:
    """A place where fresh storages can be had."""

    kind: str
    folder: Path
    server: Postgres | None = field(default=None)

    def storage(self) -> str:
        """Return the URL of a new one."""
        if self.server is None:
            return f"sqlite:///{self.folder / f'torture-{next(_numbers)}.db'}"
        return self.server.database(f"torture_{next(_numbers)}")

    def copy(self, storage: str) -> str:
        """Return the URL of a copy of one that nobody has open."""
        found = str(sa.make_url(storage).database)
        if self.server is None:
            made = self.storage()
            shutil.copy(found, str(sa.make_url(made).database))
            return made
        return self.server.database(f"torture_{next(_numbers)}", like=found)

    def drop(self, storage: str) -> None:
        """Delete one that nobody will open again; files go with their folder."""
        if self.server is not None:
            self.server.drop(str(sa.make_url(storage).database))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL with fsync on; only torture may kill it."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def sqlite(tmp_path: Path) -> Database:
    """Storages in files."""
    return Database("SQLite", tmp_path)


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """Storages of either kind."""
    if request.param == "SQLite":
        return Database("SQLite", tmp_path)
    return Database("PostgreSQL", tmp_path, request.getfixturevalue("postgres"))
