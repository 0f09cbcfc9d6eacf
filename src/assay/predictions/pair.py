"""Two sets of predictions side by side: of two model versions, or of two weeks.

Items are told by their ids. Some are in both, some in the earlier or the later one only, and each
classifier's metrics are about its own. A code tells what the first and the second say, and whether
they were applied to the item at all (`assay.core.targets`): with K classes it is old + K new, and
K^2 more for an item of the first, 2 K^2 for one of the second; of yes and no, that is four bits.
"""

from collections.abc import Sequence
from copy import copy

import numpy as np

from assay.core.deck import Id
from assay.core.error_model import Model, Values, is_missing
from assay.core.metrics import sides
from assay.core.targets import Groups, refuse_bad_names
from assay.core.types import Floats, Ints
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.errors import PredictionsError
from assay.predictions.class_values import some_of
from assay.predictions.contract import joint_fingerprint, listed
from assay.predictions.ids import Ids, places_among
from assay.predictions.judgements import ranks_of
from assay.predictions.memory import Judged, MemoryPredictions
from assay.predictions.opinions import Opinions, opinions_of_several
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.sql.pair import (
    Join,
    PairScanner,
    Weighing,
    refuse_two_weights,
)
from assay.predictions.sql.pair_sides import Read, ScannedSide, Side, side_of
from assay.predictions.values import refuse_bad_total

NOWHERE = -1
"""In place of a class, where a classifier was not applied to an item."""


def code_of_both(old: Ints, new: Ints, classes: int) -> Ints:
    """Return codes of what two classifiers say, each a class number or `NOWHERE`.

    >>> code_of_both(np.array([1, 0, NOWHERE]), np.array([1, NOWHERE, 1]), 2)
    array([15,  4, 10])
    """
    there = (old != NOWHERE) + 2 * (new != NOWHERE)
    said = np.maximum(old, 0) + classes * np.maximum(new, 0)
    return np.asarray(said + classes**2 * there, dtype=np.int64)


def said_by_both(code: int, classes: int) -> tuple[int, int]:
    """Return what two classifiers say of items of a code: class numbers, or `NOWHERE`.

    >>> [said_by_both(code, 2) for code in (15, 4, 10)]
    [(1, 1), (0, -1), (-1, 1)]
    """
    there = code // classes**2
    old = code % classes if there & 1 else NOWHERE
    return old, code // classes % classes if there & 2 else NOWHERE


class ComparedPredictions(MemoryPredictions):
    """`Predictions` of two classifiers, each applied to its own items."""

    def __init__(
        self,
        old: MemoryPredictions,
        new: MemoryPredictions,
        names: tuple[str, str],  # what the two are called
        classes: Vocabulary = YES_OR_NO,  # what they say of an item: all classes of both
    ) -> None:
        refuse_bad_names(names)
        _refuse_unlike(old, new)
        self.parts = (old, new)
        before, after = old.judged, new.judged
        at = places_among(before.ids, after.ids)
        there, gone = at >= 0, np.flatnonzero(at < 0)
        nowhere = np.full(after.score.size + gone.size, NOWHERE)
        ranks = np.concatenate([_ranks(new), np.zeros(gone.size)])
        place = np.where(there, at, after.score.size + np.cumsum(at < 0) - 1)
        earlier = _ranks(old)
        said, says = nowhere.copy(), nowhere
        said[place] = _numbers(old, classes)
        says[: after.score.size] = _numbers(new, classes)
        codes = code_of_both(said, says, len(classes))
        ranks[place] = np.where(there, (ranks[place] + earlier) / 2, earlier)
        sources = [part.source for part in self.parts]
        ids = Ids.concatenated([after.ids, before.ids.take(gone)])
        super().__init__(
            source=listed(sources),
            ids=ids,
            classifiers=names,
            classes=classes.names,
            score=ranks,
            predicted=codes,
            fingerprint=joint_fingerprint(
                [part.fingerprint() for part in self.parts], old.size + new.size
            ),
            show=_Shown(before, after, gone),
            weights=_weights(self.parts, place, ids),
            doubts=lambda _: tuple(
                doubt.about(name)
                for name, part in zip(names, self.parts, strict=True)
                for doubt in part.doubts
            ),
            groups=_groups(names),
            opinions=_opinions(self.parts, names, place, codes, ranks),
        )

    def with_model(self, model: Model) -> "ComparedPredictions":
        """Return the same predictions with a model's log odds in the rank's place."""
        placed = super().with_model(model)
        again = copy(self)
        again.__dict__ = {**vars(placed), "parts": tuple(map(copy, self.parts))}
        mark = placed.fingerprint().rpartition(":")[2]
        for part in again.parts:  # what tells whether they are still the same
            part.mark(mark)
        return again

    def are_alike(self, metric: str) -> bool:
        """Tell whether both say the same of all items that a metric is about, and of no others."""
        return _are_alike(self, metric)


