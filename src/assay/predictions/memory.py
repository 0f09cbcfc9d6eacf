"""Predictions in memory: a scanner of arrays, of one or several classifiers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import Rule, Scale
from assay.core.cuts import Variable, confidence, rank
from assay.core.deck import IdKind
from assay.core.error_model import Model, Values
from assay.core.profile import ScoreCells, profile_of
from assay.core.tally import cells_of
from assay.core.types import Bools, Floats, Ints, Words
from assay.core.weights import impressions
from assay.errors import PredictionsError
from assay.predictions.batches import ALL, Batch, BatchScanner, Some, cells_by_code, keyed
from assay.predictions.class_values import probabilities_at, summed_probabilities, take_classes
from assay.predictions.column import Ids, Loaded, Show, read_ids
from assay.predictions.contract import Doubt, by_model
from assay.predictions.draw import weight_words
from assay.predictions.engine import Probabilities, Survey
from assay.predictions.faults import doubts_of
from assay.predictions.layout import Layout
from assay.predictions.opinions import Opinions, opinions_of_several, take_aux, take_opinions
from assay.predictions.predictions import Predictions
from assay.predictions.roles import NO_SCORE, Roles, about
from assay.predictions.values import (
    read_predicted,
    read_scores,
    read_slices,
    read_weights,
    refuse_contradictions,
    rows_in_memory,
)

ProbabilitiesOfRows = Callable[[Ints], Floats]
"""Probabilities of all classes for some rows, shape (n, K)."""


class MemoryScanner(BatchScanner):
    """Arrays; they are not copied, and must not change.

    For one classifier, values are its scores, and labels are yes or no, or class numbers. For
    several, or with slices, values are mean ranks and labels are codes: `coded`.
    """

    stays = False
    streams = True

    def __init__(
        self,
        *,
        source: str,  # source of the predictions, for users
        ids: Ids,  # no two alike
        # values, predicted, (N,): finite values without -0.0, and the label or code of each item.
        values: Floats,
        predicted: Bools | Ints,
        show: Show,  # returns the displayed values of some items
        threshold: float | None = None,  # threshold of the predicted label
        n_codes: int = 2,  # number of possible labels or codes
        coded: bool = False,
        # (N,): weight of each item: finite, not negative, not all 0. Items of weight 0 are left
        # out. The others are dealt as they arrive (`assay.core.weights`).
        weights: Floats | None = None,
        parts: tuple[Predictions, ...] = (),  # the joined parts, if any
        slices: tuple[str, ...] = (),  # names of the slices in the bits after the classifiers'
        # Fingerprint of everything read, from the cells; default: that of the cells.
        fingerprint: Callable[[ScoreCells], str] = ScoreCells.fingerprint,
        # Problems with the scores, from their counts.
        doubts: Callable[[ScoreCells], tuple[Doubt, ...]] = lambda _: (),
        opinions: Opinions | None = None,  # columns for a model of the outcome
        placed: bool = False,  # whether a model's log odds have taken the values' place
        probabilities: Sequence[ProbabilitiesOfRows | None] = (None,),  # of each classifier
        # Sums of the probabilities of each class by predicted class.
        sums: Callable[[], Floats | None] = lambda: None,
    ) -> None:
        self.source, self.parts, self.coded, self._threshold = source, parts, coded, threshold
        self.n_codes, self._slices, self._placed = n_codes, slices, placed
        self._fingerprint, self._doubts, self.beside = fingerprint, doubts, opinions
        self._probabilities, self._sums = probabilities, sums
        self._impressions: Ints | None = None
        if weights is not None:
            there = np.flatnonzero(weights)
            ids, values, predicted = ids.take(there), values[there], predicted[there]
            show, weights = _of_rows(show, there), weights[there]
            self._impressions = impressions(weights)
        self.ids, self.values, self.predicted, self.weights = ids, values, predicted, weights
        self.show_rows = show

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self.ids.kind

    def survey(self, seed: int) -> Survey:
        """Count all items by value and label."""
        del seed  # all cards are at hand
        return self._survey

    @cached_property
    def _survey(self) -> Survey:
        cells, weighed, word = self._counted(), None, None
        if self._impressions is not None:
            weighed = cells if self.coded else self.cells("score", "margin")
            words = weight_words(self.ids.digest, self._impressions)
            word = int(np.bitwise_xor.reduce(words))
        return Survey(
            cells,
            doubts=self._doubts(cells),
            fingerprint=self._fingerprint(cells),
            weighed=weighed,
            weights_word=word,
            slices=self._slices,
            coded=self.coded,
        )

    def _counted(self) -> ScoreCells:
        digest, weights = self.ids.digest, self._impressions
        if not self.coded:
            return cells_of(self.values, self.predicted, digest, weights, classes=self.n_codes)
        codes = self.predicted.astype(np.int64, copy=False)
        items = Batch(self.values, codes, digest=digest, weights=weights)
        rule: Rule = "margin" if self._placed else "probability"
        return cells_by_code(items, n_codes=self.n_codes, rule=rule)

    def items(self, variable: Variable, scale: Scale, some: Some = ALL) -> list[Batch]:
        """All items by a variable, or those with some ids, in one batch."""
        values, weights = self.values, self._impressions
        if variable == "confidence":
            limit = self._threshold or 0.0
            values = confidence(values, self.predicted.astype(np.bool_), scale, limit)
        items = Batch(values, self.predicted, self.ids, self.ids.digest, weights, self.weights)
        if some.ids is None:
            return [items]
        return [items.at(np.array(list(self._rows_by_id(some.ids).values()), dtype=np.int64))]

    def keyed(self, cells: ScoreCells, below: str = "") -> "Iterator[pa.RecordBatch]":
        """Id, key and weight of every row, all in one batch."""
        del below
        (items,) = self.items("score", "margin")
        yield keyed(cells, items, self.source)

    def show(self, ids: Sequence[deck.Id]) -> list[dict[str, object]]:
        """Show the values of the items with these ids, in their order."""
        return self.show_rows(self._rows_of(ids), ids)

    @property
    def probabilities(self) -> Sequence[Probabilities | None]:
        """Reader of each classifier's probabilities of all classes, if it has them."""

        def reader(of_rows: ProbabilitiesOfRows) -> Probabilities:
            def read(ids: Sequence[deck.Id]) -> tuple[Ids, Floats]:
                rows = self._rows_of(ids)
                return self.ids.take(rows), of_rows(rows)

            return read

        return [None if each is None else reader(each) for each in self._probabilities]

    def summed_probabilities(self) -> Floats | None:
        """Sum the probabilities of each class by predicted class, shape (K, K)."""
        return self._sums()

    def opinions(self, ids: Sequence[deck.Id]) -> dict[str, Values]:
        """Values of the score and of every column for a model, for some items."""
        return {} if self.beside is None else self.beside.at(self._rows_of(ids))

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        return 0 if self.beside is None else self.beside.digest(self.ids.digest)

    def placed_by(self, model: Model) -> "MemoryScanner":
        """Copy of the scanner with a model's log odds in place of the values."""
        if self.beside is None:
            return self
        odds = self.beside.log_odds(model, self.ids.digest)
        words = deck.mix(self.ids.digest ^ deck.mix(odds.view(np.uint64)))
        marked = by_model(str(self._survey.fingerprint), int(np.bitwise_xor.reduce(words)))
        placed = copy(self)
        placed.__dict__.pop("_survey")
        placed.values, placed._placed, placed._threshold = odds, True, None
        placed._doubts, placed._probabilities, placed._sums = lambda _: (), (None,), lambda: None
        placed._fingerprint = (lambda _: marked) if self.coded else ScoreCells.fingerprint
        return placed

    def refuse_repeated_ids(self) -> None:
        """Do nothing: ids were checked when the predictions were read."""

    def _rows_by_id(self, ids: Sequence[deck.Id]) -> dict[deck.Id, int]:
        """Rows of the ids that exist."""
        wanted = deck.digest([*dict.fromkeys(ids)])
        # Few rows share the last bits with a wanted digest; only these are compared in full. Two
        # ids in 2^64 share a digest; as keys the ids differ.
        ends = np.zeros(2**16, dtype=np.bool_)
        ends[wanted.astype(np.uint16)] = True
        some = np.flatnonzero(ends[self.ids.digest.astype(np.uint16)])
        some = some[np.isin(self.ids.digest[some], wanted)]
        there = dict(zip(self.ids.at(some), some.tolist(), strict=True))
        return {id: there[id] for id in ids if id in there}

    def _rows_of(self, ids: Sequence[deck.Id]) -> Ints:
        rows = self._rows_by_id(ids)
        return np.array([rows[id] for id in ids], dtype=np.int64)


