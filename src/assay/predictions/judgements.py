"""Judgements: what one classifier or several said of each item, and the truth where it is known."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np

from assay.core.cuts import rank
from assay.core.profile import ScoreCells, cells_of, profile_of
from assay.core.strata import UNNAMED
from assay.core.targets import ALONE, refuse_bad_names
from assay.core.types import Bools, Floats, Ints, Words
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError, did_you_mean
from assay.predictions.class_values import as_lists, take_classes
from assay.predictions.code_cells import cells_by_code
from assay.predictions.column import Loaded
from assay.predictions.columns import Classifiers
from assay.predictions.contract import several_fingerprint
from assay.predictions.doubts import Doubt, doubts_of
from assay.predictions.duckdb.loading import read_scan
from assay.predictions.ids import Ids, read_ids
from assay.predictions.roles import Roles
from assay.predictions.scan import as_scan
from assay.predictions.tables import read_mapping, read_table
from assay.predictions.values import (
    read_predicted,
    read_scores,
    refuse_contradictions,
    rows_in_memory,
)

_SHARED = ("id", "aux", "model", "classes", "of_class")  # not one classifier's
_OPTIONS = [field.name for field in fields(Roles) if field.name not in _SHARED]
NO_SCORE = 0.5
"""Every item's rank where no classifier has a score."""


def load(
    source: object,
    # used, show: the columns to read, and those that people see.
    used: Sequence[str],
    show: Sequence[str],
    id: str | None,  # the column of ids
    lists: Sequence[str] = (),  # those of the columns to read that hold lists of numbers
) -> Loaded:
    """Read columns of a path, a query, a table of a database, a mapping or a table in memory.

    >>> load({"p": [0.9, 0.2]}, ["p"], (), None).source
    'dict, 2 rows'
    """
    scan = as_scan(source)
    if scan.path is not None:
        return read_scan(scan, used, show, id, lists)
    held = scan.source
    for name, given in (("where", scan.where), ("table", scan.table)):
        if given is not None:
            raise PredictionsError(
                f"{name}={given!r} is given beside predictions of type {type(held).__name__}",
                details=f"{name} is for files, queries and databases",
                hint="filter the table first, and leave it out",
            )
    if isinstance(held, Mapping):
        wide = {name: held[name] for name in lists if getattr(held.get(name), "ndim", 1) == 2}
        held = {**held, **{name: as_lists(array) for name, array in wide.items()}} if wide else held
        return read_mapping(held, used, show, type(held).__name__)
    return read_table(held, used, show)


def take_ids(loaded: Loaded, id: str | None) -> Ids:
    """Take a column for the ids, or else the numbers of the rows.

    >>> take_ids(load({"p": [0.9, 0.2]}, ["p"], (), None), None).values
    array([0, 1])
    """
    size = len(next(iter(loaded.columns.values())).data)
    if size == 0:
        raise PredictionsError(f"there are no predictions in {loaded.source}")
    return Ids(np.arange(size)) if id is None else read_ids(loaded.columns[id])


