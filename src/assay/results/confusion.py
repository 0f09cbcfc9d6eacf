"""The confusion matrix of a campaign, as estimated counts and rates with intervals."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from assay.results.frames import Backend, frame_of, types_of
from assay.results.html import html_block, html_headline, html_table


@dataclass(frozen=True)
class ConfusionCell:
    """Items that are called one class, and are of one class."""

    # said, is_of: what the classifier calls them, and what people say that they are: a class, or
    # ``none of these``.
    said: str
    is_of: str
    items: float  # about how many there are
    rate: float  # their share of all that is called so
    # low, high: the interval of that share.
    low: float
    high: float
    labels: int  # how many of the labels they are


def _labels(number: int) -> str:
    return "1 label" if number == 1 else f"{number:,} labels"


@dataclass(frozen=True)
class ConfusionMatrix:
    """What items that are called each class are, from the labels so far."""

    classes: tuple[str, ...]  # in the order of the vocabulary
    # Those with a label, and every class with itself; of a class that no item is called, none.
    cells: tuple[ConfusionCell, ...]
    said: dict[str, int]  # how many items are called each class: known, and not estimated
    confidence: float  # of each rate's interval alone
    classifier: str = ""  # whose; empty where there is one

    def __iter__(self) -> Iterator[ConfusionCell]:
        return iter(self.cells)

    def cell(self, said: str, is_of: str) -> ConfusionCell | None:
        """Return one cell; None where there is no label of it."""
        return next((c for c in self.cells if (c.said, c.is_of) == (said, is_of)), None)

    @property
    def confused(self) -> list[ConfusionCell]:
        """The errors, those with the most items first."""
        wrong = [cell for cell in self.cells if cell.said != cell.is_of and cell.items > 0]
        return sorted(wrong, key=lambda cell: -cell.items)

    @property
    def order(self) -> tuple[str, ...]:
        """The classes, those that are confused most with each other beside each other.

        From the class with the most errors on, each is followed by the one that is confused most
        with those before it.
        """
        ties: dict[tuple[str, str], float] = {}
        amount = dict.fromkeys(self.classes, 0.0)
        for cell in self.confused:
            for pair in ((cell.said, cell.is_of), (cell.is_of, cell.said)):
                ties[pair] = ties.get(pair, 0.0) + cell.items
                if pair[0] in amount:
                    amount[pair[0]] += cell.items
        left = sorted(self.classes, key=lambda name: (-amount[name], name))
        found: list[str] = []
        while left:
            last = found[-1:] and found[-1]
            near = max(left, key=lambda name: (ties.get((str(last), name), 0.0), -left.index(name)))
            found.append(near)
            left.remove(near)
        return tuple(found)

    @property
    def headline(self) -> str:
        """What is confused most, in a line."""
        if not any(cell.labels for cell in self.cells):
            return "No label yet: what is confused with what is not known"
        if not self.confused:
            return "No error was seen yet"
        first = self.confused[0]
        return (
            f"Confused most: called {first.said}, is {first.is_of}, about {first.items:,.0f} items "
            f"({first.rate:.1%} of what is called {first.said})"
        )

    def __str__(self) -> str:
        lines = [self.headline]
        for cell in self.confused[:10]:
            share = f"{cell.rate:.1%} [{cell.low:.1%}, {cell.high:.1%}]"
            lines.append(
                f"called {cell.said}, is {cell.is_of}: {share} of what is called {cell.said}, "
                f"about {cell.items:,.0f} items, {_labels(cell.labels)}"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "cells": [asdict(cell) for cell in self.cells]}

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return the cells as a DataFrame, one row a cell."""
        rows = [asdict(cell) for cell in self.cells]
        return frame_of(rows, types_of(ConfusionCell), backend=backend)

    def _repr_html_(self) -> str:
        headings = ("called", "is", "items", "share of what is called so")
        rows = [
            (
                cell.said,
                cell.is_of,
                f"{cell.items:,.0f}",
                f"{cell.rate:.1%} [{cell.low:.1%}, {cell.high:.1%}]",
            )
            for cell in self.confused[:20]
        ]
        return html_block(html_headline(self.headline, ""), html_table(headings, rows))
