"""Migrations of a database to the schema that this version knows: ordered steps, each recorded.

A step and its record are one transaction: a process that dies in between has changed nothing. The
steps are written out as they were then, because the tables of `schema` go on changing.
"""

import json
from collections.abc import Callable, Mapping
from secrets import token_hex
from typing import Any

import sqlalchemy as sa

from assay.errors import StorageError
from assay.storage import schema
from assay.storage.chain import first_link, label_link

_NEWEST = sa.select(sa.func.max(schema.version.c.version))


def is_current(connection: sa.Connection, namespace: str | None) -> bool:
    """Tell whether the tables are there, as this version knows them."""
    if not sa.inspect(connection).has_table(schema.version.name, schema=namespace):
        return False
    return _found(connection) == schema.SCHEMA_VERSION


def prepare(connection: sa.Connection, namespace: str | None) -> None:
    """Make the tables in a new database, or bring those of an older Assay up to date.

    Raises StorageError: where the database is somebody else's, or a newer Assay has written it.
    """
    tables = sa.inspect(connection).get_table_names(schema=namespace)
    if not tables:
        schema.metadata.create_all(connection)
        connection.execute(schema.storage.insert(), {"uid": token_hex(16)})
        _record(connection, schema.SCHEMA_VERSION)
        return
    if schema.version.name not in tables:
        raise StorageError(
            f"the database holds something else: {', '.join(sorted(tables)[:5])}",
            hint="give a file of its own, such as sqlite:///labels.db",
        )
    refuse_newer(connection)
    found = _found(connection)
    for number in range(found + 1, schema.SCHEMA_VERSION + 1):
        _STEPS[number](connection)
        _record(connection, number)


def refuse_newer(connection: sa.Connection) -> None:
    """Raise where a newer Assay has upgraded the database, perhaps since it was opened."""
    found = _found(connection)
    if found > schema.SCHEMA_VERSION:
        raise StorageError(
            f"the storage has schema version {found}, this Assay knows {schema.SCHEMA_VERSION}",
            details="a newer Assay has upgraded it; nothing was written",
            hint="end this program, and use the version of Assay that wrote it, or a newer one",
        )


def _found(connection: sa.Connection) -> int:
    found = connection.scalar(_NEWEST) or 0
    if not isinstance(found, int):
        raise StorageError(
            f"the storage has schema version {found!r}, which is no number",
            hint="the file is damaged: restore a backup (`assay restore`)",
        )
    return found


def _record(connection: sa.Connection, number: int) -> None:
    connection.execute(schema.version.insert(), {"version": number})


def _to_2(connection: sa.Connection) -> None:
    """Bring in claims, submit keys, rulings, tokens, and strata that SQL can read.

    In version 1 the latest answer to an item counted, whoever gave it. One that took another
    person's place is a ruling from now on, so every item keeps the answer that it had.
    """
    statements = (
        "ALTER TABLE card RENAME TO item",
        "ALTER TABLE label_event ADD COLUMN submit_key VARCHAR",
        "ALTER TABLE label_event ADD COLUMN late BOOLEAN DEFAULT 0 NOT NULL",
        "ALTER TABLE label_event ADD COLUMN ruling BOOLEAN DEFAULT 0 NOT NULL",
        "CREATE UNIQUE INDEX label_event_of_submit ON label_event (campaign_id, submit_key)",
        "CREATE TABLE storage (uid VARCHAR NOT NULL, PRIMARY KEY (uid))",
        """CREATE TABLE stratum (
            campaign_id INTEGER NOT NULL,
            number INTEGER NOT NULL,
            size BIGINT NOT NULL,
            PRIMARY KEY (campaign_id, number),
            FOREIGN KEY(campaign_id) REFERENCES campaign (id)
        )""",
        """CREATE TABLE claim (
            campaign_id INTEGER NOT NULL,
            item_id VARCHAR NOT NULL,
            reviewer VARCHAR NOT NULL,
            since DOUBLE NOT NULL,
            until DOUBLE NOT NULL,
            PRIMARY KEY (campaign_id, item_id, reviewer),
            FOREIGN KEY(campaign_id) REFERENCES campaign (id)
        )""",
        "CREATE INDEX claim_of_campaign ON claim (campaign_id, until)",
        """CREATE TABLE token (
            id INTEGER NOT NULL,
            campaign VARCHAR NOT NULL,
            role VARCHAR NOT NULL,
            name VARCHAR NOT NULL,
            digest VARCHAR NOT NULL,
            created_at VARCHAR NOT NULL,
            revoked_at VARCHAR,
            PRIMARY KEY (id),
            UNIQUE (digest)
        )""",
        """UPDATE label_event SET ruling = 1
        WHERE EXISTS (
            SELECT 1 FROM label_event AS earlier
            WHERE earlier.campaign_id = label_event.campaign_id
              AND earlier.item_id = label_event.item_id
              AND earlier.id < label_event.id
              AND earlier.reviewer <> label_event.reviewer
        )""",
    )
    for statement in statements:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("INSERT INTO storage VALUES (?)", (token_hex(16),))
    campaigns = connection.exec_driver_sql("SELECT id, settings FROM campaign").all()
    for key, settings in campaigns:
        for number, size in enumerate(_sizes_in_1(json.loads(settings)["strata"])):
            row = (key, number, size)
            connection.exec_driver_sql("INSERT INTO stratum VALUES (?, ?, ?)", row)


