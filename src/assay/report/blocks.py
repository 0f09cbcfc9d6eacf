"""What a page is made of, whoever writes it: HTML and Markdown say the same.

All texts are plain: whoever writes them escapes them.
"""

from dataclasses import dataclass
from typing import Literal

from assay.report.charts import Curve


@dataclass(frozen=True)
class Paragraph:
    """A sentence or more; `small` where it only explains."""

    text: str
    small: bool = False


@dataclass(frozen=True)
class Headline:
    """What a reader came for, a value with its interval, and what belongs to it."""

    name: str
    value: str
    more: str


@dataclass(frozen=True)
class Notice:
    """How things stand, in a sentence that is seen first."""

    tone: Literal["good", "warn"]
    text: str


@dataclass(frozen=True)
class Pairs:
    """Names and values."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Table:
    """Rows under headings; the first column is text, and all others but `texts` are numbers."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Lines:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """What is to be typed, or read by machines, to the letter."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture, with words that say the same, and a table where no other has its numbers.

    `layers` are paths of SVG in a square of `curve.SIDE`, by the class that gives their look, and
    `key` what these classes mean. `across` and `upwards` are the numbers at the edges.
    """

    title: str
    words: str
    layers: tuple[tuple[str, str], ...]
    key: tuple[tuple[str, str], ...]
    across: tuple[str, ...]
    upwards: tuple[str, ...]
    unit: str
    table: Table | None = None

    @classmethod
    def of_curve(cls, curve: Curve, name: str, goal: str) -> "Figure":
        """Return the picture of an interval that narrows; `goal` is what its dashed lines mean."""
        first, last = curve.rows[0], curve.rows[-1]
        key = [("line", "estimate"), ("band", "interval")]
        return cls(
            title=f"How the interval of {name} narrowed",
            words=f"After {first.labels:,} labels it reached from {first.low:.3f} to "
            f"{first.high:.3f}, after {last.labels:,} from {last.low:.3f} to {last.high:.3f}.",
            layers=tuple(
                (each, path)
                for each in ("grid", "band", "goal", "line", "last")
                if (path := getattr(curve, each))
            ),
            key=(*key, ("goal", goal)) if curve.goal else tuple(key),
            across=curve.across,
            upwards=curve.upwards,
            unit="labels",
            table=Table(
                f"{name} after so many labels",
                ("Labels", "Estimate", "From", "To"),
                tuple(
                    (
                        f"{point.labels:,}",
                        f"{point.value or 0.0:.3f}",
                        f"{point.low:.3f}",
                        f"{point.high:.3f}",
                    )
                    for point in curve.rows
                ),
            ),
        )


Block = Paragraph | Headline | Notice | Pairs | Table | Lines | Code | Figure


@dataclass(frozen=True)
class Section:
    """Blocks under a title."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A page: its title, a line below it, and its sections."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    footer: str
