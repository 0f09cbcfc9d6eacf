"""Predictions in memory: of one classifier or several, whose items count alike or by weight."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core import deck
from assay.core.bins import Scale
from assay.core.cells import Heap, Part, count_cells, count_parts, profile_heaps
from assay.core.cuts import VARIABLES, Variable, confidence
from assay.core.error_model import Model, Values
from assay.core.profile import Profile, ScoreCells, cells_of
from assay.core.strata import UNNAMED, Side, Strata
from assay.core.targets import ALONE, NO_GROUPS, Groups
from assay.core.types import Bools, Floats, Ints, Words
from assay.core.vocabulary import YES_OR_NO
from assay.core.weights import impressions
from assay.errors import PredictionsError
from assay.predictions.arrivals import first_to_arrive, weight_words, with_weights
from assay.predictions.class_values import ranked_classes
from assay.predictions.column import Show
from assay.predictions.contract import Card, ClassScores, Found, IdKind, marked
from assay.predictions.contract import by_model as of_model
from assay.predictions.doubts import Doubt
from assay.predictions.ids import Ids
from assay.predictions.opinions import Opinions
from assay.predictions.roles import refuse_distant, refuse_improbable, refuse_unknown_variable

# The first cards of every deck, without sorting the decks.

TOP = int(np.iinfo(np.uint64).max)
"""The largest number that an item can have."""


def first_cards(
    # number, stratum, (N,): each item's number in the deck, and its stratum.
    number: Words,
    stratum: Ints,
    # counts, sizes, (H,): for each stratum the cards wanted and the items held.
    counts: Ints,
    sizes: Ints,
    # Returns the bytes of the ids of the items at some places; they order equal numbers.
    utf8: Callable[[Ints], Sequence[bytes]],
) -> list[Ints]:
    """Return where the first cards of each stratum are, in the order in which they are dealt.

    The numbers are spread evenly, so the first n of N lie below some n / N of their range. Only
    the items below a somewhat higher limit are sorted; a stratum that turns out short of cards,
    which happens once in many million deals, is tried again with a limit twice as high.

    >>> number = np.array([9, 3, 5, 4], dtype=np.uint64)
    >>> stratum, sizes = np.array([0, 0, 0, 1]), np.array([3, 1])
    >>> first_cards(number, stratum, np.array([2, 5]), sizes, lambda at: [b""] * at.size)
    [array([1, 2]), array([3])]
    """
    wanted = np.minimum(counts, sizes)
    share = first_shares(wanted, sizes)
    while True:
        below = np.flatnonzero(number <= limits(share)[stratum])
        held = np.bincount(stratum[below], minlength=sizes.size)
        short = (held < wanted) & (share < 1)
        if not short.any():
            break
        share[short] *= 2
    below = below[np.lexsort((number[below], stratum[below]))]
    if (number[below[1:]] == number[below[:-1]]).any():
        order = zip(stratum[below], number[below], utf8(below), below, strict=True)
        below = np.array([place for *_, place in sorted(order)], dtype=np.int64)
    ends = np.cumsum(held)
    return [
        below[end - size : end][:count] for end, size, count in zip(ends, held, wanted, strict=True)
    ]


def first_shares(wanted: Ints, sizes: Ints) -> Floats:
    """Return the share of all numbers below which the cards wanted of each stratum surely lie.

    Six standard deviations above what is expected: a limit that is too low costs a second look.

    >>> first_shares(np.array([100]), np.array([17_600]))
    array([0.01])
    """
    share: Floats = (wanted + 6 * np.sqrt(wanted) + 16) / sizes
    return share


def limits(share: Floats) -> Words:
    """Return the number below which a share of all numbers lies.

    >>> limits(np.array([0.5, 1.0]))
    array([ 9223372036854775808, 18446744073709551615], dtype=uint64)
    """
    whole = share >= 1
    return np.where(whole, TOP, (np.where(whole, 0, share) * 2.0**64).astype(np.uint64))


def checked_counts(counts: Sequence[int], n_strata: int) -> Ints:
    """Return the cards wanted of each stratum, or say why they are not that."""
    wanted = np.array(counts)
    if wanted.shape != (n_strata,) or wanted.dtype.kind not in "iu" or wanted.min() < 0:
        raise PredictionsError(
            f"counts are {counts!r}",
            details=f"there is one for each of the {n_strata} strata, at least 0",
        )
    return wanted


@dataclass(frozen=True, eq=False)
class Judged:
    """The rows of one classifier's predictions: ids, scores, what it says, and what people see.

    It says yes or no; of more classes, the number of one. Weights are as they were given.
    """

    ids: Ids
    score: Floats
    predicted: Bools | Ints
    show: Show
    weights: Floats | None = None
    opinions: Opinions | None = None


class MemoryPredictions:
    """`Predictions` on arrays, of one classifier or several."""

    def __init__(
        self,
        *,
        source: str,  # where they come from, for people
        ids: Ids,  # no two alike
        # score, predicted, (N,): finite scores without -0.0, and whether the classifier said yes;
        # of classifiers with names the mean ranks and the codes. They are not copied, and must not
        # change.
        score: Floats,
        predicted: Bools | Ints,
        show: Show,  # returns what people see of some items
        threshold: float | None = None,  # where the predicted label changes
        # (N,): how much each item counts: finite, not negative, not all 0. An item of weight 0
        # counts for nothing, and is not there. The others are dealt as they arrive
        # (`assay.core.weights`).
        weights: Floats | None = None,
        classifiers: tuple[str, ...] = UNNAMED,  # their names, in the order of the bits of a code
        # What they say of an item, by number; of others than no and yes, classifiers have names.
        classes: tuple[str, ...] = YES_OR_NO.names,
        # Whether an item may have several of the classes: codes are then of sets of them.
        multilabel: bool = False,
        groups: Groups = NO_GROUPS,  # what the bits of a code behind the classifiers' mean
        # Of all that was read: a rank depends on many scores, and does not tell one from a like
        # one.
        fingerprint: str | None = None,
        # Returns what looks wrong with the scores, from their counts.
        doubts: Callable[[ScoreCells], tuple[Doubt, ...]] = lambda _: (),
        opinions: Opinions | None = None,  # columns for a model of the outcome
        # Of classifiers that have names: whether the scores are a model's log odds.
        by_model: bool = False,
        # Of each classifier: returns the probabilities of all classes for some rows, of shape (n,
        # K); None where there are none.
        probabilities: Sequence[Callable[[Ints], Floats] | None] = (),
        # Of one classifier of several classes: returns what the ranks were made of.
        class_scores: Callable[[], ClassScores] | None = None,
    ) -> None:
        self.source = source
        self._probabilities = probabilities or [None] * len(classifiers)
        self._class_scores = class_scores
        self._rank_scale: Scale = "margin" if by_model else "probability"
        self._opinions = opinions
        self.threshold = threshold
        self.classifiers, self.classes, self.groups = classifiers, classes, groups
        self.multilabel = multilabel
        self._read_fingerprint, self._mark = fingerprint, ""
        self._doubts_of = doubts
        self._weights: Ints | None = None
        if weights is not None:
            there = np.flatnonzero(weights)
            ids, score, predicted = ids.take(there), score[there], predicted[there]
            show, weights = _of_rows(show, there), weights[there]
            self._weights = impressions(weights)
        self._given_weights = weights
        self._ids = ids
        self._score = score
        self._said = predicted  # what strata are assigned by and cards carry
        self._show = show

    def __repr__(self) -> str:
        """Say where the predictions come from, whose they are, and how many say yes."""
        if self.classifiers == UNNAMED:
            return f"<predictions of {self.source}: {self.positives:,} say yes>"
        names = ", ".join(self.classifiers)
        if self.classes != YES_OR_NO.names:
            by = "" if self.classifiers == (ALONE,) else f" by {names}"
            several = ", several an item" if self.multilabel else ""
            return f"<predictions of {self.source}{by}: {len(self.classes):,} classes{several}>"
        return f"<predictions of {self.source} by {names}: to {self.positives:,} one says yes>"

    @cached_property
    def _predicted(self) -> Bools:
        """Which items the classifier says yes to, or one of several."""
        if self.classifiers == UNNAMED:
            return self._said.astype(np.bool_, copy=False)
        if self.multilabel:
            return np.asarray(self._codes != 0)
        return np.asarray(self._codes % len(self.classes) ** len(self.classifiers) != 0)

    @property
    def _codes(self) -> Ints:
        return self._said.astype(np.int64, copy=False)

    @property
    def judged(self) -> Judged:
        """What was read, row by row."""
        told = self._show, self._given_weights, self._opinions
        said = self._predicted if self.classes == YES_OR_NO.names else self._codes
        return Judged(self._ids, self._score, said, *told)

    @property
    def weighted(self) -> bool:
        """Whether items count by weight."""
        return self._weights is not None

    @property
    def size(self) -> int:
        """The number of items."""
        return self._score.size

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self._ids.kind

    @cached_property
    def positives(self) -> int:
        """The number of items predicted yes."""
        return int(np.count_nonzero(self._predicted))

    @cached_property
    def score_range(self) -> tuple[float, float]:
        """The smallest and the largest score."""
        return float(self._score.min()), float(self._score.max())

    @cached_property
    def doubts(self) -> tuple[Doubt, ...]:
        """What looks wrong with the scores."""
        return self._doubts_of(self._score_cells)

    def mark(self, told: str) -> None:
        """Let the fingerprint end with what tells a model's log odds apart: those of a whole."""
        self._mark = told
        self.__dict__.pop("_fingerprint", None)

    def fingerprint(self) -> str:
        """Return a text that changes when an id, a predicted label or the bin of a score does.

        And when a weight does, where there are weights.
        """
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        fingerprint = self._read_fingerprint or self._score_cells.fingerprint()
        if self._weights is not None:
            words = weight_words(self._ids.digest, self._weights)
            fingerprint = with_weights(fingerprint, int(np.bitwise_xor.reduce(words)))
        return marked(fingerprint, self._mark) if self._mark else fingerprint

    def profile(
        self, variable: Variable, scale: Scale, sides: Sequence[Side]
    ) -> dict[Side, Profile]:
        """Return the distribution of the stratification variable on each side, by weight."""
        values = self._values(variable, scale)
        if values is self._score and not self.weighted:
            cells = self._score_cells
        else:
            cells = cells_of(values, self._predicted, weights=self._weights)
        return {side: cells.profile(side) for side in sides}

    @property
    def score_cells(self) -> ScoreCells:
        """The items by the bin of their score and their predicted label."""
        return self._score_cells

    @cached_property
    def _score_cells(self) -> ScoreCells:
        return cells_of(self._score, self._predicted, self._ids.digest)

    def count(self, strata: Strata, *, scale: Scale) -> Ints:
        """Return the number of items in each stratum, by the strata's own cuts."""
        stratum = strata.assign(self._values(strata.variable, scale), self._said)
        return np.bincount(stratum + 1, minlength=strata.n_strata + 1)[1:]  # from -1, for none

    def weighed(self, strata: Strata, *, scale: Scale) -> Strata:
        """Return strata, which were cut by weight, with the items and the weight of each part."""
        if self._weights is None:
            return strata
        stratum = strata.assign(self._values(strata.variable, scale), self._said)
        inside = stratum >= 0
        cells, place = np.unique(
            [stratum[inside], self._codes[inside]], axis=1, return_inverse=True
        )
        part = np.array([strata.part_of(*cell) for cell in cells.T.tolist()])[place.ravel()]
        counts = np.zeros((2, len(strata.parts)), dtype=np.int64)
        np.add.at(counts[0], part, 1)
        np.add.at(counts[1], part, self._weights[inside])
        return strata.weighed(*counts)

    def deal(
        self, strata: Strata, *, scale: Scale, seed: int, counts: Sequence[int]
    ) -> list[list[Card]]:
        """Return the first ``counts[h]`` cards of every stratum h, in deck order.

        With weights, by their first arrivals.
        """
        wanted = checked_counts(counts, strata.n_strata)
        stratum = strata.assign(self._values(strata.variable, scale), self._said)
        if self._weights is not None:
            numbers = deck.mix(self._ids.digest ^ np.uint64(deck.key(seed)))
            return self._cards(first_to_arrive(numbers, self._weights, stratum, wanted, self._utf8))
        rows, digest = np.flatnonzero(stratum >= 0), self._ids.digest
        if rows.size < stratum.size:  # otherwise a copy of all that is there
            stratum, digest = stratum[rows], digest[rows]
        places = first_cards(
            number=deck.mix(digest ^ np.uint64(deck.key(seed))),
            stratum=stratum,
            counts=wanted,
            sizes=np.maximum(np.bincount(stratum, minlength=strata.n_strata), 1),
            utf8=lambda at: self._utf8(rows[at]),
        )
        return self._cards([rows[place] for place in places])

    def _utf8(self, rows: Ints) -> list[bytes]:
        return [str(id).encode() for id in self._ids.at(rows)]

    def find(
        self, ids: Sequence[deck.Id], *, variable: Variable, scale: Scale
    ) -> list[Found | None]:
        """Return the items with these ids; None where there is none."""
        if not ids:
            return []
        wanted = [id for id in dict.fromkeys(ids) if self._could_be(id)]
        # Two ids in 2^64 share a digest; the ids themselves, as keys below, tell them apart.
        suspects = np.flatnonzero(np.isin(self._ids.digest, deck.digest(wanted)))
        row_of = dict(zip(self._ids.at(suspects), suspects.tolist(), strict=True))
        there = [id for id in wanted if id in row_of]
        rows = np.array([row_of[id] for id in there], dtype=np.int64)
        values = self._values(variable, scale)[rows].tolist()
        found = dict(zip(there, map(Found, self._cards([rows])[0], values), strict=True))
        return [found.get(id) for id in ids]

    def opinions(self, ids: Sequence[deck.Id]) -> dict[str, Values]:
        """Return what the score and every column for a model say of some items."""
        return {} if self._opinions is None else self._opinions.at(self._rows_of(ids))

    def _rows_of(self, ids: Sequence[deck.Id]) -> Ints:
        digests = deck.digest(list(ids))
        order = np.argsort(self._ids.digest, kind="stable")
        return np.asarray(order[np.searchsorted(self._ids.digest, digests, sorter=order)])

    @property
    def has_probabilities(self) -> tuple[bool, ...]:
        """Whether each classifier was read with the probabilities of all classes."""
        return tuple(each is not None for each in self._probabilities)

    def ranked(self, ids: Sequence[deck.Id], k: int) -> list[list[list[int]]]:
        """Return of each item, and of each classifier, the k most probable classes in order."""
        rows = self._rows_of(ids)
        each: list[list[list[int]]] = [
            [[] for _ in ids] if of_rows is None else ranked_classes(of_rows, rows, k)
            for of_rows in self._probabilities
        ]
        return [list(its) for its in zip(*each, strict=True)]

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says of an item does."""
        return 0 if self._opinions is None else self._opinions.digest(self._ids.digest)

    def with_model(self, model: Model) -> "MemoryPredictions":
        """Return the same predictions with a model's log odds in the score's place."""
        if self._opinions is None:
            raise PredictionsError(f"{self.source} was read without columns for a model")
        log_odds = self._opinions.log_odds(model, self._ids.digest)
        fingerprint = None
        if self.classifiers != UNNAMED:  # otherwise it is made of the scores
            words = deck.mix(self._ids.digest ^ deck.mix(log_odds.view(np.uint64)))
            word = int(np.bitwise_xor.reduce(words))
            fingerprint = of_model(self.fingerprint(), word)

        return MemoryPredictions(
            source=self.source,
            ids=self._ids,
            score=log_odds,
            predicted=self._said,
            show=self._show,
            classifiers=self.classifiers,
            classes=self.classes,
            groups=self.groups,
            fingerprint=fingerprint,
            opinions=self._opinions,
            by_model=True,
        )

    def class_scores(self) -> ClassScores | None:
        """Return the scores of one classifier of several classes; None of anything else."""
        return None if self._class_scores is None else self._class_scores()

    def cells(self) -> dict[int, int]:
        """Return what the items with each code that occurs count for."""
        return count_cells(self._codes, self._weights)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Return the distribution of the rank, or log odds, of the items with each heap's codes."""
        return profile_heaps(self._score, self._codes, heaps, self._weights, self._rank_scale)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Return the number of items in each part of the strata that the heaps are cut into."""
        return count_parts(self._score, self._codes, heaps)

    def _could_be(self, id: deck.Id) -> bool:
        if isinstance(id, str):
            return self.id_kind == "string"
        return self.id_kind == "integer" and -(2**63) <= id < 2**64

    def _cards(self, decks: list[Ints]) -> list[list[Card]]:
        rows = np.concatenate(decks)
        ids = self._ids.at(rows)
        weights = [None] * rows.size if self._weights is None else self._weights[rows].tolist()
        facts = zip(ids, self._said[rows].tolist(), self._show(rows, ids), weights, strict=True)
        cards = [Card(*each) for each in facts]
        ends = np.cumsum([deck.size for deck in decks]).tolist()
        return [cards[end - deck.size : end] for end, deck in zip(ends, decks, strict=True)]

    def _values(self, variable: str, scale: Scale) -> Floats:
        """Return the stratification variable of every item."""
        # The scores of several have no common scale.
        known = VARIABLES if self.classifiers == UNNAMED else ("rank",)
        refuse_unknown_variable(variable, known)
        if variable != "confidence":
            return self._score
        if scale == "probability":
            refuse_improbable(self.score_range, self.source)
        else:
            refuse_distant(self.score_range, self.threshold, self.source)
        return confidence(self._score, self._predicted, scale, self.threshold or 0.0)


def _of_rows(show: Show, there: Ints) -> Show:
    """Return what people see of items that are some of those that were read."""
    return lambda rows, ids: show(there[rows], ids)