class ScannedPair(ScannedPredictions):
    """`Predictions` of two classifiers of yes and no, one of which stays where it is at least.

    `joined_by`: the engine that joins them.
    """

    def __init__(
        self,
        parts: tuple[Read, Read],  # the earlier and the later
        names: tuple[str, str],  # what the two are called
        *,
        seed: int,  # of the cards that the first pass of each may have brought along
        shows: bool,  # whether people see anything of an item
        model: Model | None = None,  # what takes the mean rank's place
    ) -> None:
        refuse_bad_names(names)
        _refuse_unlike(*parts)
        self.parts, self._read, self._shows = parts, parts, shows
        sides = side_of(parts[0], 0), side_of(parts[1], 1)
        self.joined_by = _join_in_engine(sides, names, model)
        super().__init__(
            PairScanner(sides, names, self.joined_by, shows=shows),
            threshold=None,
            seed=seed,
            check_ids=False,
            classifiers=names,
            groups=_groups(names),
        )
        if model is not None:  # what tells whether they are still the same
            mark = self.fingerprint().rpartition(":")[2]
            old, new = (
                part.marked(mark) if isinstance(part, ScannedPredictions) else part
                for part in parts
            )
            self.parts = (old, new)

    def as_it_is_now(self) -> "ScannedPair":
        """Return the same after another look at both: the data may have changed since the last."""
        old, new = (
            part.as_it_is_now() if isinstance(part, ScannedPredictions) else part
            for part in self._read
        )
        return self._with((old, new), self.joined_by.model)

    def with_model(self, model: Model) -> "ScannedPair":
        """Return the same predictions with a model's log odds in the rank's place."""
        return self._with(self._read, model)

    def _with(self, parts: tuple[Read, Read], model: Model | None) -> "ScannedPair":
        one, other = self.classifiers
        return ScannedPair(parts, (one, other), seed=self._seed, shows=self._shows, model=model)

    def are_alike(self, metric: str) -> bool:
        """Tell whether both say the same of all items that a metric is about, and of no others."""
        return _are_alike(self, metric)


Compared = ComparedPredictions | ScannedPair
"""Two sets of predictions side by side."""


def _are_alike(both: Compared, metric: str) -> bool:
    """Tell whether two sets have the same metric, whatever the items are.

    Of classes a metric may be written with one, ``precision:fraud``.
    """
    said = [said_by_both(code, len(both.classes)) for code in both.cells()]
    name, _, label = metric.partition(":")
    if both.classes != YES_OR_NO.names and not label:
        return all(old == new for old, new in said)
    number = both.classes.index(label) if label else 1
    return all(
        (old != NOWHERE and (old == number) == side) == (new != NOWHERE and (new == number) == side)
        for old, new in said
        for side in sides(name)
    )


def _groups(names: tuple[str, str]) -> Groups:
    return Groups(names, tuple((name, name) for name in names))


def _refuse_unlike(old: Read, new: Read) -> None:
    """Raise where two sets cannot be compared."""
    if old.id_kind != new.id_kind:
        raise PredictionsError(
            f"the ids in {old.source} are {old.id_kind}s, and those in {new.source} are "
            f"{new.id_kind}s",
            details="an item is told by its id: 7 and '7' are two",
            hint="write them alike in both",
        )
    if old.multilabel or new.multilabel:
        raise PredictionsError(
            f"items of {(old if old.multilabel else new).source} may have several classes",
            details="two sets of predictions are compared where each item is of one class",
            hint="make a campaign for each, with multilabel=True",
        )
    if old.weighted != new.weighted:
        one, other = (old, new) if old.weighted else (new, old)
        raise PredictionsError(
            f"the items of {one.source} have weights, and those of {other.source} have none",
            hint="name a column that both have: sample_weight='views'",
        )


def _numbers(part: MemoryPredictions, classes: Vocabulary) -> Ints:
    """Return what was said of each item, by its number among all classes."""
    names = [classes.find(name) for name in part.classes]
    if None in names:
        raise PredictionsError(
            f"{part.source} has a class {part.classes[names.index(None)]!r}, which is not among "
            "those of both",
            details=f"{len(classes):,} classes: {some_of(classes.names)}",
            hint="both must be of classes, or both of yes and no",
        )
    number = np.array([classes.numbers[str(name)] for name in names], dtype=np.int64)
    return np.asarray(number[part.judged.predicted.astype(np.int64)])


