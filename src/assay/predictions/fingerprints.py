"""A text that changes when the predictions of several classifiers do.

Each row gives a word of 64 bits. It begins as d(id) and becomes, with each classifier in turn,
``h((word xor h(bits of the score)) + predicted)``, with h and d as in `assay.core.deck`. The sum of
the words modulo 2^64 does not depend on the order of the rows. It guards against mistakes, not
against somebody who wants to deceive.

The fingerprint of one classifier is that of its `assay.core.profile.ScoreCells`, which engines
count where the predictions lie.
"""

import numpy as np

from assay.core import deck
from assay.core.types import Bools, Floats, Words


def judged_words(words: Words, score: Floats, predicted: Bools) -> Words:
    """Return the rows' words after one more classifier.

    Examples
    --------
    >>> judged_words(deck.digest(["a", "b"]), np.zeros(2), np.array([True, False]))
    array([...], dtype=uint64)
    """
    judged = deck.mix(score.view(np.uint64))
    judged ^= words
    judged += predicted
    return deck.mix(judged)


def fingerprint_of(words: Words) -> str:
    """Return the fingerprint of rows with these words.

    Examples
    --------
    >>> fingerprint_of(np.array([1, 2], dtype=np.uint64))
    'assay-predictions-1:2:0000000000000003'
    """
    return f"assay-predictions-1:{words.size}:{int(words.sum()):016x}"
