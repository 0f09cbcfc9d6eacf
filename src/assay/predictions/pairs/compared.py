"""Two sets of predictions side by side: of two model versions, or of two weeks.

Items are matched by id. Some are in both, some only in the earlier or the later set, and each
classifier's metrics cover its own items. A code has the two predictions, and whether each
classifier was applied to the item (`assay.core.targets`): with K classes it is old + K new, plus
K^2 for an item of the first and 2 K^2 for one of the second; of yes and no, that is four bits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assay.core.cuts import rank
from assay.core.deck import Id
from assay.core.error_model import Model, Values, is_missing
from assay.core.groups import Groups, refuse_bad_names
from assay.core.label_sets import LabelSets
from assay.core.metrics import sides
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError
from assay.predictions.class_values import some_of
from assay.predictions.classes import class_names
from assay.predictions.column import Ids
from assay.predictions.contract import listed
from assay.predictions.doubts import Doubt
from assay.predictions.layout import as_mappings
from assay.predictions.memory import ArrayScanner
from assay.predictions.opinions import Opinions, opinions_of_several
from assay.predictions.pairs.scanner import (
    PairScanner,
    Weighing,
    doubts_about,
    opinions_are_alike,
    put_together,
    refuse_two_weights,
)
from assay.predictions.predictions import Predictions
from assay.predictions.read import engine_of, joining, read_predictions
from assay.predictions.roles import STAR, Classifiers
from assay.predictions.scan import Scan, as_scan
from assay.predictions.union import fingerprint_of, shown_by
from assay.predictions.values import refuse_bad_total

NOWHERE = -1
"""In place of a class, if a classifier was not applied to an item."""


def code_of_both(old: Ints, new: Ints, classes: int) -> Ints:
    """Codes of two classifiers' predictions, each a class number or `NOWHERE`.

    >>> code_of_both(np.array([1, 0, NOWHERE]), np.array([1, NOWHERE, 1]), 2)
    array([15,  4, 10])
    """
    there = (old != NOWHERE) + 2 * (new != NOWHERE)
    code = np.maximum(old, 0) + classes * np.maximum(new, 0)
    return np.asarray(code + classes**2 * there, dtype=np.int64)


def predictions_of_both(code: int, classes: int) -> tuple[int, int]:
    """Predictions of two classifiers in a code: class numbers, or `NOWHERE`.

    >>> [predictions_of_both(code, 2) for code in (15, 4, 10)]
    [(1, 1), (0, -1), (-1, 1)]
    """
    there = code // classes**2
    old = code % classes if there & 1 else NOWHERE
    return old, code // classes % classes if there & 2 else NOWHERE


def compared(
    parts: tuple[Predictions, Predictions],  # the earlier and the later
    names: tuple[str, str],  # names of the two
    *,
    classes: Vocabulary,  # all classes of both
    seed: int = 0,  # of the cards that the first pass of each may have brought along
    shows: bool = True,  # whether reviewers see any columns
) -> Predictions:
    """Predictions of two classifiers, each applied to its own items.

    They are joined in memory if both are there, and otherwise by an engine.
    """
    refuse_bad_names(names)
    _refuse_unlike(*parts)
    before, after = (part.scanner for part in parts)
    scanner: MemoryPair | PairScanner
    if isinstance(before, ArrayScanner) and isinstance(after, ArrayScanner):
        scanner = MemoryPair(parts, (before, after), names, classes)
    else:
        scanner = _join_in_engine(parts, names, shows=shows)
    return Predictions(
        scanner,
        seed=seed,
        classifiers=names,
        vocabulary=classes,
        groups=Groups(names, tuple((name, name) for name in names)),
        reopen=scanner.placed_by,
    )


class MemoryPair(ArrayScanner):
    """Two sets in memory, joined by id."""

    def __init__(
        self,
        parts: tuple[Predictions, Predictions],
        scanners: tuple[ArrayScanner, ArrayScanner],
        names: tuple[str, str],
        classes: Vocabulary,
    ) -> None:
        self.parts, self._names = parts, names
        sides = []
        for number, (part, scanner) in enumerate(zip(parts, scanners, strict=True)):
            numbers, nowhere = _numbers(part, scanner, classes), np.full(part.size, NOWHERE)
            old, new = (nowhere, numbers) if number else (numbers, nowhere)
            codes = code_of_both(old, new, len(classes))
            sides.append((scanner.ids, _ranks(scanner), codes, scanner.every.given))
        ids, ranks, codes, weights, place = put_together(*sides)
        if weights is not None:
            _refuse_unlike_weights(parts, scanners, weights, place, ids)
        beside = _opinions(scanners, names, place, codes, ranks)
        source, n_codes = listed([part.source for part in parts]), 4 * len(classes) ** 2
        items = ids, ranks, codes, weights
        super().__init__(source, *items, n_codes=n_codes, coded=True, beside=beside)

    def checked(self, cells: ScoreCells) -> tuple[str, tuple[Doubt, ...]]:
        """Fingerprint and doubts of both."""
        del cells
        return fingerprint_of(self.parts), doubts_about(self.parts, self._names)

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Show the values of items: from the later predictions, if they have them."""
        return shown_by(self.parts, ids)