def _of_rows(show: Show, there: Ints) -> Show:
    """Show the values of items, given by their positions among the rows read."""
    return lambda rows, ids: show(there[rows], ids)


# Predictions on arrays, from columns in memory.


def in_memory(loaded: Loaded, layout: Layout) -> Predictions:
    """Predictions on arrays."""
    ids, name = take_ids(loaded, layout.id), layout.weight
    weights = None if name is None else read_weights(loaded.columns[name], ids)
    scan = _of_codes if layout.is_coded else _of_scores
    scanner = scan(loaded, layout, ids, weights)
    predictions = Predictions(
        scanner,
        threshold=None if layout.is_coded else layout.first.limit,
        classifiers=layout.classifiers,
        vocabulary=layout.vocabulary,
        reopen=scanner.placed_by if layout.aux else None,
    )
    return predictions if layout.model is None else predictions.with_model(layout.model)


def _of_scores(loaded: Loaded, layout: Layout, ids: Ids, weights: Floats | None) -> MemoryScanner:
    """Scanner of one classifier, by its scores and labels."""
    ((name, role),) = layout.judges.items()
    with about(name):
        score, predicted = taken(loaded, role, ids)
    yes = predicted.astype(np.bool_)
    return MemoryScanner(
        source=loaded.source,
        ids=ids,
        values=score,
        predicted=predicted,
        show=loaded.show,
        threshold=role.limit,
        n_codes=role.n_classes,
        weights=weights,
        doubts=lambda cells: doubts_of(
            cells, role, loaded.source, rows_in_memory(loaded, role, score, ids)
        ),
        opinions=take_opinions(loaded, role.score, layout.aux, yes) if layout.aux else None,
        probabilities=_probabilities(loaded, layout, ids),
        sums=lambda: summed_probabilities(loaded, role, predicted.astype(np.int64), ids),
    )


