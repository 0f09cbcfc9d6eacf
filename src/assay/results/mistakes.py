"""Mistakes of a classifier: judged items of which it said otherwise than people did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.deck import Id
from assay.results.document import Cell, Column, Document, Notes, Paragraph, Table, clipped
from assay.results.frames import Backend, column_types, frame_of, free_names
from assay.results.result import Result

KINDS = ("false positive", "false negative")

_OWN = ("id", "kind", "score", "confidence", "stratum", "weight", "reviewers", "comment")
_SHOWN_AT_MOST = 20  # rows of a text; a file has all
_LONGEST = 300  # characters of what an item shows


@dataclass(frozen=True)
class Mistake:
    """An item of which a classifier said otherwise than people did."""

    id: Id
    # ``false positive``: the classifier said yes, and people said no; or ``false negative``. Of
    # more classes, what it is and what was predicted.
    kind: str
    score: float | None  # the classifier's; None where it has none, or where it was not kept
    # How sure the classifier was: the probability of what it said, or the distance from the
    # threshold.
    confidence: float | None
    stratum: str
    weight: float  # how many items of the population it stands for
    reviewers: tuple[str, ...]  # who said so: whoever ruled, or else those whose answers count
    comment: str  # what they wrote beside it
    shown: Mapping[str, object]  # what the item shows, and the values of its slices

    def to_dict(self) -> dict[str, Any]:
        """Return the mistake as plain values."""
        own = {name: getattr(self, name) for name in _OWN}
        return {**own, "reviewers": list(self.reviewers), "shown": dict(self.shown)}

    @property
    def who(self) -> str:
        """Those who said so, as they are read."""
        return ", ".join(name or "(nobody named)" for name in self.reviewers)

    @property
    def weight_text(self) -> str:
        """The weight, in three digits or more."""
        return f"{self.weight:,.0f}" if self.weight >= 100 else f"{self.weight:.3g}"


@dataclass(frozen=True, eq=False, repr=False)
class Mistakes(Result, Sequence[Mistake]):
    """The mistakes of one classifier, those first of which it was most sure."""

    classifier: str  # its name; empty where it has none
    rows: tuple[Mistake, ...]
    # The items with a yes or no that were looked through: those that the filters let pass.
    judged: int
    # Items that were drawn and cannot be said to be mistakes, by why not.
    left_out: Mapping[str, int]
    columns: tuple[str, ...] = ()  # what items show, and slices
    # The kinds that were looked for; none where there are more classes than yes and no.
    kinds: tuple[str, ...] = KINDS
    notes: tuple[str, ...] = ()  # what else a careful reader should know

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mistake]:
        return iter(self.rows)

    @property
    def headline(self) -> str:
        """How many there are, of how many judged items."""
        counts = [(kind, sum(row.kind == kind for row in self.rows)) for kind in self.kinds]
        told = " and ".join(f"{number:,} {_plural(kind, number)}" for kind, number in counts)
        told = told or f"{len(self.rows):,} {_plural('mistake', len(self.rows))}"
        whose = f"{self.classifier}: " if self.classifier else ""
        items = "item" if self.judged == 1 else "items"
        return f"{whose}{told} among {self.judged:,} judged {items}"

    @property
    def remarks(self) -> list[str]:
        """What is left out, and what else is to be known."""
        out = [f"{number:,} {why}" for why, number in self.left_out.items() if number]
        return [*([f"left out: {', '.join(out)}"] if out else []), *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Return the mistakes as plain values."""
        return {
            "classifier": self.classifier,
            "judged": self.judged,
            "mistakes": [row.to_dict() for row in self.rows],
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }

    def records(self) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
        """Return the mistakes as rows of a table: its columns, and one mapping a row.

        A column that is shown and has the name of one of ours is called ``shown score``.
        """
        names = free_names(self.columns, _OWN)
        rows = []
        for row in self.rows:
            own = {name: getattr(row, name) for name in _OWN}
            own["reviewers"] = ", ".join(row.reviewers)
            seen = {name: row.shown.get(at) for name, at in zip(names, self.columns, strict=True)}
            rows.append({**own, **seen})
        return (*_OWN, *names), rows

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return the mistakes as a DataFrame, one row each."""
        columns, rows = self.records()
        known: dict[str, type] = dict.fromkeys(_OWN, str)
        known |= dict.fromkeys(("score", "confidence", "weight"), float)
        if self.rows and all(isinstance(row.id, int) for row in self.rows):
            known["id"] = int
        return frame_of(rows, column_types(rows, columns, known), backend=backend)

    def document(self, limit: int = _SHOWN_AT_MOST) -> Document:
        """Return the first mistakes as a table; what items show has room of its own."""
        columns = (
            Column("item", "text"),
            Column("mistake", "text"),
            *map(Column, ("score", "stands for")),
            *(Column(name, "text") for name in ("stratum", "said by")),
            *(Column(name, "detail", named=True) for name in (*self.columns, "comment")),
        )
        more = len(self) - limit
        table = Table(
            self.headline,
            columns,
            tuple(map(self._cells, self.rows[:limit])),
            f"and {more:,} more" if more > 0 else "",
        )
        shown = table if self.rows else Paragraph(self.headline)
        return Document.of("Errors", shown, Notes(tuple(self.remarks)))

    def _cells(self, row: Mistake) -> tuple[str | Cell, ...]:
        return (
            Cell(str(row.id), "strong"),
            Cell(row.kind, "bad"),
            "–" if row.score is None else f"{row.score:.4g}",
            row.weight_text,
            Cell(row.stratum, "faint"),
            Cell(row.who, "faint"),
            *(clipped(_text(row.shown.get(column)), _LONGEST) for column in self.columns),
            clipped(row.comment, _LONGEST),
        )


def _plural(kind: str, number: int) -> str:
    return kind if number == 1 else f"{kind}s"


def _text(value: object) -> str:
    return "" if value is None else str(value)
