"""Predictions: an engine counts them, in memory or in place, and returns drawn items.

A named classifier is stratified by the rank of the score (`assay.core.cuts.rank`), which is equal
for all items of a bin. So everything follows from the counts of the first pass, and strata by rank
can be dealt by score. For several classifiers, the engine counts and deals by the mean rank, and
predicted labels are codes.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np

from assay.core import deck
from assay.core.bins import Scale
from assay.core.cells import Heap, Part, assign_strata, count_cells, count_parts
from assay.core.cuts import VARIABLES, Variable, rank
from assay.core.deck import IdKind
from assay.core.error_model import Model, Values
from assay.core.groups import NO_GROUPS, Groups
from assay.core.profile import Profile, ScoreCells
from assay.core.strata import UNNAMED, Side, Strata
from assay.core.targets import name_of
from assay.core.types import Bools, Ints
from assay.core.vocabulary import OfClasses, Vocabulary
from assay.errors import PredictionsError
from assay.predictions.contract import BY_MODEL, Card, ClassScores, Found, marked, named
from assay.predictions.doubts import Doubt
from assay.predictions.draw import (
    TOP,
    ArrivalTimes,
    Candidates,
    Shares,
    by_score,
    checked_counts,
    counts_of_parts,
    joined,
    listed_first,
    refuse_repeated,
    spans_of,
    stratum_of_cells,
    with_weights,
)
from assay.predictions.engine import Scanner, number_of
from assay.predictions.opinions import bound_seed, without_opinions
from assay.predictions.roles import refuse_distant, refuse_improbable, refuse_unknown_variable

Reopen = Callable[[Model], Scanner]


class Predictions(OfClasses):
    """Output of one or several classifiers for every item of a population.

    Predictions of several classifiers for an item form a code: bit k is set if the k-th says yes;
    with more classes than two, it is sum_k c_k K^k, where c_k is the number of the k-th
    classifier's class. Predicted yes then means that at least one predicts yes, or another class
    than the first. The score of named classifiers is the mean rank.

    Results do not depend on the container that predictions are read from nor, if they have ids, on
    the order of rows.
    """

    def __init__(
        self,
        scanner: Scanner,  # the engine
        *,
        vocabulary: Vocabulary,  # classes; others than no and yes need a named classifier
        threshold: float | None = None,  # threshold of the predicted label
        # Seed whose first cards the first pass may list. Another seed gives correct results, too,
        # but costs a pass.
        seed: int = 0,
        # Whether to check every id for repetitions, not only those drawn.
        check_ids: bool = False,
        classifiers: tuple[str, ...] = UNNAMED,  # their names, in the order of the places of a code
        # Meaning of the bits of a code after the classifiers', if not slices.
        groups: Groups = NO_GROUPS,
        # Opens the predictions with a model's log odds in place of the score.
        reopen: Reopen | None = None,
        # Whether the seed depends on the columns for a model (`bound_seed`)
        bind: bool = False,
    ) -> None:
        self._reopen = reopen
        self.threshold, self.classifiers = threshold, classifiers
        self._vocabulary = vocabulary.bare
        self.scanner = scanner
        self._seed = seed = bound_seed(seed, self.opinions_digest()) if bind else seed
        if check_ids:
            scanner.refuse_repeated_ids()
        self.survey = scanner.survey(seed)
        self.groups = Groups(self.survey.slices) if self.survey.slices else groups
        self._cells: dict[tuple[Variable, Scale], ScoreCells] = {}
        if self.survey.listed is not None and not check_ids:
            refuse_repeated(self.survey.listed.ids, self.source, self.size)

    def __repr__(self) -> str:
        """Source of the predictions, the classifiers, and the number of yes."""
        names = ", ".join(filter(None, map(name_of, self.classifiers)))
        by = f" by {names}" if names else ""
        if self.of_classes:
            says = f"{len(self.classes):,} classes{self.vocabulary.note}"
        elif self.is_by_score:
            says = f"{self.positives:,} say yes"
        else:
            says = f"to {self.positives:,} one says yes"
        return f"<predictions of {self.source}{by}: {says}>"

    @property
    def vocabulary(self) -> Vocabulary:
        """The classes."""
        return self._vocabulary

    @property
    def source(self) -> str:
        """Source, for users."""
        return self.scanner.source

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self.scanner.id_kind

    @property
    def parts(self) -> tuple["Predictions", ...]:
        """Parts: the predictions from each place that they were read from."""
        parts: tuple[Predictions, ...] = self.scanner.parts
        model = self.fingerprint().partition(BY_MODEL)[2]
        if parts and model:  # fitted to all of them, so it shows whether they have changed
            return tuple(part.marked(f"{BY_MODEL[1:]}{model}") for part in parts)
        return parts or (self,)

    @property
    def size(self) -> int:
        """The number of items."""
        return self.survey.cells.size

    @property
    def is_by_score(self) -> bool:
        """Whether strata are by the score of one classifier, which then has no name."""
        return self.classifiers == UNNAMED

    @property
    def weighted(self) -> bool:
        """Whether items count by weight."""
        return self.survey.weighed is not None

    @property
    def positives(self) -> int:
        """The number of items predicted yes."""
        counted = self.survey.cells
        return int(counted.count[self._yes(counted)].sum())

    def _yes(self, cells: ScoreCells) -> Bools:
        """Which cells have items predicted yes, by at least one of several.

        If classifiers were applied to their own items, codes end with bits for that.
        """
        unit = self.vocabulary.kinds ** len(self.classifiers)
        return np.asarray(cells.predicted.astype(np.int64) % unit != 0)

    @property
    def _counts_ranks(self) -> bool:
        """Whether the engine itself counts by mean rank and code."""
        return len(self.classifiers) > 1 or self.survey.coded

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Problems with the scores."""
        if self._counts_ranks:
            return self.survey.doubts
        return tuple(each.about(self.classifiers[0]) for each in self.survey.doubts)

    @property
    def score_range(self) -> tuple[float, float]:
        """Smallest and largest score, or rank for named classifiers."""
        low, high = (self.survey.cells if self.is_by_score else self._rank_cells).score_range
        return low + 0.0, high + 0.0  # -0.0 becomes 0.0, as it does in memory

    def as_it_is_now(self) -> "Predictions":
        """Copy of the predictions after a new pass: the data may have changed."""
        return self._by(self.scanner.again(), self.threshold)

    def opinions(self, ids: Sequence[deck.Id]) -> dict[str, Values]:
        """Values of the score and of every column for a model, for some items; costs a pass."""
        return self.scanner.opinions(ids)

    @cached_property
    def _opinions_digest(self) -> int:
        return self.scanner.opinions_digest()

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does; costs a pass."""
        return self._opinions_digest

    def with_model(self, model: Model) -> "Predictions":
        """Copy of the predictions with a model's log odds in place of the score; costs a pass."""
        if self._reopen is None:
            raise without_opinions(self.source)
        return self._by(self._reopen(model), threshold=None)

    def _by(self, scanner: Scanner, threshold: float | None) -> "Predictions":
        """Copy of the predictions, counted by another scanner."""
        return Predictions(
            scanner,
            threshold=threshold,
            seed=self._seed,
            classifiers=self.classifiers,
            vocabulary=self.vocabulary,
            groups=self.groups,
            reopen=self._reopen,
        )

    def marked(self, mark: str) -> "Predictions":
        """Copy of the predictions with a mark for a model's log odds in the fingerprint."""
        again = copy(self)
        again.__dict__["_fingerprint"] = marked(self.fingerprint(), mark)
        return again

    def fingerprint(self) -> str:
        """Text that changes if an id, a predicted label or the bin of a score does.

        It also changes if a weight does.
        """
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        fingerprint = self.survey.fingerprint or self.survey.cells.fingerprint()
        word = self.survey.weights_word
        return fingerprint if word is None else with_weights(fingerprint, word)

    def profile(
        self, variable: Variable, scale: Scale, sides: Sequence[Side]
    ) -> dict[Side, Profile]:
        """Distribution of the stratification variable on each side, by weight."""
        cells = self._cells_by(variable, scale).by_weight
        if variable == "rank":
            yes = self._yes(cells)
            inside = {side: yes | ~yes if side is None else yes == side for side in sides}
            return {side: self._ranks_of(those) for side, those in inside.items()}
        return {side: cells.profile(side) for side in sides}

    def class_scores(self) -> ClassScores | None:
        """Scores of a classifier of several classes; costs a pass over all probabilities."""
        if not self.of_classes or self._counts_ranks:
            return None
        return ClassScores(self.survey.cells, self.scanner.summed_probabilities())

    def cells(self) -> dict[int, int]:
        """Weight of the items with each code that occurs."""
        counted = self.survey.cells.by_weight
        return count_cells(counted.predicted.astype(np.int64), counted.count)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Distribution of the rank among the items with each heap's codes."""
        predicted = self.survey.cells.predicted
        profiles = [self._ranks_of(np.isin(predicted, list(heap))) for heap in heaps]
        return [replace(profile, scale=self._rank_scale) for profile in profiles]

    def _ranks_of(self, inside: Bools) -> Profile:
        """Distribution of the ranks of items in some cells."""
        return self._rank_cells.by_weight.rebinned(inside, self._rank_scale)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Count the items in each part of the strata into which the heaps are cut."""
        ranked = self._rank_cells
        return count_parts(ranked.low, ranked.predicted.astype(np.int64), heaps, ranked.count)

    def count(self, strata: Strata, *, scale: Scale) -> Ints:
        """Count the items in each stratum, by the strata's own cuts."""
        items, _ = self._sizes(strata, scale)
        return items

    def weighed(self, strata: Strata, *, scale: Scale) -> Strata:
        """Strata cut by weight, with the number and the weight of the items in each."""
        if not self.weighted:
            return strata
        if not strata.is_named:
            return strata.weighed(*self._sizes(strata, scale))
        counts = counts_of_parts(strata, self._rank_cells)
        if counts is None:
            raise PredictionsError(f"the strata were not cut from {self.source}")
        return strata.weighed(*counts)

    def _sizes(self, strata: Strata, scale: Scale) -> tuple[Ints, Ints]:
        """Count and weigh the items in each stratum."""
        variable = self._variable_of(strata)
        cells = self._cells_by(variable, scale)
        of_cell = stratum_of_cells(strata, cells)
        if of_cell is None:
            stratum, spans = spans_of(strata.heaps, [TOP] * strata.n_strata, by_code=self._by_code)
            counts = self.scanner.count(spans, variable, scale)
        else:
            inside = of_cell >= 0
            stratum = of_cell[inside]
            counts = np.stack([cells.count[inside], cells.by_weight.count[inside]])
        items, weights = np.zeros((2, strata.n_strata), dtype=np.int64)
        np.add.at(items, stratum, counts[0])
        np.add.at(weights, stratum, counts[1])
        return items, weights

    def deal(
        self, strata: Strata, *, scale: Scale, seed: int, counts: Sequence[int]
    ) -> list[list[Card]]:
        """First ``counts[h]`` cards of every stratum h, in deck order.

        Fewer if the stratum has fewer items. With weights, by their first arrivals.

        Parameters
        ----------
        strata : Strata
            The strata to deal from.
        scale : Scale
            What the scores are: probabilities or margins.
        seed : int
            Of the deck.
        counts : sequence of int
            Cards wanted of each stratum.
        """
        variable = self._variable_of(strata)
        # Counted, because the strata may be of a population of which these are only a part.
        sizes, weights = self._sizes(strata, scale)
        wanted = np.minimum(checked_counts(counts, strata.n_strata), sizes)
        if not wanted.any():
            return [[] for _ in wanted]
        parts = []
        listed, short = None, wanted > 0
        if variable != "confidence":
            listed = listed_first(self.survey, self._cells_by(variable, scale), strata, seed)
        if listed is not None:
            short = np.bincount(listed.stratum, minlength=strata.n_strata) < wanted
            parts.append(listed.only(~short))
        if short.any():
            missing = wanted * short
            by_time = ArrivalTimes(missing, weights, sizes) if self.weighted else None
            asked = missing, by_time or Shares(missing, sizes), seed
            parts.append(self._ask(strata, *asked, variable=variable, scale=scale))
        candidates = joined(parts)
        return self._cards(candidates, candidates.first(wanted, np.maximum(sizes, 1), seed))

    def find(
        self, ids: Sequence[deck.Id], *, variable: Variable, scale: Scale
    ) -> list[Found | None]:
        """Items with these ids; None for missing ones."""
        wanted = [id for id in dict.fromkeys(ids) if self._could_be(id)]
        if not wanted:
            return [None for _ in ids]
        self._refuse_impossible(variable, scale)
        by = "score" if variable == "rank" else variable  # or else the engine's values are ranks
        rows = self.scanner.find(wanted, variable=by, scale=scale)
        refuse_repeated(rows.ids, self.source, self.size)
        there = rows.ids.at(np.arange(len(rows.ids)))
        by_rank = variable == "rank" and not self._counts_ranks
        values = rank(rows.values, self._scores) if by_rank else rows.values + 0.0
        every = np.arange(len(there))
        candidates = Candidates(rows.ids, every, rows.predicted, rows.shown, rows.weights)
        (cards,) = self._cards(candidates, [every])
        by_id = dict(zip(there, map(Found, cards, values.tolist()), strict=True))
        return [by_id.get(id) for id in ids]

    def _could_be(self, id: deck.Id) -> bool:
        if isinstance(id, str):
            return self.id_kind == "string"
        return self.id_kind == "integer" and -(2**63) <= id < 2**64

    @property
    def has_probabilities(self) -> tuple[bool, ...]:
        """Whether each classifier was read with the probabilities of all classes."""
        result = self.scanner.has_probabilities  # of several classifiers in place, none has
        return result if len(result) > 1 else result * len(self.classifiers)

    def ranked(self, ids: Sequence[deck.Id], k: int) -> list[list[list[int]]]:
        """Rank the k most probable classes of each item, for each classifier.

        Empty for a classifier that was read without probabilities.
        """
        if not any(self.has_probabilities):
            return [[[] for _ in self.classifiers] for _ in ids]
        return self.scanner.ranked(ids, k)

    def _cells_by(self, variable: Variable, scale: Scale) -> ScoreCells:
        self._refuse_impossible(variable, scale)
        if variable == "score":
            return self.survey.weighed or self.survey.cells
        if variable == "rank":
            return self._rank_cells
        if (variable, scale) not in self._cells:
            self._cells[variable, scale] = self.scanner.cells(variable, scale)
        return self._cells[variable, scale]

    @cached_property
    def _scores(self) -> Profile:
        """Scores of all items: a cell for each bin."""
        return self.survey.cells.profile(None)

    @cached_property
    def _rank_cells(self) -> ScoreCells:
        """Cells of the first pass, with the rank of each cell's items."""
        if self._counts_ranks:
            return self.survey.cells
        ranks = rank(self.survey.cells.low, self._scores)
        return replace(self.survey.cells, low=ranks, high=ranks)

    @property
    def _rank_scale(self) -> Scale:
        """Scale of values of named classifiers: log odds of a model, or ranks."""
        by_model = self._counts_ranks and self.survey.cells.rule == "margin"
        return "margin" if by_model else "probability"

    def _variable_of(self, strata: Strata) -> Variable:
        if strata.classifiers != self.classifiers:
            raise PredictionsError(
                f"the strata are of {named(strata.classifiers)}, and the predictions of "
                f"{named(self.classifiers)}",
                hint="read the predictions of the same classifiers, in the same order",
            )
        refuse_unknown_variable(strata.variable, self._variables)
        return cast(Variable, strata.variable)

    @property
    def _by_code(self) -> bool:
        return self._counts_ranks or self.of_classes

    @property
    def _variables(self) -> tuple[str, ...]:
        return VARIABLES if self.is_by_score else ("rank",)

    def _refuse_impossible(self, variable: str, scale: Scale) -> None:
        refuse_unknown_variable(variable, self._variables)
        if variable == "confidence" and scale == "probability":
            refuse_improbable(self.score_range, self.source)
        elif variable == "confidence":
            refuse_distant(self.score_range, self.threshold, self.source)

    def _ask(
        self,
        strata: Strata,
        wanted: Ints,  # (H,): the cards wanted of each stratum
        reach: "Shares | ArrivalTimes",  # how far to look for them
        seed: int,
        *,
        variable: Variable,
        scale: Scale,
    ) -> "Candidates":
        """Fetch at least the wanted number of first cards of each stratum."""
        heaps: Sequence[Heap] = strata.heaps
        by_rank = variable == "rank"
        if by_rank:
            heaps = heaps if self._counts_ranks else by_score(strata, self._scores)
            variable = "score"
        again = True
        while again:
            _, spans = spans_of(heaps, reach.limits.tolist(), wanted > 0, by_code=self._by_code)
            rows = self.scanner.rows(spans, variable=variable, scale=scale, seed=seed)
            if by_rank:
                stratum = assign_strata(rows.values, rows.predicted.astype(np.int64), heaps)
            else:
                stratum = strata.assign(rows.values, rows.predicted)
            weights = np.ones_like(stratum) if rows.weights is None else rows.weights
            again = reach.wait(stratum, number_of(rows.ids.digest, seed), weights)
        short = np.bincount(stratum, minlength=strata.n_strata) < wanted
        if short.any():
            raise PredictionsError(
                f"{self.source} has changed since it was read",
                details=f"{short.sum()} strata hold fewer items than were counted",
            )
        refuse_repeated(rows.ids, self.source, self.size)
        return Candidates(rows.ids, stratum, rows.predicted, rows.shown, rows.weights)

    def _cards(self, candidates: "Candidates", places: list[Ints]) -> list[list[Card]]:
        chosen = np.concatenate(places)
        ids = candidates.ids.at(chosen)
        if candidates.shown is None:
            shown = self.scanner.show(ids) if ids else []
        else:
            shown = [candidates.shown[place] for place in chosen.tolist()]
        weights = (
            [None] * len(ids) if candidates.weights is None else candidates.weights[chosen].tolist()
        )
        kind = bool if self.is_by_score else int  # codes for named classifiers
        predicted = map(kind, candidates.predicted[chosen].tolist())
        facts = zip(ids, predicted, shown, weights, strict=True)
        cards = iter([Card(*each) for each in facts])
        return [[next(cards) for _ in place] for place in places]
