"""Review rule: which answer an item has, by what its reviewers said.

The latest event of a reviewer counts. An item wants one reviewer or more. The first so many who
answered count; answers of further reviewers are kept as *spare*, and take the place of one that is
withdrawn. When those who count agree, the item is settled; when they do not, it is disputed and
waits for a ruling. A ruling settles it over all heads. None of this depends on what the answers
are, only on who gave them and in which order: which answers count cannot lean to one side.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from assay.core.answers import Answer
from assay.storage import Said

FROM_BEFORE = "before"


SKIP = "skip"  # not now: the reviewer sees it again after all others
WITHDRAWN = "withdrawn"  # the reviewer takes back what they said

WORDS = (*(answer.value for answer in Answer), SKIP, WITHDRAWN)


@dataclass
class Review:
    """What has been said of one item.

    Parameters
    ----------
    wanted : int
        How many reviewers the item is for.

    Examples
    --------
    >>> review = Review(wanted=2)
    >>> review.take(Said(item_id="7", answer="yes", reviewer="ann"))
    >>> review.take(Said(item_id="7", answer="no", reviewer="bob"))
    >>> review.settled, review.disputed
    (None, True)
    >>> review.take(Said(item_id="7", answer="yes", reviewer="eve", ruling=True))
    >>> review.settled, review.disputed
    (<Answer.YES: 'yes'>, False)
    """

    wanted: int
    answers: dict[str, Answer] = field(default_factory=dict)  # in the order they were first given
    late: set[str] = field(default_factory=set)  # whose answer came when their lease had run out
    skips: Counter[str] = field(default_factory=Counter)
    ruling: Answer | None = None

    def take(self, said: Said) -> None:
        """Take in the next event."""
        if said.ruling:
            self.ruling = None if said.answer == WITHDRAWN else Answer(said.answer)
        elif said.answer == SKIP:
            self.skips[said.reviewer] += 1
        elif said.answer == WITHDRAWN:
            self.answers.pop(said.reviewer, None)
        else:
            self.answers[said.reviewer] = Answer(said.answer)
            self.late.discard(said.reviewer)
            if said.late:
                self.late.add(said.reviewer)

    @property
    def counted(self) -> Mapping[str, Answer]:
        """The answers that count, by reviewer."""
        return dict(list(self.answers.items())[: self.wanted])

    @property
    def spare(self) -> Mapping[str, Answer]:
        """Answers of further reviewers."""
        return dict(list(self.answers.items())[self.wanted :])

    @property
    def complete(self) -> bool:
        """Whether nobody need be asked any more."""
        return self.ruling is not None or len(self.answers) >= self.wanted

    @property
    def settled(self) -> Answer | None:
        """The item's answer, when there is one."""
        if self.ruling is not None:
            return self.ruling
        counted = list(self.counted.values())
        agreed = len(counted) == self.wanted and len({each.outcome for each in counted}) == 1
        return counted[0] if agreed else None

    @property
    def disputed(self) -> bool:
        """Whether it waits for a ruling."""
        return self.complete and self.settled is None


def answered(events: Iterable[Said]) -> set[str]:
    """Return the items that somebody has judged, or tried to, by what counts in the end."""
    reviews: dict[str, Review] = {}
    for event in events:
        reviews.setdefault(event.item_id, Review(wanted=1)).take(event)
    return {item_id for item_id, review in reviews.items() if review.complete}
