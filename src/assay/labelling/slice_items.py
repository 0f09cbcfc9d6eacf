"""Items of slices: the answers of a campaign by stratum, with their multiplicity.

Items with weights are drawn with replacement, and an answer counts in proportion to how often its
item was drawn. If every item of a stratum has been looked at, nothing is left to chance: there an
item counts by its weight, as in `core.weights`. In both cases the counts of the answers sum to
their number: a draw that meets an item again adds no information.

If the strata of a guaranteed campaign were cut anew, items that were judged before are known. They
form strata of their own, with nothing left to chance, and the others' labels are a random sample of
the rest.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from assay.core.answers import Answer
from assay.core.strata import Strata
from assay.core.subgroups import Domain, Share, domain
from assay.core.types import Bools, Floats, Ints
from assay.errors import AssayError, PredictionsError, did_you_mean
from assay.labelling.confirmation import refuse_unconfirmed
from assay.labelling.reserve import check_same, read_again, scans_of, whereabouts
from assay.labelling.state import Labelling
from assay.predictions import Scan, slice_text


@dataclass(frozen=True, eq=False)
class SliceAnswers:
    """Drawn items; arrays of one length, except the last, which has shape (H,)."""

    stratum: Ints
    predicted: Ints
    judged: Bools
    positive: Bools
    known: Bools  # items that were judged before a guaranteed campaign's strata were cut anew
    open: Bools  # items that wait for an answer; not judged
    times: Floats  # count of each; the sum over a stratum's judged ones is their number
    # (H,): part of each stratum, in its size's units, that is known and has no variance.
    looked: Floats

    @classmethod
    def on(
        cls,
        labelling: Labelling,
        items: Sequence[str],
        *,
        # Treat items that wait for an answer as if they had one: positive where this is true.
        supposed: Bools | None = None,
        # Whether an item is positive, by its answer and prediction; default: if the answer is yes.
        is_positive: Callable[[Answer, int], bool] | None = None,
    ) -> Self:
        """Answers to these items."""
        settings, rounds = labelling.settings, labelling.rounds
        cards = [card for item in items if (card := rounds.card(item)) is not None]
        answers = [rounds.answers.get(item) for item in items]
        waits = np.array([answer is None for answer in answers], dtype=np.bool_)
        judged = np.array([bool(answer and answer.judged) for answer in answers], dtype=np.bool_)
        counts = is_positive or (lambda answer, _: answer is Answer.YES)
        positive = np.array(
            [
                answer is not None and answer.judged and counts(answer, card.predicted)
                for answer, card in zip(answers, cards, strict=True)
            ],
            dtype=np.bool_,
        )
        shown = cls(
            stratum=np.array([card.stratum for card in cards], dtype=np.int64),
            predicted=np.array([card.predicted for card in cards], dtype=np.int64),
            judged=judged if supposed is None else judged | waits,
            positive=positive if supposed is None else np.where(waits, supposed, positive),
            known=np.fromiter(map(labelling.known.__contains__, items), dtype=np.bool_),
            open=waits,
            times=np.ones(len(items)),
            looked=np.zeros(settings.strata.n_strata),
        )
        if settings.strata.weighted:
            draws = np.array([rounds.times(item) for item in items], dtype=np.float64)
            weight = np.array([card.weight for card in cards], dtype=np.float64)
            return shown._weighed(labelling, settings.strata, draws, weight)
        return shown if settings.design.replacement else replace(shown, looked=shown.labels)

    def split(self, sizes: Floats) -> tuple[Self, Floats]:
        """Answers with known items as strata behind the others, and all sizes.

        `sizes`, (H,): of the strata.
        """
        known = np.bincount(self.stratum[self.known], minlength=sizes.size)
        apart = replace(
            self,
            stratum=np.where(self.known, self.stratum + sizes.size, self.stratum),
            looked=np.zeros(2 * sizes.size),
        )
        return replace(apart, looked=apart.labels), np.concatenate([sizes - known, known])

    @property
    def labels(self) -> Floats:
        """Judged items of each stratum, of shape (H,)."""
        return self._by_stratum(np.ones(self.times.size))

    def _by_stratum(self, counts: Floats) -> Floats:
        """Sum the judged items' counts, of shape (H,)."""
        sums = np.bincount(self.stratum, counts * self.judged, self.looked.size)
        return sums.astype(np.float64)

    def _weighed(self, labelling: Labelling, strata: Strata, draws: Floats, weight: Floats) -> Self:
        """Let items count by their draws, or by weight if all of a stratum is known."""
        once = labelling.rounds.state.once
        known = np.zeros(strata.n_strata, dtype=np.bool_)
        if once is not None and not labelling.settings.design.replacement:
            answered = labelling.evaluation.by_stratum(once.judged + once.unjudged)
            known = answered >= strata.sizes
        counts = np.where(known[self.stratum], weight, draws)
        each = self.labels / np.maximum(self._by_stratum(counts), 1.0)
        looked = np.where(known, self._by_stratum(weight), 0.0)
        return replace(self, times=counts * each[self.stratum], looked=looked)


