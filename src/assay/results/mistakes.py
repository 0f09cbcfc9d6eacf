"""Mistakes of a classifier: judged items of which it said otherwise than people did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.deck import Id
from assay.errors import printable
from assay.results.frames import Backend, column_types, frame_of, free_names
from assay.results.html import html_block, html_headline, html_remarks, html_table

KINDS = ("false positive", "false negative")

_OWN = ("id", "kind", "score", "confidence", "stratum", "weight", "reviewers", "comment")
_SHOWN_AT_MOST = 20  # rows of a text; a file has all
_LONGEST = 60  # characters of a cell in a text


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


@dataclass(frozen=True, eq=False, repr=False)
class Mistakes(Sequence[Mistake]):
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

    def __str__(self) -> str:
        lines = [self.headline]
        shown = (map(_short, self.cells(row)) for row in self.rows[:_SHOWN_AT_MOST])
        lines += ["   ".join(cells).rstrip() for cells in shown]
        if (more := len(self.rows) - _SHOWN_AT_MOST) > 0:
            lines.append(f"and {more:,} more")
        return "\n".join([*map(printable, lines), *(f"note: {each}" for each in self.remarks)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [[_short(cell) for cell in self.cells(row)] for row in self.rows[:_SHOWN_AT_MOST]]
        return html_block(
            html_headline(self.headline, ""),
            html_table(self.headings, rows) if rows else "",
            html_remarks(f"note: {each}" for each in self.remarks),
        )

    @property
    def headings(self) -> tuple[str, ...]:
        """What stands above each cell of a row."""
        return ("item", "mistake", "score", "weight", *self.columns, "who", "comment")

    def cells(self, row: Mistake) -> tuple[str, ...]:
        """Return a mistake as people read it."""
        return (
            str(row.id),
            row.kind,
            "–" if row.score is None else f"{row.score:.4g}",
            f"{row.weight:,.4g}" if row.weight < 100 else f"{row.weight:,.0f}",
            *(_text(row.shown.get(column)) for column in self.columns),
            ", ".join(name or "(nobody named)" for name in row.reviewers),
            row.comment,
        )


def _plural(kind: str, number: int) -> str:
    return kind if number == 1 else f"{kind}s"


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _short(cell: str) -> str:
    line = " ".join(cell.split())
    return printable(line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…")
