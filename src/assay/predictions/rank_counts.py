"""Several classifiers whose rows come in pieces: the second pass, by mean rank and code.

The ranks of all bins are known after the first (`assay.predictions.streamed`), and what that kept
of the rows is all that is read.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from assay.core.bins import STEPS, pieces
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.predictions.code_cells import Tally, joined_cells, tally_of
from assay.predictions.judgements import NO_SCORE
from assay.predictions.sql.several import Steps
from assay.predictions.streamed import PIECE, Kept, in_threads, workers


class Ranked:
    """The mean rank and the code of rows, from what was kept of them.

    `steps`: of each classifier what its cells tell; `scored`: whether each has a score.
    """

    def __init__(self, steps: Sequence[Steps], scored: Sequence[bool]) -> None:
        self._tables: list[Floats | None] = []
        for step, has_score in zip(steps, scored, strict=True):
            cells = step.cells
            table = np.zeros(2 * (2 * STEPS[cells.rule] + 1))
            table[2 * (cells.bin + STEPS[cells.rule]) + cells.said] = step.rank
            self._tables.append(table if has_score else None)

    def of(self, kept: Kept) -> tuple[Floats, Ints]:
        """Return the mean ranks and the codes."""
        total, scored = np.zeros(kept.size), 0
        # Fewer bytes are faster; classifiers are 40 at most.
        code: Any = np.zeros(kept.size, np.uint16 if len(self._tables) <= 16 else np.int64)
        for place, (key, table) in enumerate(zip(kept.keys, self._tables, strict=True)):
            said = (key & 1).astype(code.dtype, copy=False)
            said <<= place
            code |= said
            if table is not None:
                total += table.take(key, mode="clip")
                scored += 1
        if scored:
            total /= scored
        means = total if scored else np.full(total.size, NO_SCORE)
        codes = code.astype(np.int64, copy=False)
        return means, codes if kept.bits is None else codes | kept.bits << len(self._tables)

    def count(self, kept: Iterable[Kept], n_codes: int) -> ScoreCells:
        """Count rows by mean rank and code."""
        tallies = [tally_of(n_codes) for _ in range(workers())]

        def counter(tally: Tally) -> Callable[[Kept], None]:
            def count(batch: Kept) -> None:
                for rows in pieces(batch.size, PIECE):
                    some = batch.at(rows)
                    tally.add(*self.of(some), some.digest, some.weights)

            return count

        in_threads(kept, [counter(tally) for tally in tallies])
        return joined_cells(tallies, n_codes)
