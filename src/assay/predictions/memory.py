"""Predictions in memory: a scanner of arrays, of one or several classifiers."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import Rule, Scale
from assay.core.cuts import Variable, confidence, rank
from assay.core.deck import IdKind
from assay.core.error_model import Model, Values
from assay.core.profile import ScoreCells
from assay.core.tally import cells_of
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.core.weights import impressions
from assay.errors import PredictionsError
from assay.predictions.batches import ALL, Batch, BatchScanner, Some, cells_by_code, keyed
from assay.predictions.class_values import probabilities_at, summed_probabilities, take_classes
from assay.predictions.column import Ids, Loaded, read_ids
from assay.predictions.contract import by_model
from assay.predictions.doubts import Doubt, doubts_of
from assay.predictions.engine import Probabilities, Survey, weight_words
from assay.predictions.layout import Layout
from assay.predictions.opinions import Opinions, opinions_of_several, take_aux, take_opinions
from assay.predictions.passes import odds_words
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

_Checked = tuple[str, tuple[Doubt, ...]]
"""Fingerprint of everything read, and problems with the scores."""
_Read = tuple[Floats, Bools | Ints, Opinions | None, Callable[[ScoreCells], _Checked]]
"""Values and labels, columns for a model, and what follows from the cells."""


class ArrayScanner(BatchScanner):
    """Arrays; they are not copied, and must not change.

    For one classifier, values are its scores, and labels are yes or no, or class numbers. For
    several, or with slices, values are mean ranks and labels are codes: `coded`.
    """

    stays = False
    streams = True
    _slices: tuple[str, ...] = ()  # names of the slices in the bits after the classifiers'
    _limit: float | None = None  # threshold of the predicted label
    _mark: str | None = None  # fingerprint, once a model's log odds have taken the values' place

    def __init__(
        self,
        source: str,  # source of the predictions, for users
        ids: Ids,  # no two alike
        # values, predicted, (N,): finite values without -0.0, and the label or code of each item.
        values: Floats,
        predicted: Bools | Ints,
        # (N,): weight of each item: finite, not negative, not all 0. Items of weight 0 are left
        # out. The others are dealt as they arrive (`assay.core.weights`).
        weights: Floats | None = None,
        *,
        n_codes: int,  # number of possible labels or codes
        coded: bool,
        beside: Opinions | None = None,  # columns for a model of the outcome
    ) -> None:
        self.source, self.n_codes, self.coded, self.beside = source, n_codes, coded, beside
        self.ids, self._there = ids, None
        self.every = Batch(values, predicted, ids)
        if weights is not None:
            self._there = there = np.flatnonzero(weights)
            self.ids, given = ids.take(there), weights[there]
            numbers = impressions(given)
            self.every = Batch(values[there], predicted[there], self.ids, None, numbers, given)

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self.ids.kind

    @abstractmethod
    def checked(self, cells: ScoreCells) -> _Checked:
        """Fingerprint of everything read, and problems with the scores, from the cells."""

    def survey(self, seed: int) -> Survey:
        """Count all items by value and label."""
        del seed  # all cards are at hand
        return self._survey

    @cached_property
    def _survey(self) -> Survey:
        every, weighed, word = self.every, None, None
        every = replace(every, digest=self.ids.digest)
        if self.coded:
            codes = every.predicted.astype(np.int64, copy=False)
            rule: Rule = "probability" if self._mark is None else "margin"
            cells = cells_by_code(replace(every, predicted=codes), n_codes=self.n_codes, rule=rule)
        else:
            labels = every.predicted, every.digest, every.weights
            cells = cells_of(every.values, *labels, classes=self.n_codes)
        if every.weights is not None:
            weighed = cells if self.coded else self.cells("score", "margin")
            word = int(np.bitwise_xor.reduce(weight_words(every.words, every.weights)))
        fingerprint, doubts = self.checked(cells) if self._mark is None else (self._mark, ())
        return Survey(
            cells,
            doubts=doubts,
            fingerprint=fingerprint,
            weighed=weighed,
            weights_word=word,
            slices=self._slices,
            coded=self.coded,
        )

    def items(self, variable: Variable, scale: Scale, some: Some = ALL) -> list[Batch]:
        """All items by a variable, or those with some ids, in one batch."""
        items = self.every
        if variable == "confidence":
            limit = self._limit or 0.0
            values = confidence(items.values, items.predicted.astype(np.bool_), scale, limit)
            items = replace(items, values=values)
        if some.ids is None:
            return [items]
        return [items.at(np.array(list(self._rows_by_id(some.ids).values()), dtype=np.int64))]

    def keyed(self, cells: ScoreCells, below: str = "") -> "Iterator[pa.RecordBatch]":
        """Id, key and weight of every row, all in one batch."""
        del below
        yield keyed(cells, self.every, self.source)

    def opinions(self, ids: Sequence[deck.Id]) -> dict[str, Values]:
        """Values of the score and of every column for a model, for some items."""
        return {} if self.beside is None else self.beside.at(self.rows_of(ids))

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        return 0 if self.beside is None else self.beside.digest(self.ids.digest)

    def placed_by(self, model: Model) -> Self:
        """Copy of the scanner with a model's log odds in place of the values."""
        if self.beside is None:
            return self
        placed = copy(self)
        placed.every = replace(self.every, values=self.beside.log_odds(model, self.ids.digest))
        placed._limit, placed._mark = None, ""  # of one classifier, that of the cells
        if self.coded:
            word = np.bitwise_xor.reduce(odds_words(placed.every))
            placed._mark = by_model(str(self._survey.fingerprint), int(word))
        placed.__dict__.pop("_survey", None)
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

    def rows_of(self, ids: Sequence[deck.Id]) -> Ints:
        """Rows of ids that all exist."""
        rows = self._rows_by_id(ids)
        return np.array([rows[id] for id in ids], dtype=np.int64)