def are_alike(both: Predictions, metric: str) -> bool:
    """Whether two sets have the same metric, whatever the truth.

    They do if both predict the same for all items of the metric, and apply it to the same items.
    With classes, a metric may name one: ``precision:fraud``.
    """
    pairs = [predictions_of_both(code, len(both.classes)) for code in both.cells()]
    name, _, label = metric.partition(":")
    if both.of_classes and not label:
        return all(old == new for old, new in pairs)
    number = both.classes.index(label) if label else 1
    return all(
        (old != NOWHERE and (old == number) == side) == (new != NOWHERE and (new == number) == side)
        for old, new in pairs
        for side in sides(name)
    )


def _refuse_unlike(old: Predictions, new: Predictions) -> None:
    """Raise if two sets cannot be compared."""
    if old.id_kind != new.id_kind:
        raise PredictionsError(
            f"the ids in {old.source} are {old.id_kind}s, and those in {new.source} are "
            f"{new.id_kind}s",
            details="items are identified by id: 7 and '7' differ",
            hint="write them alike in both",
        )
    for each in (old, new):
        if isinstance(each.vocabulary, LabelSets):
            raise PredictionsError(
                f"items of {each.source} may have several classes",
                details="two sets of predictions are compared where each item is of one class",
                hint="create a campaign for each, with multilabel=True",
            )
    if old.weighted != new.weighted:
        one, other = (old, new) if old.weighted else (new, old)
        raise PredictionsError(
            f"the items of {one.source} have weights, and those of {other.source} have none",
            hint="name a column that both have: sample_weight='views'",
        )


def _numbers(part: Predictions, scanner: ArrayScanner, classes: Vocabulary) -> Ints:
    """Class number of each item, among all classes."""
    names = [classes.find(name) for name in part.classes]
    if None in names:
        raise PredictionsError(
            f"{part.source} has a class {part.classes[names.index(None)]!r}, which is not among "
            "those of both",
            details=f"{len(classes):,} classes: {some_of(classes.names)}",
            hint="both must be of classes, or both of yes and no",
        )
    number = np.array([classes.numbers[str(name)] for name in names], dtype=np.int64)
    return np.asarray(number[scanner.every.predicted.astype(np.int64)])


def _ranks(scanner: ArrayScanner) -> Floats:
    """Rank of each item within its own set."""
    values = scanner.every.values
    return values if scanner.coded else rank(values, scanner.survey(0).cells.profile(None))


