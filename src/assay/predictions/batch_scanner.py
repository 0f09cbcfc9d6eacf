"""A scanner of batches of items, however these are read: counted and drawn in numpy."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from assay.core.bins import Rule, Scale, scale_of
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.profile import ScoreCells, evenest
from assay.core.types import Ints
from assay.predictions.batches import Batch, count_cells, count_spans, drawn, rows_of
from assay.predictions.engine import Rows, Scanner, Span


@dataclass(frozen=True)
class Some:
    """Which items to read; others may be among them."""

    ids: Sequence[Id] | None = None  # those with these ids, and no others
    spans: Sequence[Span] = ()  # those whose number in the deck is not above all limits
    seed: int = 0  # of the deck


ALL = Some()


class BatchScanner(Scanner):
    """A `Scanner` over batches of items."""

    n_codes: int  # number of possible labels or codes

    @abstractmethod
    def items(self, variable: Variable, scale: Scale, some: Some = ALL) -> Iterable[Batch]:
        """Batches of items, by a variable; with their ids, if only some are read."""

    def open(self) -> AbstractContextManager[object]:
        """Raise what goes wrong while items are read as errors of the source."""
        return nullcontext()

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""
        with self.open():
            each = (items.values for items in self.items(variable, scale))
            ends = [(values.min(), values.max()) for values in each if values.size]
            rule = scale_of(min(low for low, _ in ends), max(high for _, high in ends))
            return evenest(
                lambda rule: self.counted(self.items(variable, scale), rule, self.n_codes),
                rule,
                lambda cells: cells.by_weight,
            )

    def counted(self, items: Iterable[Batch], rule: Rule, classes: int) -> ScoreCells:
        """Count items by the bins of a rule; labels of two classes are yes and no."""
        found = count_cells(items, rule, classes, lambda batch: replace(batch, digest=None))
        return replace(found, said=found.said == 1) if classes == 2 else found

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Return the number and weight of the items in each span."""
        with self.open():
            return count_spans(self.items(variable, scale), spans)

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Rows of all spans; those above every limit are not read."""
        with self.open():
            items = self.items(variable, scale, Some(spans=spans, seed=seed))
            return rows_of([drawn(batch, spans, seed) for batch in items])

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Rows with these ids."""
        with self.open():
            return rows_of(self.items(variable, scale, Some(ids)))
