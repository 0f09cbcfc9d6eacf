"""Labels of a file that are accepted, and not yet in the log.

A file may have a hundred thousand labels. If one transaction appended them, every reviewer would
wait for it, and then for their own process to take them in. So one short transaction accepts them,
in a table of their own, and further ones append them piece by piece. A process that ends in between
leaves the rest here, and the next one appends it: all labels of a file count, or none.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from assay.storage.campaigns import Connected
from assay.storage.schema import LABEL_FIELDS, Label

PIECE = 1_000  # labels: some 40 ms, in which others wait

# The table has its own metadata because it is created with the first large file: storages and
# bundles without one stay as they are.
_staged = sa.Table(
    "staged_labels",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("campaign_id", sa.Integer, nullable=False),
    sa.Column("after", sa.BigInteger, nullable=False),  # last label when these were accepted
    sa.Column("labels", sa.Text, nullable=False),  # their fields, as JSON
)
_of_campaign = _staged.c.campaign_id == sa.bindparam("campaign")
_NEXT = sa.select(_staged).where(_of_campaign).order_by(_staged.c.id).limit(1)


class Piece(NamedTuple):
    """Labels to append together."""

    number: int
    after: int  # number of the last label in the log when these were accepted
    text: str

    @property
    def labels(self) -> list[Label]:
        """The labels; raises what Python raises if the storage was changed from outside."""
        rows = (zip(LABEL_FIELDS, values, strict=True) for values in json.loads(self.text))
        return [Label(**dict(row)) for row in rows]


def encoded(labels: Sequence[Label]) -> list[str]:
    """Labels as `Staged.stage` stores them, a text for each piece."""
    values = [[*label.content().values()] for label in labels]
    return [json.dumps(values[start : start + PIECE]) for start in range(0, len(values), PIECE)]


class Staged(Connected):
    """Labels that wait to be appended to the log."""

    def stage(self, campaign: int, after: int, pieces: Sequence[str]) -> None:
        """Accept labels: from now on, they will be in the log."""
        if pieces:
            _staged.create(self._connection, checkfirst=True)
            same = {"campaign_id": campaign, "after": after}
            rows = [{**same, "labels": piece} for piece in pieces]
            self._connection.execute(_staged.insert(), rows)

    def next_piece(self, campaign: int) -> Piece | None:
        """Find the labels to append next."""
        row = None
        if self._has_staged:
            row = self._connection.execute(_NEXT, {"campaign": campaign}).one_or_none()
        return None if row is None else Piece(row.id, row.after, row.labels)

    def unstage(self, piece: Piece) -> None:
        """Delete a piece that was appended."""
        self._connection.execute(_staged.delete().where(_staged.c.id == piece.number))

    def delete_staged(self, campaign: int) -> None:
        """Delete all labels of a campaign that were not appended."""
        if self._has_staged:
            self._connection.execute(_staged.delete().where(_of_campaign), {"campaign": campaign})

    @property
    def _has_staged(self) -> bool:
        place = self._connection.schema_for_object(_staged)
        return sa.inspect(self._connection).has_table(_staged.name, schema=place)
