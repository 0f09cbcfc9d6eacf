"""Many replications of several designs, in blocks whose numbers depend on seed and design alone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self
from zlib import crc32

import numpy as np

from assay.core.types import Floats, Ints

_BLOCK = 200  # replications: enough for numpy, few enough to tell how far the work is


@dataclass(frozen=True, eq=False)
class SeveralRuns:
    """How each replication ended.

    Attributes
    ----------
    labels : array of int, shape (runs,)
        Distinct items that were labelled.
    value : array, shape (runs, targets)
        The estimates.
    counted : array, shape (runs, targets)
        The labelled items that each target was read off.
    low, high : array, shape (runs, targets), optional
        The intervals, where the design gives some.
    """

    labels: Ints
    value: Floats
    counted: Floats
    low: Floats | None = None
    high: Floats | None = None

    @classmethod
    def joined(cls, blocks: Sequence[Self]) -> Self:
        """Return the runs of several blocks of one design as one."""
        return cls(
            labels=np.concatenate([each.labels for each in blocks]),
            value=np.concatenate([each.value for each in blocks]),
            counted=np.concatenate([each.counted for each in blocks]),
            low=_together([each.low for each in blocks]),
            high=_together([each.high for each in blocks]),
        )


Replay = Callable[[int, np.random.Generator], SeveralRuns]
"""Runs a design so many times."""


def run_blocks(
    replays: Mapping[str, Replay],
    *,
    replications: int,
    seed: int,
    progress: Callable[[float], None] | None,
) -> dict[str, SeveralRuns]:
    """Replay every design; Ctrl-C ends the work and leaves what was finished.

    Examples
    --------
    >>> def replay(n, rng):
    ...     return SeveralRuns(rng.integers(10, size=n), rng.random((n, 1)), np.ones((n, 1)))
    >>> runs = run_blocks({"a": replay}, replications=250, seed=1, progress=None)
    >>> runs["a"].value.shape
    (250, 1)
    """
    done: dict[str, list[SeveralRuns]] = {}
    finished = 0
    try:
        for name, replay in replays.items():
            for block, start in enumerate(range(0, replications, _BLOCK)):
                rng = np.random.default_rng([seed, crc32(name.encode()), block])
                size = min(_BLOCK, replications - start)
                done.setdefault(name, []).append(replay(size, rng))
                finished += size
                if progress is not None:
                    progress(finished / (replications * len(replays)))
    except KeyboardInterrupt:
        pass
    return {name: SeveralRuns.joined(blocks) for name, blocks in done.items()}


def _together(arrays: Sequence[Floats | None]) -> Floats | None:
    known = [array for array in arrays if array is not None]
    return np.concatenate(known) if known else None