def _to_3(connection: sa.Connection) -> None:
    """Bring in the items' weights; those that are there count once each."""
    statements = {
        "sqlite": "ALTER TABLE item ADD COLUMN weight BIGINT",
        "postgresql": "ALTER TABLE assay.item ADD COLUMN weight BIGINT",
    }
    connection.exec_driver_sql(statements[connection.dialect.name])


def _to_4(connection: sa.Connection) -> None:
    """Bring in comments on labels; those that are there have none."""
    statements = {
        "sqlite": "ALTER TABLE label_event ADD COLUMN comment TEXT DEFAULT '' NOT NULL",
        "postgresql": "ALTER TABLE assay.label_event ADD COLUMN comment TEXT DEFAULT '' NOT NULL",
    }
    connection.exec_driver_sql(statements[connection.dialect.name])


def _to_5(connection: sa.Connection) -> None:
    """Bring in the chain of the log: every label that is there gets the link that it has now."""
    if connection.dialect.name == "sqlite":
        _remake_the_log(connection)
        return
    links = _links_in_5(connection)
    connection.exec_driver_sql("ALTER TABLE assay.label_event ADD COLUMN chain VARCHAR")
    if links:
        change = "UPDATE assay.label_event SET chain = :link WHERE id = :number"
        connection.execute(sa.text(change), links)
    connection.exec_driver_sql("ALTER TABLE assay.label_event ALTER COLUMN chain SET NOT NULL")


def _remake_the_log(connection: sa.Connection) -> None:
    """Make the table of labels again: SQLite cannot add a column that must be filled."""
    links = _links_in_5(connection)
    counter = "SELECT seq FROM sqlite_sequence WHERE name = 'label_event'"
    last = connection.exec_driver_sql(counter).scalar()
    before = (
        "ALTER TABLE label_event RENAME TO label_event_of_4",
        "DROP INDEX label_event_of_campaign",
        "DROP INDEX label_event_of_submit",
        """CREATE TABLE label_event (
            id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
            campaign_id INTEGER NOT NULL,
            item_id VARCHAR NOT NULL,
            answer VARCHAR NOT NULL,
            reviewer VARCHAR NOT NULL,
            told_at VARCHAR NOT NULL,
            submit_key VARCHAR,
            late BOOLEAN DEFAULT 0 NOT NULL,
            ruling BOOLEAN DEFAULT 0 NOT NULL,
            comment TEXT DEFAULT '' NOT NULL,
            chain VARCHAR NOT NULL,
            FOREIGN KEY(campaign_id) REFERENCES campaign (id)
        )""",
    )
    after = (
        "DROP TABLE label_event_of_4",
        "CREATE INDEX label_event_of_campaign ON label_event (campaign_id, id)",
        "CREATE UNIQUE INDEX label_event_of_submit ON label_event (campaign_id, submit_key)",
        "DELETE FROM sqlite_sequence WHERE name = 'label_event'",
    )
    for statement in before:
        connection.exec_driver_sql(statement)
    if links:
        copy = (
            "INSERT INTO label_event SELECT id, campaign_id, item_id, answer, reviewer, told_at, "
            "submit_key, late, ruling, comment, :link FROM label_event_of_4 WHERE id = :number"
        )
        connection.execute(sa.text(copy), links)
    for statement in after:
        connection.exec_driver_sql(statement)
    if last is not None:  # the number of a label that is gone is not given again
        row = ("label_event", last)
        connection.exec_driver_sql("INSERT INTO sqlite_sequence VALUES (?, ?)", row)


def _links_in_5(connection: sa.Connection) -> list[dict[str, Any]]:
    """Return the links of all labels by their numbers."""
    place = None if connection.dialect.name == "sqlite" else "assay"
    fixed = ("id", "created_at", "settings")
    campaign = sa.table("campaign", *map(sa.column, fixed), schema=place)
    last = {row.id: first_link(*row) for row in connection.execute(sa.select(campaign))}
    texts = ("submit_key", "item_id", "answer", "reviewer", "told_at", "comment")
    flags = (sa.column(name, sa.Boolean) for name in ("late", "ruling"))
    told = (*map(sa.column, ("id", "campaign_id", *texts)), *flags)
    log = sa.table("label_event", *told, schema=place)
    query = sa.select(log, log.c.submit_key.label("key")).order_by(log.c.id)
    links = []
    for row in connection.execute(query).mappings():
        key = row["campaign_id"]
        last[key] = label_link(last.get(key, ""), dict(row))
        links.append({"number": row["id"], "link": last[key]})
    return links


def _sizes_in_1(strata: Mapping[str, Any]) -> list[int]:
    """Return the strata's sizes from the settings as version 1 kept them."""
    if "layers" in strata:
        return [int(size) for layer in strata["layers"] for size in layer["sizes"]]
    sizes: dict[int, int] = {}
    for stratum, _, size in strata["parts"]:
        sizes[stratum] = sizes.get(stratum, 0) + size
    return [sizes[number] for number in sorted(sizes)]


# By the version that they lead to. Version 1 was for SQLite only.
_STEPS: dict[int, Callable[[sa.Connection], None]] = {
    2: _to_2,
    3: _to_3,
    4: _to_4,
    5: _to_5,
}
