"""Review rule: which answer an item has, by what its reviewers said.

The latest event of a reviewer counts. An item wants one reviewer or more. The first so many who
answered count; answers of further reviewers are kept as *spare*, and take the place of one that is
withdrawn. When those who count agree, the item is settled; when they do not, it is disputed and
waits for a ruling. A ruling settles it over all heads. None of this depends on what the answers
are, only on who gave them and in which order: which answers count cannot lean to one side.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from assay.core.answers import ANSWERS, Answer, answers_to
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.storage import Label

FROM_BEFORE = "before"


SKIP = "skip"  # not now: the reviewer sees it again after all others
WITHDRAWN = "withdrawn"  # the reviewer takes back what they said


class Words(Mapping[str, None]):
    """Some words, and every set of classes.

    A set is one of them where an item may have several classes, and is written in one way.

    `words`: those that are no set, and single classes.

    >>> tags = Vocabulary(("fraud", "spam", "toxic"), multilabel=True)
    >>> words = Words(tags, words_of(tags))
    >>> "fraud|toxic" in words, "toxic|fraud" in words, len(words)
    (True, False, 8)
    """

    def __init__(self, classes: Vocabulary, words: Sequence[str]) -> None:
        self._classes = classes
        self._single = dict.fromkeys(words)

    def __contains__(self, word: object) -> bool:
        if word in self._single:
            return True
        if not self._classes.multilabel or not isinstance(word, str):
            return False
        named = self._classes.parted(word)
        return self._classes.joined(named) == word

    def __getitem__(self, word: str) -> None:
        if word not in self:
            raise KeyError(word)

    def __iter__(self) -> Iterator[str]:
        return iter(self._single)

    def __len__(self) -> int:
        return len(self._single)


def words_of(classes: Vocabulary = YES_OR_NO) -> tuple[str, ...]:
    """Return all single words that a label can say: the answers that there are, skip, withdrawn.

    >>> words_of()
    ('yes', 'no', 'cannot judge', 'broken', 'skip', 'withdrawn')
    """
    return (*(answer.value for answer in answers_to(classes)), SKIP, WITHDRAWN)


@dataclass(slots=True)
class Review:
    """What has been said of one item.

    >>> review = Review(wanted=2)
    >>> review.take(Label("7", "yes", "ann"))
    >>> review.take(Label("7", "no", "bob"))
    >>> review.settled, review.disputed
    (None, True)
    >>> review.take(Label("7", "yes", "eve", ruling=True))
    >>> review.settled, review.disputed
    (<Answer.YES: 'yes'>, False)
    """

    wanted: int  # how many reviewers the item is for
    labels: dict[str, Label] = field(default_factory=dict)  # in the order they were first given
    skips: dict[str, int] = field(default_factory=dict)  # how often each reviewer put it aside
    ruled: Label | None = None

    def take(self, label: Label) -> None:
        """Take in the next label."""
        if label.ruling:
            self.ruled = None if label.answer == WITHDRAWN else label
        elif label.answer == SKIP:
            self.skips[label.reviewer] = self.skips.get(label.reviewer, 0) + 1
        elif label.answer == WITHDRAWN:
            self.labels.pop(label.reviewer, None)
        else:
            self.labels[label.reviewer] = label

    def copy(self) -> "Review":
        """Return the same, to be changed by itself."""
        return Review(self.wanted, dict(self.labels), dict(self.skips), self.ruled)

    @property
    def answers(self) -> dict[str, Answer]:
        """What each reviewer says now, in the order in which they began to."""
        return _answers(self.labels.items())

    @property
    def ruling(self) -> Answer | None:
        """The answer of whoever has ruled."""
        return None if self.ruled is None else ANSWERS[self.ruled.answer]

    @property
    def counted_labels(self) -> Mapping[str, Label]:
        """The labels that count, by reviewer."""
        return dict(islice(self.labels.items(), self.wanted))

    @property
    def counted(self) -> Mapping[str, Answer]:
        """The answers that count, by reviewer."""
        return _answers(self.counted_labels.items())

    @property
    def comment(self) -> str:
        """What was written beside the answer: by whoever ruled, or else by those who count."""
        deciding = self.counted_labels.values() if self.ruled is None else [self.ruled]
        return "\n".join(label.comment for label in deciding if label.comment)

    @property
    def spare(self) -> Mapping[str, Answer]:
        """Answers of further reviewers."""
        return _answers(islice(self.labels.items(), self.wanted, None))

    @property
    def complete(self) -> bool:
        """Whether nobody need be asked any more."""
        return self.ruled is not None or len(self.labels) >= self.wanted

    @property
    def settled(self) -> Answer | None:
        """The item's answer, when there is one."""
        if self.ruled is not None:
            return self.ruling
        if len(self.labels) < self.wanted:
            return None
        counted = [ANSWERS[label.answer] for label in islice(self.labels.values(), self.wanted)]
        agreed = all(each.category is counted[0].category for each in counted)
        return counted[0] if agreed else None

    @property
    def disputed(self) -> bool:
        """Whether it waits for a ruling."""
        return self.complete and self.settled is None


class Reviews(Mapping[str, Review]):
    """What has been said of every item, in the order in which people began to speak of them.

    Where there is one answer alone, its review is made when somebody looks at it: a file has a
    hundred thousand, and reviewers wait while it is taken in.

    `wanted`: tells how many reviewers an item is for.
    """

    def __init__(self, wanted: Callable[[str], int]) -> None:
        self._wanted = wanted
        self._said: dict[str, Review | Label] = {}

    def begin(self, labels: Mapping[str, Label]) -> None:
        """Take in answers, no rulings, to items of which nothing was said before."""
        self._said.update(labels)

    def open(self, item_id: str) -> Review:
        """Return the review of an item, to be changed; a new one where nothing was said yet."""
        said = self._said.get(item_id)
        if isinstance(said, Review):
            return said
        labels = {} if said is None else {said.reviewer: said}
        made = self._said[item_id] = Review(self._wanted(item_id), labels)
        return made

    def __getitem__(self, item_id: str) -> Review:
        if item_id not in self._said:
            raise KeyError(item_id)
        return self.open(item_id)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._said

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)

    def __len__(self) -> int:
        return len(self._said)


def _answers(labels: Iterable[tuple[str, Label]]) -> dict[str, Answer]:
    return {name: ANSWERS[label.answer] for name, label in labels}


def answered(labels: Iterable[Label]) -> set[str]:
    """Return the items that somebody has judged, or tried to, by what counts in the end."""
    reviews: dict[str, Review] = {}
    for label in labels:
        reviews.setdefault(label.item_id, Review(wanted=1)).take(label)
    return {item_id for item_id, review in reviews.items() if review.complete}
