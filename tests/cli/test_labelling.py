"""One person's sitting, without a screen."""

import io
import sys
import time
from collections import deque
from collections.abc import Iterator

import pytest
from rich.console import Console

from assay.campaign import create_campaign, load_campaign
from assay.campaign.campaign import Campaign
from assay.cli.keyboard import Command, Comment, Entry, Keyboard, Typed, read_keys, read_lines
from assay.cli.label import Labelling
from assay.core.answers import Answer
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.errors import LabelError


def campaign_of(items: int, *, storage: str = "sqlite://") -> Campaign:
    scores = {"p": [0.5 + i / (2 * items) for i in range(items)]}
    return create_campaign(scores, score="p", threshold=0.5, budget=items, storage=storage)


def test_skipped_items_come_again_at_the_end_of_the_batch() -> None:
    labelling = Labelling(campaign_of(3))
    first = labelling.item
    assert labelling.skip() == "skipped for now"
    seen = []
    while labelling.item is not None:
        seen.append(labelling.item)
        if labelling.left == 1:
            assert labelling.skip() == "the only item left in this batch"
        labelling.answer(Answer.YES)
    assert seen[-1] == first
    assert len(seen) == 3


def test_undo_goes_back_as_far_as_the_sitting() -> None:
    campaign = campaign_of(5)
    labelling = Labelling(campaign)
    items = []
    for answer in (Answer.YES, Answer.NO, Answer.CANNOT_JUDGE):
        items.append(labelling.item)
        labelling.answer(answer)
    for expected in reversed(items):
        labelling.undo()
        assert labelling.item == expected
    assert not labelling.can_undo
    assert items[0] is not None
    assert labelling.given(items[0]) is Answer.YES
    labelling.answer(Answer.NO)
    assert labelling.skip() == "no, kept"
    labelling.answer(Answer.YES)
    told = campaign.answers()
    assert [told[item.id] for item in items if item] == [Answer.NO, Answer.NO, Answer.YES]
    assert labelling.judged == 3


def test_an_answer_that_somebody_else_gave_meanwhile_is_kept(storage: str) -> None:
    mine, theirs = Labelling(campaign_of(5, storage=storage)), load_campaign(storage=storage)
    item = mine.item
    assert item is not None
    theirs.tell({item.id: "no"})
    assert mine.answer(Answer.YES) is False
    assert mine.item != item
    assert mine.judged == 0
    assert theirs.answers()[item.id] is Answer.NO


def test_what_somebody_else_was_given_meanwhile_is_left_out() -> None:
    campaign = campaign_of(5)
    ann = Labelling(campaign, "ann")
    first, lost = ann.item, campaign.ask(2, reviewer="ann", lease=0.001)[1]
    time.sleep(0.01)  # the storage's clock counts milliseconds
    assert lost in campaign.ask(2, reviewer="bob")
    assert ann.item == first
    ann.answer(Answer.YES)
    assert ann.item not in (first, lost, None)


FEW = Vocabulary(("math", "Physics", "C", "W boson", "2", "u"), aliases={"maths": "math"})
MANY = Vocabulary((*(f"class {number:02d}" for number in range(30)), "q-bio", "quant"))


def pressed(classes: Vocabulary, keys: str, *lines: str) -> list[Entry]:
    """Return what a reviewer says who presses keys, and types lines where they are asked to."""
    typed, keyed = iter(lines), iter([keys, ""])
    console = Console(file=io.StringIO())
    keyboard = Keyboard(classes)
    return list(read_keys(lambda: next(keyed), lambda: next(typed), console, keyboard, deque()))


def test_yes_and_no_have_their_keys() -> None:
    keyboard = Keyboard(YES_OR_NO)
    assert keyboard.keys == {
        "y": "yes",
        "n": "no",
        "c": "cannot judge",
        "b": "broken",
        "u": "undo",
        "s": "skip for now",
        "w": "write a comment",
        "q": "quit",
    }
    assert pressed(YES_OR_NO, "Yt1") == [Answer.YES, None, None]


def test_few_classes_have_a_number_each() -> None:
    keys = "12345067cbuCB"
    cannot, broken = Answer.CANNOT_JUDGE, Answer.BROKEN
    classes = [Answer(name) for name in ("math", "Physics", "C", "W boson", "2")]
    others = [Answer.NONE_OF_THESE, Answer("u"), None, cannot, broken, Command.UNDO]
    assert pressed(FEW, keys) == [*classes, *others, cannot, broken]
    assert all(said is None or isinstance(said, Answer | Command) for said in pressed(FEW, keys))


def test_one_of_many_classes_is_typed() -> None:
    assert pressed(MANY, "t", "class 07") == [Typed("class 07")]
    assert pressed(MANY, "tq-b\n0c5") == [
        Typed("q-b"),
        Answer.NONE_OF_THESE,
        Answer.CANNOT_JUDGE,
        None,
    ]
    keyboard = Keyboard(MANY)
    assert keyboard.keys["t"] == "type one of 32 classes"
    found = {
        text: keyboard.find(text) for text in ("Q-B", "class  07", "q", "bio", "clas 07", "", "x")
    }
    assert found == {
        "Q-B": Answer("q-bio"),
        "class  07": Answer("class 07"),
        "q": ["q-bio", "quant"],
        "bio": ["q-bio"],  # it may be meant, and was not typed
        "clas 07": ["class 07"],
        "": [],
        "x": [],
    }
    assert len(keyboard.find("class")) == 30


def lines_of(classes: Vocabulary, text: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Entry]:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return read_lines(Keyboard(classes))


def test_in_a_pipe_names_come_before_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "MATHS\n1\n2\nc\nW boson\nu\nundo\n?\nnone of these\n0\nw a note\n"
    assert list(lines_of(FEW, text, monkeypatch)) == [
        Answer("math"),
        Answer("math"),
        Answer("2"),  # as it is called, and not the second
        Answer("C"),
        Answer("W boson"),
        Answer("u"),
        Command.UNDO,
        Answer.CANNOT_JUDGE,
        Answer.NONE_OF_THESE,
        Answer.NONE_OF_THESE,
        Comment("a note"),
    ]
    for line in ("yes", "phys", "t", "7"):  # nothing is guessed where nobody looks
        with pytest.raises(LabelError, match="is not an answer"):
            list(lines_of(FEW, line, monkeypatch))
    assert list(lines_of(MANY, "q", monkeypatch)) == [Command.QUIT]
