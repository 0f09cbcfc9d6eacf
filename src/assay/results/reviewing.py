"""Messages between a campaign and its reviewers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.core.answers import Answer
from assay.results.estimates import Item
from assay.storage import Label


@dataclass(frozen=True)
class Recorded:
    """What became of answers that were recorded together.

    Attributes
    ----------
    new, revised, unchanged : int
    spare : int
        How many of the new ones do not count, because their items had all the answers they want.
    """

    new: int
    revised: int
    unchanged: int
    spare: int


@dataclass(frozen=True)
class Receipt:
    """What became of a label that a page has sent.

    Attributes
    ----------
    status : {"saved", "again", "conflict", "refused"}
        ``saved`` is on disk. ``again``: the same was sent before, and is. ``conflict``: something
        else was sent under this key, and stands. ``refused``: the item is none that this reviewer
        was given.
    late : bool
        It came when the lease had run out, and counts by the same rule as any other.
    message : str
        What to tell the reviewer, where it was not saved.
    """

    key: str
    status: Literal["saved", "again", "conflict", "refused"]
    late: bool = False
    message: str = ""


@dataclass(frozen=True)
class Turn:
    """What a reviewer gets back: receipts, and the next items.

    `state` is ``wait`` where there is nothing for this reviewer now but may be later; `yours` and
    `team` count items with an answer.
    """

    receipts: tuple[Receipt, ...]
    items: tuple[Item, ...]
    state: Literal["go on", "wait", "done"]
    yours: int
    team: int


@dataclass(frozen=True)
class Dispute:
    """An item on which its reviewers disagree, with the label of each, by their names."""

    item: Item
    labels: Mapping[str, Label]

    @property
    def answers(self) -> Mapping[str, Answer]:
        """What each has said."""
        return {name: Answer(label.answer) for name, label in self.labels.items()}


@dataclass(frozen=True)
class ReviewerRow:
    """One reviewer's part in the campaign.

    `answers` counts items; `late` and `spare` are among them. `last_at` is when they last said
    something.
    """

    name: str
    answers: int
    cannot_judge: int
    broken: int
    skipped: int
    late: int
    spare: int
    last_at: str
