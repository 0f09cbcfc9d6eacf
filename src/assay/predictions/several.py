"""Reading the predictions of several classifiers that are judged by one truth."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np

from assay.core.groups import Groups, refuse_bad_names
from assay.core.profile import cells_of, profile_of
from assay.core.targets import ALONE
from assay.core.types import Bools, Floats, Ints, Words
from assay.core.variable import rank
from assay.errors import PredictionsError, did_you_mean
from assay.predictions.column import Loaded
from assay.predictions.contract import CellPredictions
from assay.predictions.engines import engine_of, open_scanner
from assay.predictions.ids import Ids
from assay.predictions.memory import (
    MemoryCellPredictions,
    MemoryPredictions,
    fingerprint_of,
    judged_words,
)
from assay.predictions.numbers import read_weights, refuse_engine
from assay.predictions.read import load, take_ids, take_judgements
from assay.predictions.roles import Roles, refuse_bad_show, refuse_no_column
from assay.predictions.scan import Scan, as_scan
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.scanned_cells import ScannedCellPredictions
from assay.predictions.slices import read_slices, slice_columns

Classifiers = Mapping[str, Mapping[str, object]]
"""Of each classifier's name its `score`, `predicted`, `threshold` and `positive`, those it has."""

_OPTIONS = [field.name for field in fields(Roles) if field.name != "id"]
_NO_SCORE = 0.5  # every item's rank where no classifier has a score


def read_classifiers(
    source: object,
    *,
    classifiers: Classifiers,
    id: str | None = None,
    show: Sequence[str] = (),
    groups: Sequence[str] = (),
    sample_weight: str | None = None,
    seed: int = 0,
) -> CellPredictions:
    """Read the predictions of several classifiers for the same items, and check them.

    Parameters
    ----------
    source : path, table, mapping or CellPredictions
        As in `read_predictions`. What is `CellPredictions` already is returned as it is;
        `Predictions` of one classifier are taken for those of the one that is named.
    classifiers : mapping of str to mapping
        For each classifier's name what `read_predictions` takes: `predicted`, or `score` with
        `threshold`, or all three, and `positive`. A classifier may come without a score. The names
        stand in metrics such as "precision:cnn": letters, digits, _ . and -.
    id, show, seed
        As in `read_predictions`. Several classifiers together are read into memory.
    groups : sequence of str
        Groups of items that metrics are wanted of: ``lang=de``, or ``lang`` for one a value.
        They, too, are read into memory.
    sample_weight : str, optional
        The column of weights, as in `read_predictions`.

    Returns
    -------
    CellPredictions
        Bit k of an item's code is set where the k-th classifier says yes. The stratification
        variable is the mean, over the classifiers that have a score, of the item's rank by it
        (`assay.core.variable.rank`); 1/2 for all items where none has.

    Raises
    ------
    InputError
        Says what is wrong, and with which classifier; a PredictionsError but for bad names.

    Examples
    --------
    >>> table = {"p": [0.9, 0.2, 0.6], "vote": [1, 0, 0]}
    >>> cnn, mve = {"score": "p", "threshold": 0.5}, {"predicted": "vote"}
    >>> found = read_classifiers(table, classifiers={"cnn": cnn, "mve": mve})
    >>> found
    <predictions of dict, 3 rows by cnn, mve: to 2 one says yes>
    >>> found.cells()
    {0: 1, 1: 1, 3: 1}
    """
    if isinstance(source, CellPredictions):
        return source
    held = as_scan(source).source
    if isinstance(held, MemoryPredictions) and len(classifiers) == 1 and not groups:
        return _of_one(held, next(iter(classifiers)))
    roles = roles_of(classifiers)
    if id is not None:
        refuse_no_column("id", id)
    refuse_bad_show(show)
    scan = as_scan(source)
    engine = engine_of(scan, id)
    if sample_weight is not None:
        refuse_no_column("sample_weight", sample_weight)
        refuse_engine(scan, engine, sample_weight)
    elif engine != "memory":
        scanned = _scanned(scan, roles, id=id, show=show, groups=groups, seed=seed)
        if scanned is not None:
            return scanned
    columns = [name for name in (id, sample_weight) if name is not None]
    columns += slice_columns(groups)
    loaded = load_columns(source, roles, columns, show, id)
    ids = take_ids(loaded, id)
    codes, mean_rank, words = judge(loaded, roles, ids)
    held = read_slices(loaded, groups)
    codes |= held.bits << len(roles)
    if held.names:
        words = judged_words(words, held.bits.astype(np.float64), held.bits > 0)
    weights = None if sample_weight is None else read_weights(loaded.columns[sample_weight], ids)
    there = slice(None) if weights is None else np.flatnonzero(weights)
    fingerprint = fingerprint_of(words[there])
    if len(roles) == 1 and not held.names:  # told as when one metric of it is asked for
        (role,) = roles.values()
        score, predicted = take_judgements(loaded, role, ids)
        cells = cells_of(score[there], predicted[there], ids.digest[there])
        fingerprint = cells.fingerprint()
    return MemoryCellPredictions(
        source=loaded.source,
        ids=ids,
        classifiers=tuple(roles),
        codes=codes,
        rank=mean_rank,
        fingerprint=fingerprint,
        show=loaded.show,
        groups=Groups(held.names),
        weights=weights,
    )


