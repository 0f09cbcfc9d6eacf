"""Mistakes of a classifier: judged items with a wrong prediction."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.deck import Id
from assay.results.document import Cell, Column, Document, Notes, Paragraph, Table, clipped
from assay.results.result import Backend, Result, column_types, frame_of, free_names

KINDS = ("false positive", "false negative")
RIGHT = "right"  # instead of a kind, of an item with a right prediction

_OWN = ("id", "kind", "score", "confidence", "stratum", "weight", "reviewers", "comment", "tags")
_SHOWN_AT_MOST = 20  # rows of a text; a file has all
_LONGEST = 300  # characters of a shown value


@dataclass(frozen=True)
class Mistake:
    """Item with a wrong prediction."""

    id: Id
    # ``false positive``: predicted yes, and people said no; or ``false negative``. With more
    # classes, the true and the predicted class.
    kind: str
    score: float | None  # the classifier's; None if it has none, or if it was not kept
    # Confidence of the classifier: probability of its prediction, or distance from the threshold.
    confidence: float | None
    stratum: str
    weight: float  # number of items of the population that it represents
    reviewers: tuple[str, ...]  # whoever ruled, or else those whose answers count
    comment: str  # their comments
    shown: Mapping[str, object]  # shown columns, and the values of its slices
    tags: tuple[str, ...] = ()  # given by the owner, on the page of errors
    # answer, predicted: of the reviewers and of the classifier, for people.
    answer: str = ""
    predicted: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Mistake as plain values."""
        own = {name: getattr(self, name) for name in _OWN}
        own |= {"reviewers": list(self.reviewers), "tags": list(self.tags)}
        return {**own, "shown": dict(self.shown)}

    @property
    def who(self) -> str:
        """Reviewers who decided, for people."""
        return ", ".join(name or "(nobody named)" for name in self.reviewers)

    @property
    def weight_text(self) -> str:
        """The weight, in three digits or more."""
        return f"{self.weight:,.0f}" if self.weight >= 100 else f"{self.weight:.3g}"


@dataclass(frozen=True, eq=False, repr=False)
class Mistakes(Result, Sequence[Mistake]):
    """Mistakes of one classifier, the most confident first."""

    classifier: str  # its name; empty for an unnamed one
    rows: tuple[Mistake, ...]
    # Number of items with a yes or no that passed the filters.
    judged: int
    # Numbers of drawn items that are not classified as mistakes or not, by reason.
    left_out: Mapping[str, int]
    columns: tuple[str, ...] = ()  # shown columns, and slices
    # Requested kinds; empty with more classes than yes and no.
    kinds: tuple[str, ...] = KINDS
    notes: tuple[str, ...] = ()  # further cautions

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mistake]:
        return iter(self.rows)

    @property
    def headline(self) -> str:
        """Number of mistakes, and of judged items."""
        counts = [(kind, sum(row.kind == kind for row in self.rows)) for kind in self.kinds]
        summary = " and ".join(f"{number:,} {_plural(kind, number)}" for kind, number in counts)
        wrong = sum(row.kind != RIGHT for row in self.rows)
        summary = summary or f"{wrong:,} {_plural('mistake', wrong)}"
        whose = f"{self.classifier}: " if self.classifier else ""
        items = "item" if self.judged == 1 else "items"
        return f"{whose}{summary} among {self.judged:,} judged {items}"

    @property
    def remarks(self) -> list[str]:
        """Number of items not included, and notes."""
        out = [f"{number:,} {why}" for why, number in self.left_out.items() if number]
        return [*([f"not included: {', '.join(out)}"] if out else []), *self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Mistakes as plain values."""
        return {
            "classifier": self.classifier,
            "judged": self.judged,
            "mistakes": [row.to_dict() for row in self.rows],
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }

    def records(self) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
        """Columns of a table of the mistakes, and one mapping per row.

        A shown column with the name of one of our own is called ``shown score``.
        """
        names = free_names(self.columns, _OWN)
        rows = []
        for row in self.rows:
            own = {name: getattr(row, name) for name in _OWN}
            own |= {each: ", ".join(own[each]) for each in ("reviewers", "tags")}
            seen = {name: row.shown.get(at) for name, at in zip(names, self.columns, strict=True)}
            rows.append({**own, **seen})
        return (*_OWN, *names), rows

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """DataFrame of the mistakes, one row each."""
        columns, rows = self.records()
        types: dict[str, type] = dict.fromkeys(_OWN, str)
        types |= dict.fromkeys(("score", "confidence", "weight"), float)
        if self.rows and all(isinstance(row.id, int) for row in self.rows):
            types["id"] = int
        return frame_of(rows, column_types(rows, columns, types), backend=backend)

    def document(self, limit: int = _SHOWN_AT_MOST) -> Document:
        """First mistakes as a table; shown columns have room of their own."""
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