@dataclass(frozen=True, eq=False)
class SliceCounts:
    """Labels of S slices by stratum and kind, and the strata.

    Includes only strata that hold items of some kind. Strata without labels are joined with the
    nearest similar one; if there is none, nothing counts.
    """

    # sizes, labels, left, (H,): sizes, labels, and the remaining share of the variance.
    sizes: Floats
    labels: Floats
    left: Floats
    counts: Floats  # (S, H, K)
    items: Floats  # (S,): the items behind the labels that count
    possible: Bools  # (H, K)

    @property
    def sums(self) -> Floats:
        """Estimated number of items of each kind in each slice: of shape (S, K)."""
        weight = self.sizes / np.maximum(self.labels, 1.0)
        return np.asarray((weight[:, None] * self.counts).sum(axis=-2))

    def domain(self, share: Share, confidence: float) -> Domain:
        """Estimate of a share in each slice."""
        return domain(
            self.sizes,
            np.broadcast_to(self.labels, self.counts.shape[:-1]),
            self.counts,
            possible=self.possible,
            confidence=confidence,
            share=share,
            left=self.left,
            items=self.items,
        )


def count_slices(
    labelling: Labelling,
    answered: SliceAnswers,
    # slots, kind: slice and kind of each item, -1 if it does not count.
    slots: Ints,
    kind: Ints,
    *,
    n_slices: int,
    possible: Bools,  # (H, K): strata that may hold items of each kind
    alike: Ints,  # (H,): equal where a stratum without labels may join another
) -> SliceCounts:
    """Count labels by slice, stratum and kind."""
    sizes, number = labelling.evaluation.by_stratum(labelling.evaluation.sizes), possible.shape[-1]
    if answered.known.any():  # others cannot join known ones: they are not a random sample
        answered, sizes = answered.split(sizes)
        possible, alike = np.tile(possible, (2, 1)), np.append(alike, alike + alike.max() + 1)
    matters = possible.any(axis=-1) & (sizes > 0)
    labels = answered.labels[matters]
    sizes, complete = _covered(sizes[matters], labels, alike[matters])
    counts = np.zeros((n_slices, matters.size, number))
    counted = answered.judged & (kind >= 0) & complete
    place = (slots[counted], answered.stratum[counted], kind[counted])
    np.add.at(counts, place, answered.times[counted])
    return SliceCounts(
        sizes=sizes,
        labels=labels,
        left=1 - np.minimum(answered.looked[matters] / np.maximum(sizes, 1.0), 1.0),
        counts=counts[:, matters],
        items=np.bincount(slots[counted], minlength=n_slices).astype(np.float64),
        possible=possible[matters],
    )


def _covered(sizes: Floats, n: Floats, kind: Ints) -> tuple[Floats, bool]:
    """Join strata without labels with the nearest of their kind; return whether each found one."""
    covered, labelled = np.where(n > 0, sizes, 0.0), np.flatnonzero(n > 0)
    for empty in np.flatnonzero(n == 0):
        alike = labelled[kind[labelled] == kind[empty]]
        if not alike.size:
            return sizes, False
        covered[alike[np.abs(alike - empty).argmin()]] += sizes[empty]
    return covered, True


# Slice of an item: the value of a column, kept with its card or looked up.


def slice_values(
    labelling: Labelling, items: Sequence[str], column: str, predictions: object = None
) -> list[str]:
    """Value of each dealt item, as it names a slice.

    `items`: their ids, as they are stored.
    """
    return [slice_text(each) for each in column_values(labelling, items, column, predictions)]


def column_values(
    labelling: Labelling, items: Sequence[str], column: str, predictions: object = None
) -> list[object]:
    """Value of each dealt item, as in the predictions."""
    if predictions is None:
        cards = [labelling.rounds.card(item) for item in items]
        kept = [{} if card is None else json.loads(card.shown) for card in cards]
        if all(column in values for values in kept):
            return [values[column] for values in kept]
    return _looked_up(labelling, items, column, predictions)


def _looked_up(
    labelling: Labelling, items: Sequence[str], column: str, predictions: object
) -> list[object]:
    settings = labelling.settings
    source = settings.source
    scans = _scans(labelling, column, predictions)
    only = replace(source, columns={**source.columns, "show": [column]}, slices=())
    try:
        reread = read_again(scans, replace(settings, source=only))
    except AssayError as error:
        hint = error.hint or _remedy(column)
        raise PredictionsError(error.problem, details=error.details, hint=hint) from error
    check_same(settings, reread)
    ids = [settings.item_id(item) for item in items]
    there = reread.find(ids, variable=settings.variable, scale=source.scale)
    shown = [{} if each is None else each.card.shown for each in there]
    if not all(column in values for values in shown):
        raise PredictionsError(
            f"{reread.source} cannot be asked for the column {column!r}",
            details="predictions that were read before have no other columns than they were read "
            "with",
            hint="give the table, or the path of the file, that they were read from",
        )
    return [values[column] for values in shown]


def _scans(labelling: Labelling, column: str, predictions: object) -> list[Scan]:
    settings = labelling.settings
    source = settings.source
    if predictions is not None:
        return scans_of(predictions, source)
    refuse_unconfirmed(labelling.store, settings)
    try:
        return whereabouts(labelling.store, settings)
    except PredictionsError as error:
        raise PredictionsError(
            f"campaign {settings.name!r} does not have the column {column!r} of its items",
            details=f"columns that it keeps: {', '.join(source.kept) or 'none'}; {error.problem}",
            hint=did_you_mean(column, source.kept) or _remedy(column),
        ) from error


def _remedy(column: str) -> str:
    return (
        f"name the file that has it: predictions=...; a campaign made with "
        f"slices=[{column!r}] keeps the values"
    )
