"""Prior labels, drawn at random before the campaign: read, matched with the predictions, checked.

They must be a random sample of all items, or of the items of each predicted label. Then, given how
many fell into a stratum, they are a random sample of the stratum, which is all that the estimates
require. That cannot be proved from the labels. What can be checked is whether their scores are
distributed like those of all items.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress
from os import PathLike
from pathlib import Path

import numpy as np

from assay.core.answers import Answer, parse_answers
from assay.core.bins import Scale
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.special import chdtrc
from assay.core.strata import Side, Strata
from assay.core.stratify import stratify
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.errors import LabelError, counted
from assay.exchange import read_label_file
from assay.predictions import Card, Predictions

_SHOW_AT_MOST = 3  # examples in an error
_IMPLAUSIBLE = 0.001  # random samples look worse than this once in a thousand
_NEVER = 1e-9  # smaller probabilities are shown alike
_LABELS_A_CELL = 5  # required by the chi-square test
_MOST_CELLS = 20


@dataclass(frozen=True, eq=False)
class PriorLabels:
    """Prior labels that the metric needs, each with its item."""

    # cards, answers: the items and their answers.
    cards: tuple[Card, ...]
    answers: tuple[Answer, ...]
    values: Floats  # (n,): their stratification variable
    chance: float  # probability that a random sample's scores are spread so unevenly
    elsewhere: int  # labels of items that the metric does not need
    without_label: int  # rows of the file without a label

    def only(self, strata: Strata) -> "PriorLabels":
        """Labels of items in a stratum; the metrics need no others."""
        inside = self.strata(strata) >= 0
        if not inside.any():
            raise LabelError(
                f"the metrics need none of the {inside.size:,} items with earlier labels",
                hint="estimate other metrics, or label items drawn at random among those",
            )
        return replace(
            self,
            cards=tuple(compress(self.cards, inside)),
            answers=tuple(compress(self.answers, inside)),
            values=self.values[inside],
            elsewhere=self.elsewhere + int((~inside).sum()),
        )

    def strata(self, strata: Strata) -> Ints:
        """Stratum of each item."""
        return strata.assign(self.values, np.array([card.predicted for card in self.cards]))

    def count(self, strata: Strata, *kinds: Answer) -> Ints:
        """Count the labels with some answers in each stratum, (H,)."""
        stratum, counts = self.strata(strata), np.isin(np.array(self.answers), kinds)
        return np.bincount(stratum[counts], minlength=strata.n_strata)

    @property
    def one_side(self) -> str:
        """Predicted label that all of them have; empty if they have both."""
        predicted = {card.predicted for card in self.cards}
        return "" if len(predicted) > 1 else ("yes" if predicted == {True} else "no")

    @property
    def doubt(self) -> str:
        """Reason why they do not look like a random sample; empty if they do."""
        if self.chance >= _IMPLAUSIBLE:
            return ""
        chance = f"p = {self.chance:.1g}" if self.chance > _NEVER else f"p < {_NEVER:g}"
        return (
            "the labelled items do not look drawn at random: the distribution of their scores "
            f"differs (chi-square test, {chance}); if they were chosen, the interval is wrong"
        )


def find_prior_labels(
    # A CSV or Parquet file with the ids in a column named like the predictions' or ``id``, and the
    # answers in ``label``; or ids and answers as `Campaign.tell` takes them.
    labels: object,
    predictions: Predictions,  # all items
    *,
    id_column: str | None,  # name of the predictions' id column
    # variable, scale: stratification variable and its scale.
    variable: Variable,
    scale: Scale,
    sides: list[Side],  # the predicted labels that the metric needs labels of
    classes: Vocabulary,  # possible classes of an item
) -> PriorLabels:
    """Read prior labels, and find their items among the predictions."""
    answers, without_label, source = _read(labels, id_column, predictions.id_kind, classes)
    if not answers:
        raise LabelError(
            f"there are no labels in {source}",
            details=f"{counted(without_label, 'row')} without a label" if without_label else "",
        )
    found = predictions.find(list(answers), variable=variable, scale=scale)
    missing = [id for id, item in zip(answers, found, strict=True) if item is None]
    if missing:
        raise _missing(missing, f"{len(answers):,} labels in {source}", predictions)
    items = [item for item in found if item is not None]
    needed = [item for item in items if None in sides or item.card.predicted in sides]
    if not needed:
        side = "yes" if sides == [True] else "no"
        raise LabelError(
            f"none of the {len(items):,} labels in {source} is of an item predicted {side}",
            hint="estimate another metric, or label items drawn at random among those",
        )
    cards = tuple(item.card for item in needed)
    values = np.array([item.value for item in needed])
    predicted = np.array([bool(card.predicted) for card in cards])
    chance = _chance(
        predictions, values=values, predicted=predicted, variable=variable, scale=scale, sides=sides
    )
    return PriorLabels(
        cards=cards,
        answers=tuple(answers[card.id] for card in cards),
        values=values,
        chance=chance,
        elsewhere=len(items) - len(needed),
        without_label=without_label,
    )


def _missing(ids: list[Id], labels: str, predictions: Predictions) -> LabelError:
    return LabelError(
        f"{len(ids):,} of {labels} are of items that are not among the predictions; nothing was "
        "recorded",
        details=f"first: {', '.join(repr(id) for id in ids[:_SHOW_AT_MOST])}; "
        f"the predictions are {predictions.source}, {predictions.size:,} items, ids are "
        f"{predictions.id_kind}s",
        hint="give the predictions that the labelled items were drawn from, all of them",
        ids=map(str, ids),
    )


def _read(
    labels: object, id_column: str | None, id_kind: str, classes: Vocabulary
) -> tuple[dict[Id, Answer], int, str]:
    """Answers by id, the number of rows without one, and their source."""
    as_id = int if id_kind == "integer" else str
    if isinstance(labels, str | PathLike):
        names = list(dict.fromkeys([id_column or "id", "id"]))
        file = Path(labels)
        read = read_label_file(
            file, id_columns=names, label_column="label", id_kind=id_kind, classes=classes
        )
        answers = {label.item_id: Answer(label.answer) for label in read.rows}
        return {as_id(id): answer for id, answer in answers.items()}, read.without_label, str(file)
    answers = parse_answers(labels, id_kind, classes)
    what = "the mapping" if isinstance(labels, Mapping) else "the pairs"
    return {as_id(id): answer for id, answer in answers.items()}, 0, what


def _chance(
    predictions: Predictions,
    *,
    values: Floats,
    predicted: Bools,
    variable: Variable,
    scale: Scale,
    sides: list[Side],
) -> float:
    """Probability that random samples are spread over the scores so unevenly."""
    sizes, counts, layer = [], [], []
    for number, (side, profile) in enumerate(predictions.profile(variable, scale, sides).items()):
        labels = predicted.size if side is None else int((predicted == side).sum())
        bins = min(max(labels // _LABELS_A_CELL, 1), _MOST_CELLS)
        cells = stratify({side: profile}, variable=variable, method="perc", bins=bins)
        inside = cells.assign(values, predicted)
        sizes.append(cells.sizes)
        counts.append(np.bincount(inside[inside >= 0], minlength=cells.n_strata))
        layer.append(np.full(cells.n_strata, number))
    size, labelled = (np.concatenate(parts).astype(np.float64) for parts in (sizes, counts))
    return chance_of_spread(size, labelled, np.concatenate(layer))


def chance_of_spread(items: Floats, n: Floats, layer: Ints) -> float:
    """Probability that random samples of the layers are spread so unevenly, or more so.

    The chi-square test of the labels' counts against the strata's sizes, within each layer:
    sum (n_h - E_h)^2 / E_h with E_h = n N_h / N, times (N - 1)/(N - n) as no item is drawn twice.

    `items`, `n`, (H,): items and labels of each stratum. The test is good where 5 labels are
    expected; `layer`, (H,): the layer of each stratum.

    >>> size, layer = np.array([1000.0, 1000.0]), np.array([0, 0])
    >>> round(chance_of_spread(size, np.array([55.0, 45.0]), layer), 2)
    0.31
    >>> chance_of_spread(size, np.array([90.0, 10.0]), layer) < 1e-9
    True
    """
    statistic, freedom = 0.0, 0
    for each in np.unique(layer):
        size, labels = items[layer == each], n[layer == each]
        if labels.sum() == 0 or labels.sum() == size.sum():
            continue  # nothing was drawn, or everything
        expected = labels.sum() * size / size.sum()
        left = (size.sum() - 1) / (size.sum() - labels.sum())
        statistic += float(((labels - expected) ** 2 / expected).sum() * left)
        freedom += len(size) - 1
    return chdtrc(freedom, statistic) if freedom else 1.0
