"""A population of three classes, and all that must not depend on where it is read from."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.core.cells import cut_heaps
from assay.core.strata import Strata
from assay.core.vocabulary import Vocabulary
from assay.predictions import Card, Predictions

TOPICS = ("math", "physics", "q-bio")
N = 3_000


def topics_table(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet([1.0, 2.0, 0.3], N)
    most = probabilities.argmax(axis=1)
    # As of classifiers of one class each: they add up to anything. Some are no probabilities.
    weights = probabilities * np.random.default_rng(9).uniform(0.2, 3, (N, 1))
    weights[:100], weights[np.flatnonzero(most == 0)[-1]] = probabilities[:100], 0.0
    weights[200:210] -= 0.3
    columns = {f"p_{name}": probabilities[:, place] for place, name in enumerate(TOPICS)}
    columns |= {f"q_{name}": weights[:, place] for place, name in enumerate(TOPICS)}
    return {
        "url": [f"u{number}" for number in range(N)],
        "topic": [TOPICS[number] for number in most],
        "top": probabilities.max(axis=1),
        "text": [f"text {number}" for number in range(N)],
        **columns,
    }


TABLE = topics_table()
KNOWN = Vocabulary(TOPICS)


def cut(found: Predictions, heaps: Sequence[tuple[int, ...]], bins: int) -> Strata:
    """Return strata of classes that are drawn from together, by rank."""
    parts = cut_heaps(found.profile_heaps(heaps), heaps, [bins] * len(heaps))
    return Strata(
        classifiers=found.classifiers,
        vocabulary=found.vocabulary,
        heaps=tuple(parts),
        parts=found.count_parts(parts),
    )


def dealt(found: Predictions, strata: Strata, each: int) -> list[list[Card]]:
    """Return the first cards of every stratum."""
    return found.deal(strata, scale="probability", seed=7, counts=[each] * strata.n_strata)


def told_by(found: Predictions) -> dict[str, Any]:
    """Return all that must not depend on the container."""
    strata = cut(found, [(0,), (1, 2)], 4)
    return {
        "classes": found.classes,
        "cells": found.cells(),
        "parts": strata.parts,
        "heaps": strata.heaps,
        "count": found.count(strata, scale="probability").tolist(),
        "cards": dealt(found, strata, 20),
        "all cards of one class": dealt(found, cut(found, [(2,)], 3), N),
        "has probabilities": found.has_probabilities,
        "most probable classes": found.ranked(["u3", "u2999", "u5"], 2),
        "found": found.find(["u3", "none", "u5"], variable="rank", scale="probability"),
        "fingerprint": found.fingerprint(),
        "range": found.score_range,
        "scores": scores_of(found),
    }


def scores_of(found: Predictions) -> tuple[Any, ...]:
    """Return the scores by class, and the sums of probabilities but for the order of addition."""
    scores = found.class_scores()
    assert scores is not None
    cells, sums = scores.cells, scores.probabilities
    counted = [np.asarray(each).tolist() for each in (cells.low, cells.predicted, cells.count)]
    return *counted, None if sums is None else np.round(sums, 6).tolist()
