"""A judge's verdicts added to a campaign, by a join of its predictions with a file.

Assay does not own the predictions, and does not write to them. The verdicts are beside the storage,
or where the user says; the campaign goes on with a query that has both, as by a rebase.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.campaign.campaign import Campaign
from assay.campaign.extend import rebase_campaign
from assay.errors import AssayError, InputError, PredictionsError, counted
from assay.exchange import Judgement, first, read_judgements
from assay.labelling import Settings, find_campaign, read_again, refuse_unconfirmed, whereabouts
from assay.predictions import joined_with
from assay.storage import Store, open_storage

_LOOKED_UP = 1_000  # verdicts of which at least one must be of an existing item


@dataclass(frozen=True)
class Taken:
    """Outcome of an import of verdicts."""

    campaign: Campaign  # campaign that goes on with them
    file: Path  # file that holds them
    column: str  # their column
    # new, replaced, unchanged: these verdicts, compared with the earlier ones.
    new: int
    replaced: int
    unchanged: int
    without: int  # rows without a verdict, left out
    in_all: int  # verdicts in the file

    def to_dict(self) -> dict[str, Any]:
        """Outcome as plain values."""
        values = {name: value for name, value in vars(self).items() if name != "campaign"}
        return {**values, "file": str(self.file), "campaign": self.campaign.name}


def import_verdicts(
    # name, storage: of the campaign, as given to `create_campaign`.
    name: str,
    *logs: str | PathLike[str],
    storage: str | None = None,
    # Name of the verdicts: a column of `aux` from then on. Default: ``judge``.
    column: str | None = None,
    # Parquet file that keeps them. Default: ``NAME.COLUMN.parquet`` beside a storage that is a
    # file.
    into: str | PathLike[str] | None = None,
    **reading: Any,  # options of `read_judgements`
) -> Taken:
    """Add a judge's verdicts to a campaign as a second opinion, keeping all labels.

    Later verdicts replace earlier ones of the same items.

    The judge must not have learned from this campaign's labels: the order of the items stays, and
    strata by a judge that knows the first answers would hide errors.
    """
    column = "judge" if column is None else column
    store = open_storage(storage)
    with store.read() as session:
        _, settings = find_campaign(session, name)
    file = _file(store, name, column, into)
    refuse_unconfirmed(store, settings)
    id = settings.source.columns["id"]
    scan = joined_with(_scan(store, settings), id=id, file=file, column=column)
    judgements = read_judgements(*logs, **reading)
    verdicts = [row for row in judgements.rows if row.score is not None]
    _refuse_strangers(verdicts, store, settings)
    before = _read(file)
    now = {str(row.id): replace(row, id=str(row.id)) for row in verdicts}
    aux = list(dict.fromkeys([*settings.source.aux, column]))
    _write(file, {**before, **now})
    try:
        campaign = rebase_campaign(name, storage=storage, predictions=scan, aux=aux)
    except AssayError:  # all or nothing, as with labels
        _write(file, before)
        raise
    same = sum(before.get(id) == row for id, row in now.items())
    new = sum(id not in before for id in now)
    return Taken(
        campaign=campaign,
        file=file,
        column=column,
        new=new,
        replaced=len(now) - new - same,
        unchanged=same,
        without=len(judgements.rows) - len(verdicts),
        in_all=len({**before, **now}),
    )


def _file(store: Store, name: str, column: str, into: str | PathLike[str] | None) -> Path:
    """File that holds the verdicts."""
    if into is not None:
        file = Path(into).absolute()
        if file.suffix.lower() != ".parquet":
            raise InputError(f"into={str(into)!r} is not the name of a Parquet file",
                             hint="give a name that ends in .parquet")  # fmt: skip
        return file
    database = store.name.removeprefix("sqlite:///")
    if database in (store.name, "", ":memory:"):
        raise InputError(
            f"no file for the verdicts is given, and the storage {store.name} is not a file",
            hint="name a Parquet file that everybody who works on the campaign can read: "
            "into='verdicts.parquet'",
        )
    plain = re.sub(r"[^\w.-]+", "_", f"{name}.{column}")
    return Path(database).absolute().parent / f"{plain}.parquet"


def _scan(store: Store, settings: Settings) -> Any:
    """Location of the campaign's predictions; None for predictions in memory."""
    parts = settings.source.parts
    if len(parts) != 1:
        raise PredictionsError(
            f"campaign {settings.name!r} has predictions from {len(parts)} places, and verdicts "
            "are joined to one",
            hint="rebase it onto one query or pattern of files first",
        )
    return None if parts[0].scan is None else whereabouts(store, settings)[0]


def _refuse_strangers(verdicts: list[Judgement], store: Store, settings: Settings) -> None:
    """Raise if no verdict is of a known item."""
    if not verdicts:
        raise InputError("no row has a verdict or a score; nothing was imported")
    ids = [str(row.id) for row in verdicts[:_LOOKED_UP]]
    if settings.id_kind == "integer":
        ids = [id for id in ids if re.fullmatch(r"-?[0-9]{1,19}", id)]
    predictions = read_again(whereabouts(store, settings), settings)
    items = predictions.find(
        [settings.item_id(id) for id in ids],
        variable="score" if settings.goal.single else "rank",
        scale="margin",
    )
    if not any(items):
        raise InputError(
            f"none of {counted(len(verdicts), 'verdict')} is of an item of campaign "
            f"{settings.name!r}",
            details=first([f"verdict of {row.id!r}" for row in verdicts]),
            hint="id_column= names the column of the ids, which are as in the predictions",
        )


_TYPES: dict[str, pa.DataType] = {
    "id": pa.string(),
    "verdict": pa.bool_(),
    "score": pa.float64(),
    "times": pa.int64(),
}
_SCHEMA = pa.schema(_TYPES)


def _read(file: Path) -> dict[str, Judgement]:
    """Earlier verdicts, by id."""
    if not file.exists():
        return {}
    try:
        rows = pq.read_table(file, columns=_SCHEMA.names).to_pylist()
        verdicts = {str(row["id"]): Judgement(**row) for row in rows}
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{file} cannot be read, and is not replaced: {error}",
            details="expected a file of verdicts that 'assay import' has written",
            hint="give another file with into=",
        ) from None
    return verdicts


def _write(file: Path, verdicts: Mapping[str, Judgement]) -> None:
    """Replace the stored verdicts atomically: readers see the old file or the new."""
    if not verdicts:
        file.unlink(missing_ok=True)
        return
    rows = [vars(row) for row in verdicts.values()]
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        try:
            pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), temporary)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