class MemoryScanner(ArrayScanner):
    """Columns in memory, as a layout has them."""

    def __init__(self, loaded: Loaded, layout: Layout) -> None:
        self._loaded, self._layout, self._limit = loaded, layout, layout.first.limit
        ids, name = take_ids(loaded, layout.id), layout.weight
        weights = None if name is None else read_weights(loaded.columns[name], ids)
        read = self._read_codes if layout.is_coded else self._read_scores
        values, predicted, beside, self._check = read(ids)
        items, n_codes = (ids, values, predicted, weights), layout.n_codes(self._slices)
        coded = layout.is_coded
        super().__init__(loaded.source, *items, n_codes=n_codes, coded=coded, beside=beside)

    def _read_scores(self, ids: Ids) -> "_Read":
        """Scores and labels of one classifier."""
        loaded, aux = self._loaded, self._layout.aux
        ((name, role),) = self._layout.judges.items()
        with about(name):
            score, predicted = taken(loaded, role, ids)
        yes, outside = predicted.astype(np.bool_), rows_in_memory(loaded, role, score, ids)

        def check(cells: ScoreCells) -> _Checked:
            return cells.fingerprint(), doubts_of(cells, role, loaded.source, outside)

        beside = take_opinions(loaded, role.score, aux, yes) if aux else None
        return score, predicted, beside, check

    def _read_codes(self, ids: Ids) -> "_Read":
        """Mean ranks and codes of several classifiers, or with slices or second opinions.

        Processes one classifier at a time, so that only one has its scores as float64.
        """
        loaded, layout, judges = self._loaded, self._layout, self._layout.judges
        scores, counted, doubts = dict[str, Floats](), list[ScoreCells](), list[Doubt]()
        codes, total = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids))
        digest = ids.digest if layout.is_one else None  # for the fingerprint
        for place, (name, role) in enumerate(judges.items()):
            with about(name):
                score, predicted = taken(loaded, role, ids)
            codes += predicted.astype(np.int64) * role.n_classes**place
            if layout.aux and (role.has_score or len(judges) == 1):
                scores[name] = score
            counted.append(cells_of(score, predicted, digest, classes=role.n_classes))
            if role.has_score:
                total += rank(score, counted[-1].profile(None))
                outside = rows_in_memory(loaded, role, score, ids)
                own = doubts_of(counted[-1], role, loaded.source, outside)
                doubts += [each.about(name) for each in own]
        scored = sum(role.has_score for role in judges.values())
        ranks = total / scored if scored else np.full(len(ids), NO_SCORE)
        self._slices, bits = read_slices(loaded, layout.groups)
        codes |= bits << len(judges)

        def check(cells: ScoreCells) -> _Checked:
            return layout.fingerprint(counted, cells), tuple(doubts)

        aux = take_aux(loaded, layout.aux)
        beside = opinions_of_several(aux, scores, codes, ranks) if aux else None
        return ranks, codes, beside, check

    def checked(self, cells: ScoreCells) -> _Checked:
        """Fingerprint of everything read, and problems with the scores, from the cells."""
        return self._check(cells)

    def show(self, ids: Sequence[deck.Id]) -> list[dict[str, object]]:
        """Show the values of the items with these ids, in their order."""
        rows = self.rows_of(ids)
        return self._loaded.show(rows if self._there is None else self._there[rows], ids)

    @property
    def probabilities(self) -> Sequence[Probabilities | None]:
        """Reader of each classifier's probabilities of all classes, if it has them."""

        def reader(role: Roles, classes: Vocabulary) -> Probabilities:
            columns = [self._loaded.columns[name] for name in role.of_class]

            def read(ids: Sequence[deck.Id]) -> tuple[Ids, Floats]:
                rows = self.rows_of(ids)
                return self.ids.take(rows), probabilities_at(columns, classes, self.ids, rows)

            return read

        return [
            None if role.classes is None or not role.of_class else reader(role, role.classes)
            for role in self._layout.judges.values()
        ]

    def summed_probabilities(self) -> Floats | None:
        """Sum the probabilities of each class by predicted class, shape (K, K)."""
        numbers = self.every.predicted.astype(np.int64)
        return summed_probabilities(self._loaded, self._layout.first, numbers, self.ids)


def in_memory(loaded: Loaded, layout: Layout) -> Predictions:
    """Predictions on arrays."""
    scanner = MemoryScanner(loaded, layout)
    predictions = Predictions(
        scanner,
        threshold=None if layout.is_coded else layout.first.limit,
        classifiers=layout.classifiers,
        vocabulary=layout.vocabulary,
        reopen=scanner.placed_by if layout.aux else None,
    )
    return predictions if layout.model is None else predictions.with_model(layout.model)


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


def taken(loaded: Loaded, role: Roles, ids: Ids) -> tuple[Floats, Bools | Ints]:
    """Scores and labels of a classifier."""
    if role.classes is None:
        return take_judgements(loaded, role, ids)
    return take_classes(loaded, role, role.classes, ids)


def ranks_of(score: Floats, predicted: Bools | Ints, classes: int = 2) -> Floats:
    """Rank of each item by its score, from 0 to 1."""
    return rank(score, cells_of(score, predicted, classes=classes).profile(None))
