"""How one target stands: the answers as it counts them, and what can be said of them."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from assay.core.census import Once
from assay.core.design import Design
from assay.core.engine import Look, State
from assay.core.goal import Goal
from assay.core.metrics import Metric
from assay.core.tallies import Tallies
from assay.core.unjudged import movement
from assay.core.worst import ends_at_worst, with_open


@dataclass(frozen=True, eq=False)
class Standing:
    """How one target stands: its design, goal and metric, the answers, and a look.

    `once` are the items behind the answers, where an item's answer may count again. `before` is
    how it stood after the last complete round, where cards of later ones wait for an answer.
    """

    name: str
    design: Design
    goal: Goal
    metric: Metric
    state: State
    look: Look
    once: Once | None = None
    before: "Standing | None" = None

    @property
    def tallies(self) -> Tallies:
        """The answers as the target counts them."""
        return self.state.tallies

    @property
    def labels(self) -> int:
        """Items with a yes or no."""
        return int((self.tallies.n if self.once is None else self.once.judged).sum())

    @property
    def unjudged(self) -> int:
        """Items that could not be judged."""
        return int((self.tallies.u if self.once is None else self.once.unjudged).sum())

    @property
    def open(self) -> int:
        """Items that were dealt and wait for an answer."""
        if self.once is not None:
            return int((self.once.dealt - self.once.judged - self.once.unjudged).sum())
        return 0 if self.state.open is None else int(self.state.open.sum())

    @property
    def could_move(self) -> float:
        """How far the items that could not be judged could alone move the value."""
        return float(movement(self.tallies, self.metric))

    @property
    def worst_case(self) -> tuple[float, float]:
        """The interval's low end with all unjudged items against, its high end with all for.

        Cards that wait for an answer are at their worst, too.
        """
        state, doubtful = self.state, self.tallies.u
        if state.open is not None and not self.design.bets:
            doubtful = doubtful + state.open
        found = ends_at_worst(
            self.design, self.goal, self.metric, state, now=self.look, doubtful=doubtful
        )
        low, high = map(float, found)
        if self.before is not None:
            less, more = self.before.worst_case
            if more - less < high - low:
                low, high = min(less, float(self.look.low)), max(more, float(self.look.high))
        return low, high

    def with_open(self) -> Self:
        """Return the same with the cards that wait for an answer at their worst."""
        now = with_open(self.design, self.goal, self.metric, self.state, self.look)
        return replace(self, look=now)

    def or_before(self, before: "Standing") -> Self:
        """Return the same with the interval of the last complete round, where that is narrower.

        The value stays that of all answers, and the interval holds it.
        """
        now, then = self.look, before.look
        if then.high - then.low >= now.high - now.low:
            return replace(self, before=before)
        value = now.moments.value if now.moments.defined else then.low
        low, high = np.minimum(then.low, value), np.maximum(then.high, value)
        return replace(self, look=replace(now, low=low, high=high), before=before)
