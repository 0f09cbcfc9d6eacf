"""What yes and no are called: on pages and terminals, and never in what is stored."""

from dataclasses import replace
from typing import Any

import pytest

import assay
from assay.campaign.compare import refuse_other_questions
from assay.errors import DesignError
from assay.labelling import Reviewing, Settings

MAIL: dict[str, Any] = {"p": [0.9, 0.8, 0.7]}


def make(**given: Any) -> assay.Campaign:
    return assay.create_campaign(MAIL, score="p", threshold=0.5, budget=3, **given)


def test_they_are_kept_and_the_stored_label_stays() -> None:
    campaign = make(answers=("Spam", " Not   spam "))
    settings = Settings.from_dict(campaign.settings.to_dict())
    assert settings.reviewing.answers == ("Spam", "Not spam")
    words = ("yes", "no", "broken", "cannot judge")
    assert [settings.called(each) for each in words] == [
        *("Spam", "Not spam", "broken", "cannot judge")
    ]
    campaign.tell({item.id: item.id != 0 for item in campaign.ask(3)})
    assert sorted(label.answer for label in campaign.events()) == ["no", "yes", "yes"]


def test_without_them_settings_are_what_they_were() -> None:
    settings = make().settings
    assert "answers" not in settings.to_dict()["reviewing"]
    assert [settings.called(each) for each in ("yes", "no")] == ["yes", "no"]


BAD: dict[str, Any] = {
    "one": ("Spam",),
    "three": ("a", "b", "c"),
    "a text": "ab",
    "no text": (1, 0),
    "empty": ("Spam", " "),
    "same": ("Spam", "spam"),
    "exchanged": ("No", "Yes"),
    "half exchanged": ("Spam", "yes"),
    "another answer": ("Spam", "cannot judge"),
    "skip": ("Skip", "Spam"),
    "long": ("x" * 41, "Spam"),
    "unseen": ("Spam", "\u202eSpam"),
}


@pytest.mark.parametrize("answers", BAD.values(), ids=BAD)
def test_what_could_be_taken_for_another_answer_is_refused(answers: Any) -> None:
    with pytest.raises(DesignError) as caught:
        Reviewing(answers=answers)
    assert "answers=('Spam', 'Not spam')" in caught.value.hint


def test_labels_of_a_campaign_with_other_names_are_not_taken() -> None:
    one = make(answers=("Spam", "Ham")).settings
    two = replace(one, reviewing=replace(one.reviewing, answers=("Ham", "Spam")))
    with pytest.raises(DesignError, match="Spam and Ham, not Ham and Spam"):
        refuse_other_questions([one], two)
    refuse_other_questions([one], replace(one, reviewing=Reviewing()))
