"""The rule from what reviewers said to an item's answer, against the same rule in other words."""

from itertools import product

import numpy as np

from assay.core.answers import Answer
from assay.core.vocabulary import Vocabulary
from assay.labelling.review_rule import Review, answered, words_of
from assay.storage import Label
from tests.desk_model import Happened, Model

WORDS = words_of(Vocabulary())
SAID = [
    *(Label("7", word, name) for name in "ab" for word in WORDS),
    *(Label("7", word, "o", ruling=True) for word in ("yes", "no")),
]


def review_of(said: list[Label], wanted: int) -> Review:
    review = Review(wanted)
    for each in said:
        review.take(each)
    return review


def differs(said: list[Label], wanted: int) -> bool:
    """Tell whether the rule and the model are of two minds."""
    model = Model(seed=0, per_item=wanted, share=1.0)
    model.events = [Happened(7, each.answer, each.reviewer, ruling=each.ruling) for each in said]
    review = review_of(said, wanted)
    found = (review.answers, review.counted, review.complete, review.settled, review.disputed)
    return found != (
        model.answers(7),
        model.counted(7),
        model.complete(7),
        model.settled(7),
        model.disputed(7),
    ) or list(review.answers) != list(model.answers(7))


def every_story() -> list[list[Label]]:
    """Return all stories of up to three events, and long ones at random."""
    stories = [list(story) for length in range(4) for story in product(SAID, repeat=length)]
    rng = np.random.default_rng(3)
    people = [*SAID, *(Label("7", word, "c") for word in WORDS)]
    long = rng.integers(len(people), size=(1000, 10)).tolist()
    return [*stories, *([people[place] for place in story] for story in long)]


STORIES = every_story()


def test_every_short_story_and_many_long_ones() -> None:
    assert not any(differs(story, wanted) for story in STORIES for wanted in (1, 2))
    assert not any(differs(story, 3) for story in STORIES[-1000:])


def test_broken_and_cannot_judge_agree() -> None:
    said = [Label("7", word, word) for word in ("cannot judge", "broken")]
    assert review_of(said, 2).settled is Answer.CANNOT_JUDGE
    assert not review_of([said[1], Label("7", "no", "c")], 2).settled


def test_what_counts_does_not_depend_on_the_answers() -> None:
    """Swapping yes and no throughout swaps the outcome, and nothing else: no side is favoured."""
    other = {"yes": "no", "no": "yes"}
    for story in STORIES[-300:]:
        swapped = [
            Label("7", other.get(each.answer, each.answer), each.reviewer, ruling=each.ruling)
            for each in story
        ]
        one, two = review_of(story, 2), review_of(swapped, 2)
        assert list(one.counted) == list(two.counted)
        assert (one.complete, one.disputed) == (two.complete, two.disputed)


def test_items_that_have_an_answer_in_the_end() -> None:
    said = [
        Label("1", "skip", "ann"),
        Label("2", "yes", "ann"),
        Label("2", "withdrawn", "ann"),
        Label("3", "broken", "ann"),
    ]
    assert answered(said) == {"3"}