def take_judgements(loaded: Loaded, roles: Roles, ids: Ids) -> tuple[Floats, Bools]:
    """Take a classifier's scores and predicted labels, or say what is wrong with them.

    >>> roles = Roles(score="p", predicted=None, id=None, threshold=0.5, positive=None)
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
    elif roles.limit is not None:  # Roles sees to it that one of the two is given
        score = roles.positive_scores(score, None)
        predicted = score >= roles.limit
    return score, predicted


def as_mappings(classifiers: Classifiers) -> dict[str, Any]:
    """Return classifiers with the columns of each by name: a pair is a score and what says yes.

    What is neither is left as it is, for `roles_of` to refuse.

    >>> as_mappings({"a": ("p", "said"), "b": ("q", 0.5)})
    {'a': {'score': 'p', 'predicted': 'said'}, 'b': {'score': 'q', 'threshold': 0.5}}
    """
    found: dict[str, Any] = dict(classifiers)
    for name, given in found.items():
        if isinstance(given, tuple | list) and len(given) == 2:
            score, says_yes = given
            number = isinstance(says_yes, Real) and not isinstance(says_yes, bool)
            by = "threshold" if number else "predicted"
            found[name] = {**({} if score is None else {"score": score}), by: says_yes}
    return found


def roles_of(classifiers: Classifiers, classes: Vocabulary | None = None) -> dict[str, Roles]:
    """Return the columns of each classifier, or say what is wrong with what was given.

    `classifiers`: what each has.
    """
    if not isinstance(classifiers, Mapping):
        raise PredictionsError(
            f"classifiers are of type {type(classifiers).__name__}",
            details="they are a mapping of names to what each has: "
            "classifiers={'cnn': {'score': 'p_cnn', 'threshold': 0.5}}",
        )
    refuse_bad_names(list(classifiers))
    roles = {}
    for name, options in as_mappings(classifiers).items():
        roles[name] = role_of(name, options, classes)
    return roles


def role_of(name: str, options: object, classes: Vocabulary | None = None) -> Roles:
    """Return the columns of one classifier, or say what is wrong with what was given.

    `options`: what it has.
    """
    with about(name):
        if not isinstance(options, Mapping):
            raise PredictionsError(
                f"{options!r} is of type {type(options).__name__}",
                details=f"it must be a mapping of some of {', '.join(_OPTIONS)}; or "
                "a pair: the columns of score and predicted label, or a score and a threshold",
            )
        for option in options:
            if option not in _OPTIONS:
                raise PredictionsError(
                    f"unknown option {option!r}",
                    details=f"options: {', '.join(_OPTIONS)}",
                    hint=did_you_mean(str(option), _OPTIONS),
                )
        given: dict[str, Any] = {**dict.fromkeys(_OPTIONS), **options}
        return Roles(id=None, classes=classes, **given)


def load_columns(
    source: object,
    roles: Mapping[str, Roles],  # the columns of each classifier
    others: list[str],  # columns that are nobody's
    show: Sequence[str],
    id: str | None,
) -> Loaded:
    """Read each column once, also where several classifiers share it."""
    needed = [column for role in roles.values() for column in role.columns]
    lists = [role.of_class[0] for role in roles.values() if len(role.of_class) == 1]
    try:
        return load(source, list(dict.fromkeys([*others, *needed])), show, id, lists)
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
        if classifier in (ALONE, *UNNAMED):
            raise
        raise PredictionsError(
            f"classifier {classifier!r}: {error.problem}", details=error.details, hint=error.hint
        ) from error


@dataclass(frozen=True, eq=False)
class Judgements:
    """What several classifiers say of the items."""

    codes: Ints  # bit k is set where the k-th says yes; of classes, `Vocabulary.code`
    ranks: Floats  # the mean rank by their scores
    cells: tuple[ScoreCells, ...]  # the items by the score of each classifier that has scores
    doubts: tuple[Doubt, ...]  # what looks wrong with their scores
    scores: Mapping[str, Floats]  # of each classifier that has some, where they are kept

    def fingerprint(self, digest: Words, n_codes: int, rows: Ints | slice = slice(None)) -> str:
        """Return the fingerprint (`assay.predictions.contract`)."""
        joint, codes = cells_by_code(self.ranks[rows], self.codes[rows], digest[rows], n_codes)
        return several_fingerprint(self.cells, joint, codes)


def judge(
    loaded: Loaded, roles: Mapping[str, Roles], ids: Ids, *, keep_scores: bool = False
) -> Judgements:
    """Take what each classifier says.

    One classifier after the other, so that the scores of only one are held as float64.
    """
    scores: dict[str, Floats] = {}
    codes = np.zeros(len(ids), dtype=np.int64)
    total = np.zeros(len(ids))
    counted, doubts = list[ScoreCells](), list[Doubt]()
    for place, (name, role) in enumerate(roles.items()):
        with about(name):
            score, predicted = _taken(loaded, role, ids)
        codes += predicted.astype(np.int64) * role.n_classes**place
        if role.has_score:
            if keep_scores:
                scores[name] = score
            cells = cells_of(score, predicted, classes=role.n_classes)
            counted.append(cells)
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


def _taken(loaded: Loaded, role: Roles, ids: Ids) -> tuple[Floats, Bools | Ints]:
    """Return a classifier's scores, and what it says."""
    if role.classes is None:
        return take_judgements(loaded, role, ids)
    return take_classes(loaded, role, role.classes, ids)


def ranks_of(score: Floats, predicted: Bools | Ints, classes: int = 2) -> Floats:
    """Return each item's rank by its score, from 0 to 1."""
    return rank(score, profile_of(score, cells_of(score, predicted, classes=classes).rule))
