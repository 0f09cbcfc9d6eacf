"""A reviewer's page as a program: it sends, and it knows when it does not know what came of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any

from assay.storage import Label
from tests.web.serving import add_token

PATIENCE = 90.0


class UnsureError(Exception):
    """The page cannot tell whether what it sent was recorded; `told` is what the server said."""

    def __init__(self, status: int = 0, told: dict[str, Any] | None = None) -> None:
        super().__init__(f"{status} {told}")
        self.status, self.told = status, told or {}


@dataclass(frozen=True)
class Seen:
    """What came back: the status of each key, and the items to judge."""

    receipts: dict[str | None, str]
    items: list[str]
    state: str


def sent(label: Label) -> dict[str, str | None]:
    """Return a label as a page sends it."""
    return {"key": label.key, "item": label.item_id, "answer": label.answer}


class Page:
    """A page over HTTP."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._connection: HTTPConnection | None = None

    def take(self, submits: Sequence[Label], want: int) -> Seen:
        """Send answers and get items."""
        body = json.dumps({"submits": [sent(submit) for submit in submits], "want": want})
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        try:
            if self._connection is None:
                self._connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
            self._connection.request("POST", "/api/review", body, headers)
            response = self._connection.getresponse()
            told = json.loads(response.read())
        except (OSError, HTTPException) as error:
            self.close()
            raise UnsureError from error
        if response.status == 503:
            raise UnsureError(503, told)
        assert response.status == 200, (response.status, told)
        return Seen(
            {receipt["key"]: receipt["status"] for receipt in told["receipts"]},
            [item["id"] for item in told["items"]],
            told["state"],
        )

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def token_for(storage: str, who: str, role: str = "reviewer") -> str:
    """Return a new token, as `assay token add` makes it."""
    return add_token(storage, role, who)
