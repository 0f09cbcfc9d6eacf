"""The page of a small campaign: in this process for most tests, and really served for some."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from assay import Campaign
from assay.storage import open_store
from assay.web import Options
from assay.web.serve import ROUTES, make_app
from tests.web.serving import add_token, make_campaign

ADDRESS = "http://127.0.0.1"


@dataclass
class Web:
    """A campaign's application, and tokens for it."""

    storage: str
    campaign: Campaign
    options: Options
    routes: tuple[Route | Mount, ...]
    tokens: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.app = make_app(self.campaign, self.options, self.routes)
        for role in ("owner", "reviewer"):
            self.tokens[role] = add_token(self.storage, role, f"{role} ann", self.campaign.name)

    def client(self, role: str | None = None, **more: Any) -> TestClient:
        """Return a program with the token of a role, or with none."""
        headers = {} if role is None else {"Authorization": f"Bearer {self.tokens[role]}"}
        client = TestClient(
            self.app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False
        )
        client.headers.update({**headers, **more})
        return client

    def browser(self, role: str, **more: str) -> TestClient:
        """Return a browser on which somebody has logged in, on our own page."""
        client = self.client(None, **{"origin": ADDRESS, **more})
        client.cookies.set("assay_token", self.tokens[role])
        return client

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return all that is stored."""
        return stored(self.storage)


MakeWeb = Callable[..., Web]


def stored(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of all tables of a storage in SQLite."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        found = sa.MetaData()
        found.reflect(connection)
        rows = {
            table.name: sorted(tuple(row) for row in connection.execute(table.select()))
            for table in found.sorted_tables
        }
    engine.dispose()
    return rows


@pytest.fixture
def make_web(tmp_path: Path) -> MakeWeb:
    """Make the page of a campaign that is kept in a file."""

    def make(
        options: Options | None = None,
        routes: tuple[Route | Mount, ...] = ROUTES,
        storage: str | None = None,
        **changed: Any,
    ) -> Web:
        url = storage or f"sqlite:///{tmp_path / 'web.db'}"
        return Web(url, make_campaign(url, **changed), options or Options(), routes)

    return make


@pytest.fixture
def web(make_web: MakeWeb) -> Web:
    """The page of the campaign `spam`."""
    return make_web()


@pytest.fixture
def client(web: Web) -> Callable[..., TestClient]:
    """Programs with the token of a role, or with none."""
    return web.client


def revoke(url: str, who: str | None = None, name: str = "spam") -> None:
    """Revoke the tokens of somebody, or every one, as `assay token revoke` does."""
    with open_store(url).write() as session:
        for token in session.tokens(name):
            if who in (None, token.name):
                session.revoke_token(name, token.id)