def _of_one(held: MemoryPredictions, name: str) -> CellPredictions:
    """Return a classifier's predictions as those of several that are one."""
    refuse_bad_names([name])
    judged = held.judged
    return MemoryCellPredictions(
        source=held.source,
        ids=judged.ids,
        classifiers=(name,),
        codes=judged.predicted.astype(np.int64),
        rank=ranks_of(judged.score, judged.predicted),
        fingerprint=held.fingerprint().partition(":weights-")[0],
        show=judged.show,
        weights=None if judged.weights is None else judged.weights.astype(np.float64),
    )


def ranks_of(score: Floats, predicted: Bools) -> Floats:
    """Return each item's rank by its score, from 0 to 1."""
    return rank(score, profile_of(score, cells_of(score, predicted).rule))


def _scanned(
    scan: Scan,
    roles: Mapping[str, Roles],
    *,
    id: str | None,
    show: Sequence[str],
    groups: Sequence[str],
    seed: int,
) -> CellPredictions | None:
    """Read the predictions where they lie, if they are of one classifier, and not of slices.

    Several classifiers' are read into memory, unless somebody asked for something else.
    """
    (name, role), *others = roles.items()
    engine = engine_of(scan, id)
    if not others and not groups:
        with about(name):
            scanner = open_scanner(scan, engine, replace(role, id=id), show)
            found = ScannedPredictions(
                scanner, threshold=role.threshold, seed=seed, check_ids=scan.check_ids
            )
        return ScannedCellPredictions(found, name)
    if groups and (scan.engine is not None or engine == "spark"):
        raise PredictionsError(
            f"engine {engine!r} reads all items alike, and metrics of {groups[0]!r} are asked for",
            details="a design with targets of slices takes the predictions in memory",
            hint="leave out the engine; or ask for the metric of all items, with slices= for those "
            "that are told from the same labels",
        )
    if scan.engine is not None or engine == "spark":
        raise PredictionsError(
            f"engine {engine!r} reads one classifier's predictions, and there are {len(roles)}",
            details="several are cut by the mean of their ranks, which takes them all in memory",
            hint="leave out the engine, or make a campaign for each classifier",
        )
    return None


def roles_of(classifiers: Classifiers) -> dict[str, Roles]:
    """Return the columns of each classifier, or say what is wrong with what was given."""
    if not isinstance(classifiers, Mapping):
        raise PredictionsError(
            f"classifiers are of type {type(classifiers).__name__}",
            details="they are a mapping of names to what each has: "
            "classifiers={'cnn': {'score': 'p_cnn', 'threshold': 0.5}}",
        )
    refuse_bad_names(list(classifiers))
    roles = {}
    for name, options in classifiers.items():
        with about(name):
            if not isinstance(options, Mapping):
                raise PredictionsError(
                    f"{options!r} is of type {type(options).__name__}",
                    details=f"it must be a mapping of some of {', '.join(_OPTIONS)}",
                )
            for option in options:
                if option not in _OPTIONS:
                    raise PredictionsError(
                        f"unknown option {option!r}",
                        details=f"options: {', '.join(_OPTIONS)}",
                        hint=did_you_mean(str(option), _OPTIONS),
                    )
            given: dict[str, Any] = {**dict.fromkeys(_OPTIONS), **options}
            roles[name] = Roles(id=None, **given)
    return roles


def load_columns(
    source: object,
    roles: Mapping[str, Roles],
    others: list[str],
    show: Sequence[str],
    id: str | None,
) -> Loaded:
    """Read each column once, also where several classifiers share it.

    Parameters
    ----------
    source, show, id
        As in `read_classifiers`.
    roles : mapping of str to Roles
        The columns of each classifier.
    others : list of str
        Columns that are nobody's.
    """
    needed = [column for role in roles.values() for column in role.columns]
    try:
        return load(source, list(dict.fromkeys([*others, *needed])), show, id)
    except PredictionsError as error:
        # What a container's reader says of one column begins with its name.
        for name, role in roles.items():
            if any(error.problem.startswith(f"column {column!r} ") for column in role.columns):
                with about(name):
                    raise
        raise


@contextmanager
def about(classifier: str) -> Iterator[None]:
    """Let errors say which classifier they are about, unless it is one without a name."""
    try:
        yield
    except PredictionsError as error:
        if classifier == ALONE:
            raise
        raise PredictionsError(
            f"classifier {classifier!r}: {error.problem}", details=error.details, hint=error.hint
        ) from error


def judge(loaded: Loaded, roles: Mapping[str, Roles], ids: Ids) -> tuple[Ints, Floats, Words]:
    """Return the items' codes and mean ranks, and the words that a fingerprint is made of.

    One classifier after the other, so that the scores of only one are held as float64.
    """
    codes = np.zeros(len(ids), dtype=np.int64)
    total = np.zeros(len(ids))
    words = ids.digest
    for bit, (name, role) in enumerate(roles.items()):
        with about(name):
            score, predicted = take_judgements(loaded, role, ids)
        codes |= predicted.astype(np.int64) << bit
        words = judged_words(words, score, predicted)
        if role.score is not None:
            total += ranks_of(score, predicted)
    scored = sum(role.score is not None for role in roles.values())
    return codes, total / scored if scored else np.full(len(ids), _NO_SCORE), words
