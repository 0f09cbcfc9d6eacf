"""Epochs of a guaranteed campaign: the times before its strata were cut anew, with their draws.

Where a campaign bets, wealth is carried on over a cut of the strata, card by card. So the bets of
all epochs must be found again from what is stored, also where an answer was revised since. What an
epoch dealt is therefore kept with the settings of the next one, and all that is said of a campaign
follows from its own rows, in a bundle, too.

After a cut, items that were judged lie on top of the new decks, as a round that nobody bets on.
The others come in an order of their own: given the draws so far they would not lie at random in the
old one, because what is left of a stratum that was drawn from often has larger numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

from assay.core.design import Design
from assay.core.evaluation import Evaluation
from assay.core.goal import Goal
from assay.core.strata import Strata
from assay.labelling.rounds import Rounds
from assay.storage import CardRow


@dataclass(frozen=True)
class Dealt:
    """A card of an epoch: its stratum then, what was predicted of it, and its item."""

    stratum: int
    predicted: int
    item_id: str


@dataclass(frozen=True)
class Epoch:
    """A time of a campaign that is over."""

    strata: Strata  # as they were
    # The cards of each round, in the order in which they were bet on. From the second epoch on the
    # first round is of the items that were judged before.
    rounds: tuple[tuple[Dealt, ...], ...]
    judged: int  # the items that were judged at its end

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        rounds = [[[c.stratum, c.predicted, c.item_id] for c in cards] for cards in self.rounds]
        return {"strata": self.strata.to_dict(), "rounds": rounds, "judged": self.judged}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return what `to_dict` was called on."""
        rounds = (
            tuple(Dealt(int(h), int(said), str(item)) for h, said, item in cards)
            for cards in values["rounds"]
        )
        return cls(Strata.from_dict(values["strata"]), tuple(rounds), int(values["judged"]))


def epoch_seed(seed: int, epochs: Sequence[Epoch]) -> int:
    """Return the seed of the draws of a new epoch: its own, and fixed before the first label.

    The number of judged items is a part of it, because it grows: after a rebase, which begins
    again, no order comes twice.

    >>> epoch_seed(7, [])
    7
    """
    if not epochs:
        return seed
    text = f"assay-epoch-1:{seed}:{len(epochs)}:{epochs[-1].judged}".encode("ascii")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") % 2**63


def rounds_after(
    epochs: Sequence[Epoch],  # the first one first
    # design, goal: of all epochs.
    design: Design,
    goal: Goal,
    evaluation: Evaluation,  # of the strata as they are now
    elsewhere: Callable[[], int] | None = None,
) -> Rounds:
    """Return the rounds of a campaign that goes on after epochs, without its own."""
    former: Rounds | None = None
    for epoch in epochs:
        former = Rounds(Evaluation(design, goal, epoch.strata), former=former, goes_on=True)
        for cards in epoch.rounds:
            former.deal([CardRow(c.stratum, 0, c.item_id, c.predicted, "{}") for c in cards])
    return Rounds(evaluation, elsewhere, former)