def _refuse_unlike_weights(
    parts: tuple[Predictions, Predictions],
    scanners: tuple[ArrayScanner, ArrayScanner],
    weights: Floats,
    place: Ints,  # positions of the earlier one's rows among all
    ids: Ids,
) -> None:
    """Raise if an item in both has two weights, or if the sum of weights is invalid.

    A label counts for both metrics, and is drawn in proportion to one weight.
    """
    given = (each.every.given for each in scanners)
    before, after = (np.zeros(0) if each is None else each for each in given)
    in_both = place < after.size
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    others = np.flatnonzero(in_both & (weights[place] != before))
    if others.size:
        both, first = int(np.count_nonzero(in_both)), min(ids.at(place[others]))
        refuse_two_weights(Weighing(weights.size, both, total, others.size, first), first, parts)
    refuse_bad_total(total, listed([part.source for part in parts]))


def _opinions(
    parts: tuple[ArrayScanner, ArrayScanner],
    names: tuple[str, str],
    place: Ints,  # positions of the earlier one's rows among all
    # codes, ranks: (N,)
    codes: Ints,
    ranks: Floats,
) -> Opinions | None:
    """Columns of both for a model: the later value, if there is one."""
    before, after = parts
    if before.beside is None or after.beside is None:
        return None
    earlier, later = before.beside.columns, after.beside.columns
    aux = {
        name: _either(earlier[name], later[name], place, codes.size) for name in after.beside.aux
    }
    scores = {}
    for name, own, each, rows in (
        (names[0], before.beside.own, before.every.values, place),
        (names[1], after.beside.own, after.every.values, np.arange(len(after.ids))),
    ):
        if own is not None:
            scores[name] = np.full(codes.size, np.nan)
            scores[name][rows] = each
    return opinions_of_several(aux, scores, codes, ranks)


def _either(earlier: Values, later: Values, place: Ints, size: int) -> Values:
    """Column of all rows: the later value or, if that is missing, the earlier."""
    if isinstance(earlier, np.ndarray) and isinstance(later, np.ndarray):
        numbers = np.full(size, np.nan)
        numbers[place] = earlier
        numbers[: later.size] = np.where(np.isnan(later), numbers[: later.size], later)
        return numbers
    values: list[object] = [None] * size
    for row, value in zip(place.tolist(), earlier, strict=True):
        values[row] = value
    for row, value in enumerate(later):
        if not is_missing(value):
            values[row] = value
    return values


def _join_in_engine(
    parts: tuple[Predictions, Predictions], names: tuple[str, str], *, shows: bool
) -> PairScanner:
    """Join two sets in an engine, and announce which rows are moved to it.

    The cluster if it has the largest set; otherwise DuckDB, which can take rows from anywhere.
    """
    largest = max(part.size for part in parts)
    if any(part.scanner.is_cluster and part.size == largest for part in parts):
        from assay.predictions.pairs.spark import SparkPair

        return SparkPair(parts, names, shows=shows)
    from assay.predictions.pairs.duckdb import DuckPair

    return DuckPair(parts, names, shows=shows)


# Reading two sets of predictions from any source, and joining them by id.


