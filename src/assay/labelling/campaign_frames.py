"""A campaign's labels, strata and history as DataFrames."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, Protocol, get_args

from assay.errors import InputError, did_you_mean
from assay.labelling.state import Table
from assay.results.estimates import StratumRow
from assay.results.frames import Backend, frame_of, types_of
from assay.results.progress import HistoryPoint

Frame = Literal["labels", "strata", "history"]
FRAMES: tuple[str, ...] = get_args(Frame)


class _Campaign(Protocol):
    def strata(self) -> list[StratumRow]: ...
    def history(self) -> Mapping[str, Sequence[HistoryPoint]]: ...


def campaign_frame(campaign: _Campaign, table: Table, what: Frame, *, backend: Backend) -> Any:
    """Return what `Campaign.to_frame` says it returns; `table` is the campaign's."""
    strata = campaign.strata()  # brings the table up to date
    if what == "strata":
        rows: list[dict[str, Any]] = [row.to_dict() for row in strata]
        return frame_of(rows, types_of(StratumRow), backend=backend)
    if what == "history":
        rows = [
            {"metric": metric, **asdict(point)}
            for metric, points in campaign.history().items()
            for point in points
        ]
        return frame_of(rows, {"metric": str, **types_of(HistoryPoint)}, backend=backend)
    if what == "labels":
        kind = int if table.settings.id_kind == "integer" else str
        types = {"id": kind, "answer": str, "positive": bool, "stratum": str}
        return frame_of(_label_rows(table, strata), types, backend=backend)
    raise InputError(
        f"there is no frame of {what!r}",
        details=f"frames: {', '.join(FRAMES)}",
        hint=did_you_mean(str(what), FRAMES),
    )


def _label_rows(table: Table, strata: Sequence[StratumRow]) -> list[dict[str, Any]]:
    """Return the answers that count, in the order in which they came to count."""
    return [
        {
            "id": table.settings.item_id(item_id),
            "answer": answer.value,
            "positive": answer.outcome,
            "stratum": strata[card.stratum].stratum,
        }
        for item_id, answer in table.ledger.answers.items()
        if (card := table.ledger.card(item_id)) is not None
    ]
