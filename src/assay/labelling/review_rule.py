"""Review rule: the answer of an item, from its reviewers' labels.

The latest event of a reviewer counts. An item wants one reviewer or more. The first so many who
answered count; answers of further reviewers are kept as *spare*, and replace one that is withdrawn.
If those who count agree, the item is settled; otherwise it is disputed and waits for a ruling. A
ruling overrides all of them. The rule depends only on who answered and in which order, not on the
answers, so the choice of answers that count cannot be biased.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from assay.core.answers import ANSWERS, Answer, answers_to
from assay.core.vocabulary import NONE_OF_THESE, Vocabulary
from assay.storage import Label

FROM_BEFORE = "before"


SKIP = "skip"  # not now: the reviewer sees it again after all others
WITHDRAWN = "withdrawn"  # the reviewer withdraws their answer


class Words(Mapping[str, None]):
    """Words, and every set of classes.

    The sets are included if an item may have several classes; a set has one spelling.

    `words`: single words, classes included.

    >>> from assay.core.label_sets import LabelSets
    >>> tags = LabelSets(("fraud", "spam", "toxic"))
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
        if not isinstance(word, str) or word == NONE_OF_THESE:
            return False
        return self._classes.joined(self._classes.parted(word)) == word

    def __getitem__(self, word: str) -> None:
        if word not in self:
            raise KeyError(word)

    def __iter__(self) -> Iterator[str]:
        return iter(self._single)

    def __len__(self) -> int:
        return len(self._single)


def words_of(classes: Vocabulary) -> tuple[str, ...]:
    """Single words of a label: the possible answers, skip, withdrawn.

    >>> words_of(Vocabulary())
    ('yes', 'no', 'cannot judge', 'broken', 'skip', 'withdrawn')
    """
    return (*(answer.value for answer in answers_to(classes)), SKIP, WITHDRAWN)


@dataclass(slots=True)
class Review:
    """Labels of one item.

    >>> review = Review(wanted=2)
    >>> review.take(Label("7", "yes", "ann"))
    >>> review.take(Label("7", "no", "bob"))
    >>> review.settled, review.disputed
    (None, True)
    >>> review.take(Label("7", "yes", "eve", ruling=True))
    >>> review.settled, review.disputed
    (<Answer.YES: 'yes'>, False)
    """

    wanted: int  # number of reviewers that the item is for
    labels: dict[str, Label] = field(default_factory=dict)  # in the order they were first given
    skips: dict[str, int] = field(default_factory=dict)  # how often each reviewer skipped it
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
        """Independent copy."""
        return Review(self.wanted, dict(self.labels), dict(self.skips), self.ruled)

    @property
    def answers(self) -> dict[str, Answer]:
        """Current answer of each reviewer, in the order in which they first answered."""
        return _answers(self.labels.items())

    @property
    def ruling(self) -> Answer | None:
        """Answer of the ruling."""
        return None if self.ruled is None else ANSWERS[self.ruled.answer]

    @property
    def counted_labels(self) -> Mapping[str, Label]:
        """Labels that count, by reviewer."""
        return dict(islice(self.labels.items(), self.wanted))

    @property
    def counted(self) -> Mapping[str, Answer]:
        """Answers that count, by reviewer."""
        return _answers(self.counted_labels.items())

    @property
    def comment(self) -> str:
        """Comments on the answer: of the ruling, or else of the labels that count."""
        deciding = self.counted_labels.values() if self.ruled is None else [self.ruled]
        return "\n".join(label.comment for label in deciding if label.comment)

    @property
    def spare(self) -> Mapping[str, Answer]:
        """Answers of further reviewers."""
        return _answers(islice(self.labels.items(), self.wanted, None))

    @property
    def complete(self) -> bool:
        """Whether no further answer is needed."""
        return self.ruled is not None or len(self.labels) >= self.wanted

    @property
    def settled(self) -> Answer | None:
        """The item's answer, once there is one."""
        if self.ruled is not None:
            return self.ruling
        if len(self.labels) < self.wanted:
            return None
        counted = [ANSWERS[label.answer] for label in islice(self.labels.values(), self.wanted)]
        agreed = all(each.category is counted[0].category for each in counted)
        return counted[0] if agreed else None

    @property
    def disputed(self) -> bool:
        """Whether the item waits for a ruling."""
        return self.complete and self.settled is None


class Reviews(Mapping[str, Review]):
    """Labels of every item, in the order of the items' first labels.

    The review of an item with a single answer is made on first use: a file has a hundred thousand,
    and reviewers wait during an import.

    `wanted`: returns the number of reviewers that an item is for.
    """

    def __init__(self, wanted: Callable[[str], int]) -> None:
        self._wanted = wanted
        self._reviews: dict[str, Review | Label] = {}

    def begin(self, labels: Mapping[str, Label]) -> None:
        """Take in answers, not rulings, to items without labels."""
        self._reviews.update(labels)

    def open(self, item_id: str) -> Review:
        """Review of an item, for changes; a new one if it has no labels yet."""
        label = self._reviews.get(item_id)
        if isinstance(label, Review):
            return label
        labels = {} if label is None else {label.reviewer: label}
        made = self._reviews[item_id] = Review(self._wanted(item_id), labels)
        return made

    def __getitem__(self, item_id: str) -> Review:
        if item_id not in self._reviews:
            raise KeyError(item_id)
        return self.open(item_id)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._reviews

    def __iter__(self) -> Iterator[str]:
        return iter(self._reviews)

    def __len__(self) -> int:
        return len(self._reviews)


def _answers(labels: Iterable[tuple[str, Label]]) -> dict[str, Answer]:
    return {name: ANSWERS[label.answer] for name, label in labels}


def answered(labels: Iterable[Label]) -> set[str]:
    """Items that somebody has judged, or tried to, by the labels that count."""
    reviews: dict[str, Review] = {}
    for label in labels:
        reviews.setdefault(label.item_id, Review(wanted=1)).take(label)
    return {item_id for item_id, review in reviews.items() if review.complete}
