"""Scanned predictions: they stay where they are; an engine counts them and returns drawn items.

A classifier that has a name is cut by the rank of the score (`assay.core.cuts.rank`), which is
the same for all items of a bin. So all that is asked follows from the counts of the first pass, and
what is cut by rank can be dealt by score. Of several classifiers the engine itself counts and deals
by the mean rank, and what an item is predicted to be is a code.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import cast

import numpy as np

from assay.core import deck
from assay.core.bins import Scale, bins_of
from assay.core.cells import Heap, Part, assign_strata, count_cells, count_parts
from assay.core.cuts import VARIABLES, Variable, rank
from assay.core.error_model import Model, Values
from assay.core.profile import Profile, ScoreCells
from assay.core.strata import UNNAMED, Side, Strata
from assay.core.targets import ALONE, NO_GROUPS, Groups
from assay.core.types import Bools, Ints
from assay.core.vocabulary import YES_OR_NO
from assay.errors import PredictionsError
from assay.predictions.arrivals import ArrivalTimes, Fetched, first_to_arrive, with_weights
from assay.predictions.candidates import (
    Candidates,
    Shares,
    by_score,
    joined,
    listed_first,
    refuse_repeated,
    spans_of,
    stratum_of_cells,
)
from assay.predictions.class_values import ranked_classes
from assay.predictions.contract import Card, ClassScores, Found, IdKind, marked
from assay.predictions.doubts import Doubt
from assay.predictions.engine import OpinionsOfSeveral, Scanner, Survey
from assay.predictions.memory import (
    TOP,
    checked_counts,
    first_cards,
)
from assay.predictions.opinions import bound_seed
from assay.predictions.roles import refuse_distant, refuse_improbable, refuse_unknown_variable

Reopen = Callable[[Model | None], Scanner]


class ScannedPredictions:
    """`Predictions` by a `Scanner`."""

    multilabel = False

    def __init__(
        self,
        scanner: Scanner,  # the engine
        *,
        threshold: float | None,  # where the predicted label changes
        # Whose first cards the first pass may bring along. With another seed all answers are right,
        # too, at the price of a pass.
        seed: int,
        check_ids: bool,  # whether to look at every id for repetitions, not only at those drawn
        classifiers: tuple[str, ...] = UNNAMED,  # their names, in the order of the places of a code
        # What they say of an item; others than no and yes are of a classifier that has a name.
        classes: tuple[str, ...] = YES_OR_NO.names,
        # What the bits of a code behind the classifiers' mean, where that is no slices.
        groups: Groups = NO_GROUPS,
        # Opens the predictions with a model's log odds in the score's place, or with what the score
        # and the columns for a model say in place of what people see.
        reopen: Reopen | None = None,
        # Whether the seed is to depend on the columns for a model (`bound_seed`)
        bind: bool = False,
    ) -> None:
        self._reopen = reopen
        self.threshold, self.classifiers, self.classes = threshold, classifiers, classes
        self._scanner = scanner
        self._seed = seed = bound_seed(seed, self.opinions_digest()) if bind else seed
        if check_ids:
            scanner.refuse_repeated_ids()
        self._survey = scanner.survey(seed)
        self.groups = Groups(self._survey.slices) if self._survey.slices else groups
        self._cells: dict[tuple[Variable, Scale], ScoreCells] = {}
        if self._survey.listed is not None and not check_ids:
            refuse_repeated(self._survey.listed.ids, self.source, self.size)

    def __repr__(self) -> str:
        """Say where the predictions come from, whose they are, and how many say yes."""
        if self.classifiers == UNNAMED:
            return f"<predictions of {self.source}: {self.positives:,} say yes>"
        names = ", ".join(self.classifiers)
        if self.classes != YES_OR_NO.names:
            by = "" if self.classifiers == (ALONE,) else f" by {names}"
            return f"<predictions of {self.source}{by}: {len(self.classes):,} classes>"
        return f"<predictions of {self.source} by {names}: to {self.positives:,} one says yes>"

    @property
    def scanner(self) -> Scanner:
        """The engine."""
        return self._scanner

    @property
    def survey(self) -> Survey:
        """What the first pass brought home."""
        return self._survey

    @property
    def source(self) -> str:
        """Where they come from, for people."""
        return self._scanner.source

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self._scanner.id_kind

    @property
    def size(self) -> int:
        """The number of items."""
        return self._survey.cells.size

    @property
    def weighted(self) -> bool:
        """Whether items count by weight."""
        return self._survey.weighed is not None

    @property
    def positives(self) -> int:
        """The number of items predicted yes."""
        counted = self._survey.cells
        return int(counted.count[self._yes(counted)].sum())

    def _yes(self, cells: ScoreCells) -> Bools:
        """Return which cells are of items predicted yes, by one of several at least.

        Where classifiers were applied to items of their own, codes have bits for that behind.
        """
        unit = len(self.classes) ** len(self.classifiers)
        return np.asarray(cells.said.astype(np.int64) % unit != 0)

    @property
    def _counts_ranks(self) -> bool:
        """Whether the engine itself counts by mean rank and code."""
        return len(self.classifiers) > 1 or self._survey.coded

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What looks wrong with the scores."""
        return self._survey.doubts

    @property
    def score_range(self) -> tuple[float, float]:
        """The smallest and the largest score, or rank where the classifier has a name."""
        unnamed = self.classifiers == UNNAMED
        low, high = (self._survey.cells if unnamed else self._rank_cells).score_range
        return low + 0.0, high + 0.0  # -0.0 becomes 0.0, as it does in memory

    def as_it_is_now(self) -> "ScannedPredictions":
        """Return the same after another pass: the data may have changed since the last."""
        return ScannedPredictions(
            self._scanner,
            threshold=self.threshold,
            seed=self._seed,
            check_ids=False,
            classifiers=self.classifiers,
            classes=self.classes,
            reopen=self._reopen,
        )

    def opinions(self, ids: Sequence[deck.Id]) -> dict[str, Values]:
        """Return what the score and every column for a model say of some items: a pass."""
        if isinstance(self._scanner, OpinionsOfSeveral):
            return self._scanner.opinions(ids)
        shown = self._opened(None).show(ids)
        return {name: [each[name] for each in shown] for name in (shown[0] if shown else ())}

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says does: a pass."""
        return self._opinions_digest

    @cached_property
    def _opinions_digest(self) -> int:
        return self._scanner.opinions_digest()

    def with_model(self, model: Model) -> "ScannedPredictions":
        """Return the same predictions with a model's log odds in the score's place: a pass."""
        return ScannedPredictions(
            self._opened(model),
            threshold=None,
            seed=self._seed,
            check_ids=False,
            classifiers=self.classifiers,
            classes=self.classes,
            reopen=self._reopen,
        )

    def _opened(self, model: Model | None) -> Scanner:
        if self._reopen is None:
            raise PredictionsError(f"{self.source} was read without columns for a model")
        return self._reopen(model)

    def marked(self, told: str) -> "ScannedPredictions":
        """Return the same with a fingerprint that ends with what tells a model's log odds apart."""
        again = copy(self)
        again.__dict__["_fingerprint"] = marked(self.fingerprint(), told)
        return again

    def fingerprint(self) -> str:
        """Return a text that changes when an id, a predicted label or the bin of a score does.

        And when a weight does, where there are weights.
        """
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        fingerprint = self._survey.fingerprint or self._survey.cells.fingerprint()
        word = self._survey.weights_word
        return fingerprint if word is None else with_weights(fingerprint, word)

    def profile(
        self, variable: Variable, scale: Scale, sides: Sequence[Side]
    ) -> dict[Side, Profile]:
        """Return the distribution of the stratification variable on each side, by weight."""
        cells = self._cells_by(variable, scale).by_weight
        if variable == "rank":
            yes = self._yes(cells)
            inside = {side: yes | ~yes if side is None else yes == side for side in sides}
            return {side: self._profile_ranks(those) for side, those in inside.items()}
        return {side: cells.profile(side) for side in sides}

    def class_scores(self) -> ClassScores | None:
        """Return the scores of a classifier of several classes: a pass over all of theirs."""
        if self.classes == YES_OR_NO.names:
            return None
        return ClassScores(self._survey.cells, self._scanner.summed_probabilities())

    def cells(self) -> dict[int, int]:
        """Return what the items with each code that occurs count for."""
        counted = self._survey.cells.by_weight
        return count_cells(counted.said.astype(np.int64), counted.count)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Return the distribution of the rank among the items with each heap's codes."""
        said = self._survey.cells.said
        profiles = [self._profile_ranks(np.isin(said, list(heap))) for heap in heaps]
        return [replace(profile, scale=self._rank_scale) for profile in profiles]

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Return the number of items in each part of the strata that the heaps are cut into."""
        ranked = self._rank_cells
        return count_parts(ranked.low, ranked.said.astype(np.int64), heaps, ranked.count)

    def count(self, strata: Strata, *, scale: Scale) -> Ints:
        """Return the number of items in each stratum, by the strata's own cuts."""
        items, _ = self._sizes(strata, scale)
        return items

    def weighed(self, strata: Strata, *, scale: Scale) -> Strata:
        """Return strata, which were cut by weight, with the items and the weight of each."""
        if not self.weighted:
            return strata
        if not strata.is_named:
            return strata.weighed(*self._sizes(strata, scale))
        cells = self._rank_cells
        of_cell = stratum_of_cells(strata, cells)
        if of_cell is None:
            raise PredictionsError(f"the strata were not cut from {self.source}")
        inside = of_cell >= 0
        pairs = zip(of_cell[inside].tolist(), cells.said[inside].tolist(), strict=True)
        part = np.array([strata.part_of(stratum, int(code)) for stratum, code in pairs])
        counts = np.zeros((2, len(strata.parts)), dtype=np.int64)
        np.add.at(counts[0], part, cells.count[inside])
        np.add.at(counts[1], part, cells.by_weight.count[inside])
        return strata.weighed(*counts)

    def _sizes(self, strata: Strata, scale: Scale) -> tuple[Ints, Ints]:
        """Return the items of each stratum, and what they count for."""
        variable = self._variable_of(strata)
        cells = self._cells_by(variable, scale)
        of_cell = stratum_of_cells(strata, cells)
        if of_cell is None:
            stratum, spans = spans_of(strata.heaps, [TOP] * strata.n_strata, by_code=self._by_code)
            counts = self._scanner.count(spans, variable, scale)
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
        """Return the first ``counts[h]`` cards of every stratum h, in deck order.

        With weights, by their first arrivals.
        """
        variable = self._variable_of(strata)
        # Counted, as the strata may be those of a population that these are only a part of.
        sizes, weights = self._sizes(strata, scale)
        wanted = np.minimum(checked_counts(counts, strata.n_strata), sizes)
        if not wanted.any():
            return [[] for _ in wanted]
        parts = []
        listed = None
        if variable != "confidence":
            listed = listed_first(self._survey, self._cells_by(variable, scale), strata, seed)
        held = np.zeros(strata.n_strata, dtype=np.int64)
        if listed is not None:
            held = np.bincount(listed.stratum, minlength=strata.n_strata)
        short = held < wanted
        if listed is not None:
            parts.append(listed.only(~short))
        if short.any():
            reach: Shares | ArrivalTimes
            if self.weighted:
                reach = ArrivalTimes(wanted * short, weights, sizes)
            else:
                reach = Shares(wanted * short, sizes)
            part = self._ask(
                strata, wanted * short, reach, variable=variable, scale=scale, seed=seed
            )
            parts.append(part)
        found = joined(parts)
        number = deck.mix(found.ids.digest ^ np.uint64(deck.key(seed)))

        def utf8(at: Ints) -> list[bytes]:
            return [str(id).encode() for id in found.ids.at(at)]

        if found.weights is None:
            places = first_cards(number, found.stratum, wanted, np.maximum(sizes, 1), utf8)
        else:
            places = first_to_arrive(number, found.weights, found.stratum, wanted, utf8)
        return self._cards(found, places)

    def find(
        self, ids: Sequence[deck.Id], *, variable: Variable, scale: Scale
    ) -> list[Found | None]:
        """Return the items with these ids; None where there is none."""
        kind = str if self.id_kind == "string" else int
        wanted = [id for id in dict.fromkeys(ids) if type(id) is kind]
        if not wanted:
            return [None for _ in ids]
        self._refuse_impossible(variable, scale)
        by = "score" if variable == "rank" else variable  # or else the engine's values are ranks
        rows = self._scanner.find(wanted, variable=by, scale=scale)
        refuse_repeated(rows.ids, self.source, self.size)
        there = rows.ids.at(np.arange(len(rows.ids)))
        by_rank = variable == "rank" and not self._counts_ranks
        values = rank(rows.values, self._scores) if by_rank else rows.values + 0.0
        every = np.arange(len(there))
        held = Candidates(rows.ids, every, rows.predicted, rows.shown, rows.weights)
        (cards,) = self._cards(held, [every])
        found = dict(zip(there, map(Found, cards, values.tolist()), strict=True))
        return [found.get(id) for id in ids]

    @property
    def has_probabilities(self) -> tuple[bool, ...]:
        """Whether each classifier was read with the probabilities of all classes."""
        return (self._scanner.has_probabilities,) * len(self.classifiers)

    def ranked(self, ids: Sequence[deck.Id], k: int) -> list[list[list[int]]]:
        """Return of each item the k most probable classes in order: a pass."""
        if not self._scanner.has_probabilities:
            return [[[] for _ in self.classifiers] for _ in ids]
        held, lists = self._scanner.probabilities(ids)
        ranked = ranked_classes(lambda rows: lists[rows], np.arange(len(held)), k)
        return [[ranked[row]] for row in held.rows_of(ids, self.source)]

    def _cells_by(self, variable: Variable, scale: Scale) -> ScoreCells:
        self._refuse_impossible(variable, scale)
        if variable == "score":
            return self._survey.weighed or self._survey.cells
        if variable == "rank":
            return self._rank_cells
        if (variable, scale) not in self._cells:
            self._cells[variable, scale] = self._scanner.cells(variable, scale)
        return self._cells[variable, scale]

    @cached_property
    def _scores(self) -> Profile:
        """The scores of all items: a cell for each bin."""
        return self._survey.cells.profile(None)

    @cached_property
    def _rank_cells(self) -> ScoreCells:
        """What the first pass counted, with the rank of the items of each cell."""
        if self._counts_ranks:
            return self._survey.cells
        ranks = rank(self._survey.cells.low, self._scores)
        return replace(self._survey.cells, low=ranks, high=ranks)

    @property
    def _rank_scale(self) -> Scale:
        """What values of classifiers that have names are: log odds of a model, or ranks."""
        by_model = self._counts_ranks and self._survey.cells.rule == "margin"
        return "margin" if by_model else "probability"

    def _profile_ranks(self, inside: Bools) -> Profile:
        """Return the ranks' distribution among the items of some cells."""
        cells = self._rank_cells.by_weight
        low, high, count = cells.low[inside], cells.high[inside], cells.count[inside]
        bins = bins_of(low, self._rank_scale)
        starts = np.flatnonzero(np.diff(bins, prepend=np.iinfo(int).min))
        return Profile.of_ranges(
            low=np.minimum.reduceat(low, starts),
            high=np.maximum.reduceat(high, starts),
            count=np.add.reduceat(count, starts),
        )

    def _said(self, predicted: Bools | Ints) -> list[int]:
        """Return what cards carry: codes where the classifier has a name."""
        said: list[int] = predicted.tolist()
        return said if self.classifiers == UNNAMED else [int(each) for each in said]

    def _variable_of(self, strata: Strata) -> Variable:
        if strata.classifiers != self.classifiers:
            raise PredictionsError(
                f"the strata are of {_named(strata.classifiers)}, and the predictions of "
                f"{_named(self.classifiers)}",
                hint="read the predictions of the same classifiers, in the same order",
            )
        refuse_unknown_variable(strata.variable, self._variables)
        return cast(Variable, strata.variable)

    @property
    def _by_code(self) -> bool:
        return self._counts_ranks or self.classes != YES_OR_NO.names

    @property
    def _variables(self) -> tuple[str, ...]:
        return VARIABLES if self.classifiers == UNNAMED else ("rank",)

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
        *,
        variable: Variable,
        scale: Scale,
        seed: int,
    ) -> "Candidates":
        """Fetch at least as many of the first cards of each stratum as are wanted."""
        heaps: Sequence[Heap] = strata.heaps
        by_rank = variable == "rank"
        if by_rank:
            heaps = heaps if self._counts_ranks else by_score(strata, self._scores)
            variable = "score"
        again = True
        while again:
            _, spans = spans_of(heaps, reach.limits.tolist(), wanted > 0, by_code=self._by_code)
            rows = self._scanner.rows(spans, variable=variable, scale=scale, seed=seed)
            if by_rank:
                stratum = assign_strata(rows.values, rows.predicted.astype(np.int64), heaps)
            else:
                stratum = strata.assign(rows.values, rows.predicted)
            number = deck.mix(rows.ids.digest ^ np.uint64(deck.key(seed)))
            weights = np.ones_like(stratum) if rows.weights is None else rows.weights
            again = reach.wait(Fetched(number, stratum, weights))
        short = np.bincount(stratum, minlength=strata.n_strata) < wanted
        if short.any():
            raise PredictionsError(
                f"{self.source} has changed since it was read",
                details=f"{short.sum()} strata hold fewer items than were counted",
            )
        refuse_repeated(rows.ids, self.source, self.size)
        return Candidates(rows.ids, stratum, rows.predicted, rows.shown, rows.weights)

    def _cards(self, found: "Candidates", places: list[Ints]) -> list[list[Card]]:
        chosen = np.concatenate(places)
        ids = found.ids.at(chosen)
        if found.shown is None:
            shown = self._scanner.show(ids) if ids else []
        else:
            shown = [found.shown[place] for place in chosen.tolist()]
        weights = [None] * len(ids) if found.weights is None else found.weights[chosen].tolist()
        facts = zip(ids, self._said(found.predicted[chosen]), shown, weights, strict=True)
        cards = iter([Card(*each) for each in facts])
        return [[next(cards) for _ in place] for place in places]


def _named(classifiers: Sequence[str]) -> str:
    return ", ".join(classifiers) if classifiers != UNNAMED else "a classifier without a name"
