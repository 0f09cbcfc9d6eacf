"""Contract of predictions, and the fingerprints that identify them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from assay.core.deck import Id
from assay.core.profile import ScoreCells
from assay.core.types import Floats


@dataclass(frozen=True)
class Card:
    """An item dealt from a stratum's deck."""

    id: Id
    # Whether the classifier predicts yes: a bool. For named classifiers, the code
    # (`assay.core.vocabulary`): for yes and no, bit k is set if the k-th predicts yes.
    predicted: int
    # What reviewers see: a JSON value for each column to show.
    shown: Mapping[str, object]
    # Impressions of the item (`assay.core.weights`), if items have weights.
    weight: int | None = None


RANKED = "assay_ranked"
"""Entry of a card for top-k accuracy, hidden from reviewers: each classifier's most probable
classes by number, in order.
"""


@dataclass(frozen=True)
class Found:
    """An item looked up by its id: its card and its stratification variable."""

    card: Card
    value: float


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Scores of one classifier of several classes."""

    cells: ScoreCells  # items by the bin of the predicted class's score, and by that class
    # (K, K): row c: the sum of the probabilities of every class over the items predicted as c;
    # negative ones count as 0. None if only the score of the predicted class is known.
    probabilities: Floats | None = None


OF_SEVERAL = "assay-predictions-3"
"""Prefix of the fingerprint of several classifiers."""


def joint_fingerprint(fingerprints: Sequence[str], size: int) -> str:
    """Fingerprint of all parts together; that of the part if there is only one.

    >>> joint_fingerprint(["assay-predictions-2:tail:3:00ff"], 3)
    'assay-predictions-2:tail:3:00ff'
    """
    if len(fingerprints) == 1:
        return fingerprints[0]
    seen = sha256("\n".join(sorted(fingerprints)).encode())
    return f"assay-union-1:{size}:{seen.hexdigest()[:16]}"


def named(classifiers: Sequence[str]) -> str:
    """Names of the classifiers."""
    return ", ".join(classifiers) or "a classifier without a name"


def listed(sources: Sequence[str]) -> str:
    """List the sources of all parts, in a few words.

    >>> listed(["a.csv", "b.csv"]), listed(["a.csv", "b.csv", "c.csv"])
    ('a.csv and b.csv', 'a.csv and 2 more')
    """
    first, *others = sources
    if len(others) > 1:
        return f"{first} and {len(others)} more"
    return " and ".join(sources)


# Fingerprints of predictions: they change if the predictions do.
#
# There are two kinds. Both guard against mistakes, not against deliberate deception.
#
# - ``assay-predictions-2``, of one classifier: that of its `assay.core.profile.ScoreCells`.
# - ``assay-predictions-3``, of several: from the cells of each classifier with scores, and from the
#   cells of mean rank and code with the sum of their items' d(id) (`several_fingerprint`). It
#   covers every id with its code and the bin of its mean rank, and the number of scores of each
#   classifier in each bin: all that strata and draws depend on.

BY_MODEL = ":model-"
"""Separator before the model's part of the fingerprint of several classifiers."""


def several_fingerprint(each: Iterable[ScoreCells], joint: ScoreCells) -> str:
    """Fingerprint of several classifiers.

    >>> cells = ScoreCells("probability", np.array([3]), np.array([True]), np.array([2]),
    ...                    np.array([0.5]), np.array([0.5]), np.array([7], dtype=np.uint64))
    >>> several_fingerprint([cells], cells)
    'assay-predictions-3:2:...'
    """
    seen = sha256()
    for cells in each:
        seen.update(f"{cells.rule}:{cells.bin.size};".encode())
        for whole in (cells.bin, cells.predicted, cells.count):
            seen.update(whole.astype("<i8").tobytes())
    for whole in (joint.bin, joint.predicted, joint.count):
        seen.update(whole.astype("<i8").tobytes())
    for rank in (joint.low, joint.high):
        seen.update((rank + 0.0).astype("<f8").tobytes())
    seen.update(joint.digest.astype("<u8").tobytes())
    return f"{OF_SEVERAL}:{joint.size}:{seen.hexdigest()[:16]}"


def by_model(fingerprint: str, word: int) -> str:
    """Fingerprint of the same predictions ordered by a model.

    >>> by_model("assay-predictions-3:2:03", 7) == by_model("assay-predictions-3:2:03:model-1", 7)
    True
    """
    seen = sha256(np.uint64(word).tobytes()).hexdigest()[:8]
    return marked(fingerprint, f"{BY_MODEL[1:]}{seen}")


def marked(fingerprint: str, mark: str) -> str:
    """Fingerprint of a part of predictions to which a model was fitted as a whole.

    >>> marked("assay-predictions-2:tail:3:00ff:model-0", "model-1")
    'assay-predictions-2:tail:3:00ff:model-1'
    """
    return f"{fingerprint.partition(BY_MODEL)[0]}:{mark}"