def _ranks(part: MemoryPredictions) -> Floats:
    """Return each item's rank; predictions of classes hold nothing else."""
    judged = part.judged
    if part.classes != YES_OR_NO.names:
        return judged.score
    return ranks_of(judged.score, judged.predicted)


def _weights(
    parts: tuple[MemoryPredictions, MemoryPredictions], place: Ints, ids: Ids
) -> Floats | None:
    """Return the weights of all items, where they have any: of an item in both, one.

    A label counts for both metrics, and is drawn in proportion to one weight.
    """
    before, after = (part.judged.weights for part in parts)
    if before is None or after is None:
        return None
    found = np.zeros(len(ids))
    found[: after.size] = after
    there = found[place]
    found[place] = before
    with np.errstate(over="ignore"):
        total, in_both = float(found.sum()), int(np.count_nonzero(there))
    others = np.flatnonzero((there > 0) & (there != before))
    if others.size:
        names = ids.at(place[others])
        first = min(range(len(names)), key=lambda at: names[at])
        weights = float(before[others[first]]), float(there[others[first]])
        told = Weighing(found.size, in_both, total, others.size, names[first])
        refuse_two_weights(told, weights, parts)
    refuse_bad_total(total, listed([part.source for part in parts]))
    return found


def _opinions(
    parts: tuple[MemoryPredictions, MemoryPredictions],
    names: tuple[str, str],
    place: Ints,  # where the earlier one's rows are among all
    # codes, ranks: (N,)
    codes: Ints,
    ranks: Floats,
) -> Opinions | None:
    """Return the columns for a model of both: the later one's, where it has a value."""
    before, after = (part.judged for part in parts)
    if before.opinions is None or after.opinions is None:
        return None
    earlier, later = before.opinions.columns, after.opinions.columns
    aux = {
        name: _either(earlier[name], later[name], place, codes.size) for name in after.opinions.aux
    }
    scores = {}
    for name, own, each, rows in (
        (names[0], before.opinions.own, before.score, place),
        (names[1], after.opinions.own, after.score, np.arange(after.score.size)),
    ):
        if own is not None:
            scores[name] = np.full(codes.size, np.nan)
            scores[name][rows] = each
    return opinions_of_several(aux, scores, codes, ranks)


def _either(earlier: Values, later: Values, place: Ints, size: int) -> Values:
    """Return a column of all rows: the later value or, where that is missing, the earlier."""
    if isinstance(earlier, np.ndarray) and isinstance(later, np.ndarray):
        found = np.full(size, np.nan)
        found[place] = earlier
        found[: later.size] = np.where(np.isnan(later), found[: later.size], later)
        return found
    told: list[object] = [None] * size
    for row, value in zip(place.tolist(), earlier, strict=True):
        told[row] = value
    for row, value in enumerate(later):
        if not is_missing(value):
            told[row] = value
    return told


class _Shown:
    """What people see of an item: as the later predictions have it, if they do."""

    def __init__(self, before: Judged, after: Judged, gone: Ints) -> None:
        self._before, self._after, self._gone = before.show, after.show, gone
        self._first_gone = after.score.size

    def __call__(self, rows: Ints, ids: Sequence[Id]) -> list[dict[str, object]]:
        shown: list[dict[str, object]] = [{} for _ in ids]
        late = rows < self._first_gone
        for show, which, of in (
            (self._after, late, rows[late]),
            (self._before, ~late, self._gone[rows[~late] - self._first_gone]),
        ):
            places = np.flatnonzero(which).tolist()
            for place, each in zip(places, show(of, [ids[at] for at in places]), strict=True):
                shown[place] = each
        return shown


def _join_in_engine(
    sides: tuple[Side, Side], names: tuple[str, str], model: Model | None = None
) -> Join:
    """Return the engine that joins two sides, and tell what is moved to it.

    Spark, where the larger side is; otherwise DuckDB, to which rows come from anywhere.
    """
    larger, smaller = sorted(sides, key=lambda side: -side.cells.size)
    equal = larger.cells.size == smaller.cells.size
    home = smaller if equal and _is_of_spark(smaller) else larger
    if _is_of_spark(home):
        from assay.predictions.spark.pair import spark_pair

        return spark_pair(sides, home, names, model)
    from assay.predictions.duckdb.pair import DuckPair

    return DuckPair(sides, names, model)


def _is_of_spark(side: Side) -> bool:
    """Tell whether Spark reads a side; nothing of Spark is loaded for it."""
    scanner = side.part.scanner if isinstance(side, ScannedSide) else None
    return type(scanner).__module__.startswith("assay.predictions.spark.")