def read_compared(
    scans: Sequence[object],  # the earlier and the later ones
    *,
    # The two names, in the same order, with the columns of each, as in `read_predictions`.
    classifiers: Classifiers,
    id: str | None,
    classes: Vocabulary | None = None,  # those of both, if not yes and no
    show: Sequence[str] = (),
    sample_weight: str | None = None,
    aux: Sequence[str] = (),
    model: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Predictions:
    """Read the predictions of two model versions, or of two weeks, and join them by id.

    If one stays in place, an engine joins them. Both are read into memory if there are more classes
    than yes and no, or second opinions that neither DuckDB nor Spark reads for both.

    >>> old = {"url": ["a", "b"], "p": [0.9, 0.2]}
    >>> new = {"url": ["b", "c"], "p": [0.7, 0.6]}
    >>> columns = {"score": "p", "threshold": 0.5}
    >>> both = read_compared([old, new], classifiers={"old": columns, "new": columns}, id="url")
    >>> both.size, both.cells()
    (3, {5: 1, 10: 1, 14: 1})
    """
    if len(scans) != 2 or len(classifiers) != 2:
        raise PredictionsError(
            f"{len(scans)} predictions of {len(classifiers)} classifiers cannot be compared",
            details="two are needed: the earlier and the later",
        )
    sources = [as_scan(scan) for scan in scans]
    if id is None and not all(isinstance(scan.source, Predictions) for scan in sources):
        raise PredictionsError(
            "a comparison needs ids",
            details="items are matched by id",
            hint="name the column: id='url'",
        )
    one, other = classifiers
    columns = list(as_mappings(classifiers).values())
    around: dict[str, Any] = {"id": id, "show": show, "seed": seed, "sample_weight": sample_weight}
    around["aux"], engine = aux, joining(sources)
    stays = any(stays_in_place(scan, id) for scan in sources)
    stays = stays and not classes and (not aux or engine is not None)
    if stays:
        asked = [replace(scan, engine=engine) for scan in sources] if aux else sources
        old, new = (_read(each, **around, **own) for each, own in zip(asked, columns, strict=True))
    if not stays or (aux and not opinions_are_alike(old, new)):
        pairs = zip(sources, columns, strict=True)
        old, new = (_in_memory(each, classes, **around, **own) for each, own in pairs)
    known = classes or Vocabulary()
    predictions = compared((old, new), (one, other), classes=known, seed=seed, shows=bool(show))
    if model is None or not aux:
        return predictions
    return predictions.with_model(Model.from_dict(model))


def stays_in_place(predictions: object, id: str | None) -> bool:
    """Whether predictions are read in place."""
    scan = as_scan(predictions)
    if isinstance(scan.source, Predictions):
        return scan.source.scanner.stays
    return engine_of(scan, id) != "memory"


def _read(scan: Scan, **columns: Any) -> Predictions:
    """Read one of two sets, at least one of which stays in place."""
    predictions = read_predictions(scan, **{"score": None, **columns})
    in_one_place = predictions.parts == (predictions,)
    if in_one_place and (predictions.is_by_score or not stays_in_place(predictions, None)):
        return predictions
    raise PredictionsError(
        f"{predictions.source} lies in several places, or has several classifiers",
        details="what is compared are the predictions of one classifier in one place",
        hint="give a path, a pattern of paths, a table or a query",
    )


def _in_memory(scan: Scan, classes: Vocabulary | None, **columns: Any) -> Predictions:
    """Read one of two sets into memory. It may lack probabilities of classes that the other has."""
    if scan.is_of_spark:
        aux = bool(columns.get("aux"))
        raise PredictionsError(
            "predictions that Spark reads are to be compared with aux="
            if aux
            else "predictions of more classes than yes and no are in Spark, and are to be compared",
            details="for that both are in one Spark, with columns of the same kind: numbers, text "
            "or truth values"
            if aux
            else "such a comparison reads ids, scores and labels of both into memory",
            hint="write these columns to a Parquet file, and compare that",
        )
    lasting = scan if isinstance(scan.source, Predictions) else replace(scan, engine="memory")
    pattern = columns.get("probabilities") or ""
    if classes is not None and STAR in pattern and lasting is not scan:
        names = class_names(scan, predicted=columns.get("predicted"), probabilities=pattern)
        there = {classes.find(name) for name in names}
        aliases = {alias: name for alias, name in classes.aliases.items() if name in there}
        classes = Vocabulary(tuple(name for name in classes.names if name in there), aliases)
    predictions = read_predictions(lasting, **{"score": None, **columns}, classes=classes)
    if stays_in_place(predictions, None):
        raise PredictionsError(
            f"{predictions.source} lies where {type(predictions.scanner).__name__} reads it",
            details="with second opinions or more classes than yes and no, what is compared is "
            "read into memory",
            hint="write these columns to a Parquet file, and compare that",
        )
    return predictions
