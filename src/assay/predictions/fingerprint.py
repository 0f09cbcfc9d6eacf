"""Texts by which predictions are known again: they change when the predictions do.

There are two kinds. Both guard against mistakes, not against somebody who wants to deceive.

- ``assay-predictions-2``, of one classifier: that of its `assay.core.profile.ScoreCells`.
- ``assay-predictions-3``, of several: of the cells of each classifier that has scores, and of the
  cells of mean rank and code with the sum of their items' d(id) (`several_fingerprint`). It sees
  every id with what all say of it and the bin of its mean rank, and how many scores of each
  classifier each bin holds: all that strata and draws depend on.
"""

from collections.abc import Iterable
from hashlib import sha256

import numpy as np

from assay.core.profile import ScoreCells
from assay.core.types import Ints
from assay.predictions.contract import OF_SEVERAL

_BY_MODEL = ":model-"  # what follows the fingerprint of several where they are cut by a model


def several_fingerprint(
    each: Iterable[ScoreCells], joint: ScoreCells, codes: Ints | None = None
) -> str:
    """Return the fingerprint of several classifiers.

    >>> cells = ScoreCells("probability", np.array([3]), np.array([True]), np.array([2]),
    ...                    np.array([0.5]), np.array([0.5]), np.array([7], dtype=np.uint64))
    >>> several_fingerprint([cells], cells)
    'assay-predictions-3:2:...'
    """
    seen = sha256()
    for cells in each:
        seen.update(f"{cells.rule}:{cells.bin.size};".encode())
        for whole in (cells.bin, cells.said, cells.count):
            seen.update(whole.astype("<i8").tobytes())
    said = joint.said if codes is None else codes[joint.said.astype(np.int64)]
    for whole in (joint.bin, said, joint.count):
        seen.update(whole.astype("<i8").tobytes())
    for rank in (joint.low, joint.high):
        seen.update((rank + 0.0).astype("<f8").tobytes())
    seen.update(joint.digest.astype("<u8").tobytes())
    return f"{OF_SEVERAL}:{joint.size}:{seen.hexdigest()[:16]}"


def by_model(fingerprint: str, word: int) -> str:
    """Return the fingerprint of the same predictions by a model.

    >>> by_model("assay-predictions-3:2:03", 7) == by_model("assay-predictions-3:2:03:model-1", 7)
    True
    """
    seen = sha256(np.uint64(word).tobytes()).hexdigest()[:8]
    return marked(fingerprint, f"{_BY_MODEL[1:]}{seen}")


def marked(fingerprint: str, mark: str) -> str:
    """Return the fingerprint of a part of predictions that a model was fitted to as a whole.

    >>> marked("assay-predictions-2:tail:3:00ff:model-0", "model-1")
    'assay-predictions-2:tail:3:00ff:model-1'
    """
    return f"{fingerprint.partition(_BY_MODEL)[0]}:{mark}"