def _of_codes(loaded: Loaded, layout: Layout, ids: Ids, weights: Floats | None) -> MemoryScanner:
    """Scanner of mean ranks and codes."""
    digest = ids.digest if layout.is_one else None
    judged = judge(loaded, layout.judges, ids, keep_scores=bool(layout.aux), digest=digest)
    slices, bits = read_slices(loaded, layout.groups)
    codes = judged.codes | bits << len(layout.judges)
    aux = take_aux(loaded, layout.aux)
    return MemoryScanner(
        source=loaded.source,
        ids=ids,
        values=judged.ranks,
        predicted=codes,
        show=loaded.show,
        n_codes=layout.n_codes(slices),
        coded=True,
        weights=weights,
        slices=slices,
        fingerprint=lambda cells: layout.fingerprint(judged.cells, cells),
        doubts=lambda _: judged.doubts,
        opinions=opinions_of_several(aux, judged.scores, codes, judged.ranks) if aux else None,
        probabilities=_probabilities(loaded, layout, ids),
    )


def _probabilities(loaded: Loaded, layout: Layout, ids: Ids) -> list[ProbabilitiesOfRows | None]:
    """For each classifier, a function from rows to the probabilities of all classes."""
    return [
        None
        if role.classes is None or not role.of_class
        else partial(
            probabilities_at, [loaded.columns[name] for name in role.of_class], role.classes, ids
        )
        for role in layout.judges.values()
    ]


