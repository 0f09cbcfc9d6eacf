"""Predictions on arrays, from columns that are in memory."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod

import numpy as np

from assay.core.cuts import rank
from assay.core.error_model import Values
from assay.core.profile import cells_of
from assay.core.strata import UNNAMED
from assay.core.targets import Groups, refuse_bad_names
from assay.core.types import Floats, Ints
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.predictions.class_values import (
    probabilities_at,
    summed_probabilities,
    take_classes,
)
from assay.predictions.column import Loaded
from assay.predictions.contract import ClassScores
from assay.predictions.doubts import doubts_of
from assay.predictions.ids import Ids
from assay.predictions.judgements import (
    about,
    judge,
    ranks_of,
    take_ids,
    take_judgements,
)
from assay.predictions.memory import MemoryPredictions
from assay.predictions.opinions import opinions_of_several, take_aux, take_opinions
from assay.predictions.roles import (
    Roles,
)
from assay.predictions.values import (
    read_slices,
    read_weights,
    rows_in_memory,
)


def in_memory(
    loaded: Loaded,  # the columns
    roles: Mapping[str, Roles],  # which of them are each classifier's
    id: str | None,
    groups: Sequence[str],
    sample_weight: str | None,
    *,
    aux: Sequence[str] = (),  # of classifiers that have names; of one without, its role has them
) -> MemoryPredictions:
    """Return predictions on arrays."""
    ids = take_ids(loaded, id)
    names = tuple(roles)
    if len(names) == 1 and not groups:
        ((name, role),) = roles.items()
        if role.classes is not None:
            return _of_classes(loaded, name, role, role.classes, ids)
        with about(name):
            score, predicted = take_judgements(loaded, role, ids)
        alone = MemoryPredictions(
            source=loaded.source,
            ids=ids,
            score=score,
            predicted=predicted,
            threshold=role.limit,
            show=loaded.show,
            weights=_weights(loaded, sample_weight, ids),
            doubts=lambda cells: doubts_of(
                cells, role, loaded.source, rows_in_memory(loaded, role, score, ids)
            ),
            opinions=take_opinions(loaded, role, predicted) if role.aux else None,
        )
        if role.model is not None:
            return alone.with_model(role.model)
        return alone if names == UNNAMED else named(alone, name, take_aux(loaded, aux))
    judged = judge(loaded, roles, ids, keep_scores=bool(aux))
    codes, held = judged.codes, read_slices(loaded, groups)
    codes |= held.bits << len(roles)
    weights = _weights(loaded, sample_weight, ids)
    there = slice(None) if weights is None else np.flatnonzero(weights)

    return MemoryPredictions(
        source=loaded.source,
        ids=ids,
        score=judged.ranks,
        predicted=codes,
        show=loaded.show,
        weights=weights,
        classifiers=names,
        classes=classes_of(roles),
        probabilities=_probabilities(loaded, roles, ids),
        groups=Groups(held.names),
        fingerprint=judged.fingerprint(
            ids.digest, prod(each.n_classes for each in roles.values()) << len(held.names), there
        ),
        doubts=lambda _: judged.doubts,
        opinions=opinions_of_several(take_aux(loaded, aux), judged.scores, codes, judged.ranks)
        if aux
        else None,
    )


def _of_classes(
    # loaded, name, role, ids: the columns, whose they are, which is what, and the items' ids.
    loaded: Loaded,
    name: str,
    role: Roles,
    classes: Vocabulary,  # what it says of an item
    ids: Ids,
) -> MemoryPredictions:
    """Return the predictions of one classifier of several classes."""
    with about(name):
        score, said = take_classes(loaded, role, classes, ids)
    cells = cells_of(score, said, ids.digest, classes=len(classes))
    return MemoryPredictions(
        source=loaded.source,
        ids=ids,
        score=rank(score, cells.profile(None)),
        predicted=said,
        show=loaded.show,
        classifiers=(name,),
        classes=classes.names,
        probabilities=_probabilities(loaded, {name: role}, ids),
        fingerprint=cells.fingerprint(),
        doubts=lambda _: tuple(
            each.about(name)
            for each in doubts_of(
                cells, role, loaded.source, rows_in_memory(loaded, role, score, ids)
            )
        ),
        class_scores=lambda: ClassScores(cells, summed_probabilities(loaded, role, said, ids)),
    )


def _probabilities(
    loaded: Loaded, roles: Mapping[str, Roles], ids: Ids
) -> list[Callable[[Ints], Floats] | None]:
    """Return of each classifier what tells the probabilities of all classes for some rows."""
    return [
        None
        if role.classes is None or not role.of_class
        else partial(
            probabilities_at, [loaded.columns[name] for name in role.of_class], role.classes, ids
        )
        for role in roles.values()
    ]


def _weights(loaded: Loaded, column: str | None, ids: Ids) -> Floats | None:
    return None if column is None else read_weights(loaded.columns[column], ids)


def classes_of(roles: Mapping[str, Roles]) -> tuple[str, ...]:
    """Return the names of the classes, the same for all classifiers."""
    classes = next(iter(roles.values())).classes
    return (YES_OR_NO if classes is None else classes).names


def named(
    held: MemoryPredictions, name: str, aux: Mapping[str, Values] | None = None
) -> MemoryPredictions:
    """Return the predictions of a classifier without a name as those of one that has."""
    refuse_bad_names([name])
    judged = held.judged
    ranks = ranks_of(judged.score, judged.predicted)
    codes = judged.predicted.astype(np.int64)
    return MemoryPredictions(
        source=held.source,
        ids=judged.ids,
        score=ranks,
        predicted=codes,
        show=judged.show,
        weights=judged.weights,
        classifiers=(name,),
        fingerprint=held.fingerprint().partition(":weights-")[0],
        doubts=lambda _: tuple(each.about(name) for each in held.doubts),
        opinions=opinions_of_several(aux, {name: judged.score}, codes, ranks) if aux else None,
    )
