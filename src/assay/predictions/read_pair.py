"""Reading two sets of predictions, whatever they are kept in, and joining them by id."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.core.error_model import Model
from assay.core.strata import UNNAMED
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.errors import PredictionsError
from assay.predictions.classes import class_names
from assay.predictions.columns import Classifiers
from assay.predictions.contract import Predictions
from assay.predictions.judgements import as_mappings
from assay.predictions.memory import MemoryPredictions
from assay.predictions.pair import Compared, ComparedPredictions, ScannedPair
from assay.predictions.read import engine_of, read_predictions
from assay.predictions.roles import STAR
from assay.predictions.scan import Scan, as_scan
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.sql.pair_sides import Read, opinions_are_alike
from assay.predictions.union import UnionPredictions


def read_compared(
    scans: Sequence[object],  # the earlier and the later ones
    *,
    # The two names, in the same order, with the columns of each, as in `read_predictions`.
    classifiers: Classifiers,
    id: str | None,
    classes: Vocabulary | None = None,  # those of both, where they say more than yes and no
    show: Sequence[str] = (),
    sample_weight: str | None = None,
    aux: Sequence[str] = (),
    model: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Compared:
    """Read the predictions of two model versions, or of two weeks, and join them by id.

    Where one of them stays where it is, an engine does that. With more classes than yes and no, or
    second opinions where neither DuckDB nor Spark reads both, they are read into memory.

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
    held = [as_scan(scan) for scan in scans]
    if id is None and not all(isinstance(scan.source, Predictions) for scan in held):
        raise PredictionsError(
            "a comparison needs ids",
            details="nothing else tells which items of the two are the same",
            hint="say which column: id='url'",
        )
    one, other = classifiers
    stays = [stays_in_place(scan, id) for scan in held]
    around: dict[str, Any] = {"id": id, "show": show, "seed": seed, "sample_weight": sample_weight}
    if any(stays) and not (classes or aux):
        old, new = (
            _read(scan, **around, **dict(columns))
            for scan, columns in zip(held, as_mappings(classifiers).values(), strict=True)
        )
        return ScannedPair((old, new), (one, other), seed=seed, shows=bool(show))
    around |= {"aux": aux}
    of_spark = all(scan.is_of_spark for scan in held)
    in_one = of_spark or all(map(_is_of_duckdb, held))
    if any(stays) and aux and in_one and not (classes or sample_weight):
        old, new = (
            _read(
                replace(scan, engine="spark" if of_spark else "duckdb"), **around, **dict(columns)
            )
            for scan, columns in zip(held, as_mappings(classifiers).values(), strict=True)
        )
        if opinions_are_alike(old, new):
            fitted = None if model is None else Model.from_dict(model)
            return ScannedPair((old, new), (one, other), seed=seed, shows=bool(show), model=fitted)
    first, second = (
        _in_memory(scan, classes, **around, **dict(columns))
        for scan, columns in zip(held, as_mappings(classifiers).values(), strict=True)
    )
    known = YES_OR_NO if classes is None else classes
    found = ComparedPredictions(first, second, (one, other), known)
    return found if model is None else found.with_model(Model.from_dict(model))


def _is_of_duckdb(scan: Scan) -> bool:
    """Tell whether DuckDB can read predictions, and nobody has asked for something else."""
    return scan.path is not None and not scan.is_of_spark and scan.engine in (None, "duckdb")


def stays_in_place(predictions: object, id: str | None) -> bool:
    """Tell whether predictions are read where they lie."""
    scan = as_scan(predictions)
    if isinstance(scan.source, Predictions):
        return isinstance(scan.source, ScannedPredictions)
    return engine_of(scan, id) != "memory"


def _read(scan: Scan, **columns: Any) -> Read:
    """Read one of two, of which one stays where it is at least."""
    found = read_predictions(scan, **{"score": None, **columns})
    if isinstance(found, MemoryPredictions) or (
        isinstance(found, ScannedPredictions) and found.classifiers == UNNAMED
    ):
        return found
    raise PredictionsError(
        f"{found.source} lies in several places, or has several classifiers",
        details="what is compared are the predictions of one classifier in one place",
        hint="give a path, a pattern of paths, a table or a query",
    )


def parts_in(predictions: Predictions) -> tuple[Predictions, ...]:
    """Return what predictions are made of: those from each place that they were read from."""
    if isinstance(predictions, UnionPredictions | ComparedPredictions | ScannedPair):
        return tuple(predictions.parts)
    return (predictions,)


def _in_memory(scan: Scan, classes: Vocabulary | None, **columns: Any) -> MemoryPredictions:
    """Read one of the two. It may have no probabilities of classes that the other has."""
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
    found = read_predictions(lasting, **{"score": None, **columns}, classes=classes)
    if not isinstance(found, MemoryPredictions):
        raise PredictionsError(
            f"{found.source} lies where {type(found).__name__} reads it",
            details="with second opinions or more classes than yes and no, what is compared is "
            "read into memory",
            hint="write these columns to a Parquet file, and compare that",
        )
    return found