# Judgements: scores, labels and codes of all items, and checks of them.


def take_ids(loaded: Loaded, id: str | None) -> Ids:
    """Ids from a column, or else the row numbers."""
    size = len(next(iter(loaded.columns.values())).data)
    if size == 0:
        raise PredictionsError(f"there are no predictions in {loaded.source}")
    return Ids(np.arange(size)) if id is None else read_ids(loaded.columns[id])


def take_judgements(loaded: Loaded, roles: Roles, ids: Ids) -> tuple[Floats, Bools]:
    """Read a classifier's scores and predicted labels; raise if they are invalid.

    >>> roles = Roles(score="p", predicted=None, id=None, threshold=0.5, positive=None)
    >>> from assay.predictions.duckdb.loading import load
    >>> loaded = load({"p": [0.9, 0.2]}, roles.columns, (), None)
    >>> take_judgements(loaded, roles, take_ids(loaded, None))
    (array([0.9, 0.2]), array([ True, False]))
    """
    columns = loaded.columns
    score = np.zeros(len(ids)) if roles.score is None else read_scores(columns[roles.score], ids)
    if roles.predicted is not None:
        predicted = read_predicted(columns[roles.predicted], roles.positive, ids)
        score = roles.positive_scores(score, predicted)
        refuse_contradictions(score, predicted, roles, columns[roles.predicted], ids)
    elif roles.limit is not None:  # Roles ensures that one of the two is given
        score = roles.positive_scores(score, None)
        predicted = score >= roles.limit
    return score, predicted


@dataclass(frozen=True, eq=False)
class Judgements:
    """Predictions of several classifiers for each item."""

    codes: Ints  # bit k is set if the k-th says yes; with classes, `Vocabulary.code`
    ranks: Floats  # the mean rank by their scores
    cells: tuple[ScoreCells, ...]  # the items by the score of each classifier
    doubts: tuple[Doubt, ...]  # problems with their scores
    scores: Mapping[str, Floats]  # of each classifier with scores, or of the only one, if kept


def judge(
    loaded: Loaded,
    roles: Mapping[str, Roles],
    ids: Ids,
    *,
    keep_scores: bool = False,
    digest: Words | None = None,  # of the ids, if the fingerprint of the cells is needed
) -> Judgements:
    """Judgements of all classifiers.

    Processes one classifier at a time, so that only one has its scores as float64.
    """
    scores: dict[str, Floats] = {}
    codes = np.zeros(len(ids), dtype=np.int64)
    total = np.zeros(len(ids))
    counted, doubts = list[ScoreCells](), list[Doubt]()
    for place, (name, role) in enumerate(roles.items()):
        with about(name):
            score, predicted = taken(loaded, role, ids)
        codes += predicted.astype(np.int64) * role.n_classes**place
        if keep_scores and (role.has_score or len(roles) == 1):
            scores[name] = score
        cells = cells_of(score, predicted, digest, classes=role.n_classes)
        counted.append(cells)
        if role.has_score:
            total += rank(score, profile_of(score, cells.rule))
            doubts += [
                each.about(name)
                for each in doubts_of(
                    cells, role, loaded.source, rows_in_memory(loaded, role, score, ids)
                )
            ]
    scored = sum(role.has_score for role in roles.values())
    ranks = total / scored if scored else np.full(len(ids), NO_SCORE)
    return Judgements(codes, ranks, tuple(counted), tuple(doubts), scores)


def taken(loaded: Loaded, role: Roles, ids: Ids) -> tuple[Floats, Bools | Ints]:
    """Scores and labels of a classifier."""
    if role.classes is None:
        return take_judgements(loaded, role, ids)
    return take_classes(loaded, role, role.classes, ids)


def ranks_of(score: Floats, predicted: Bools | Ints, classes: int = 2) -> Floats:
    """Rank of each item by its score, from 0 to 1."""
    return rank(score, profile_of(score, cells_of(score, predicted, classes=classes).rule))
