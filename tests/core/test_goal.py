"""Targets by name, and questions for a threshold: what can be written, kept and said of them."""

import json
import re
from typing import Any

import pytest

from assay.core.goal import Goal, ThresholdQuestion
from assay.core.metrics import METRICS
from assay.core.targets import Target, parse_targets, slices_in
from assay.errors import DesignError

NAMES = ["new", "old-2.1", "vote_3"]
SLICES = ["lang=de", "lang=en", "language=fr", "site=a b"]


def parsed(text: str, **options: Any) -> list[tuple[str, float | None]]:
    return [(each.name, each.within) for each in parse_targets([text], NAMES, **options)]


@pytest.mark.parametrize(
    ("text", "name", "within"),
    [
        ("precision:new", "precision:new", None),
        ("  Precision : new ", "precision:new", None),
        ("False omission rate:vote_3", "false_omission_rate:vote_3", None),
        ("false-omission-rate:old-2.1", "false_omission_rate:old-2.1", None),
        ("recall:new within 0.02", "recall:new", 0.02),
        ("recall:new   within   2e-2 ", "recall:new", 0.02),
        ("f1:new - f1:old-2.1", "f1:new - f1:old-2.1", None),
        ("f1:new − f1:old-2.1", "f1:new - f1:old-2.1", None),
        ("F1 : new  -   f1 :old-2.1 within 0.1", "f1:new - f1:old-2.1", 0.1),
        ("prevalence", "prevalence", None),
        ("prevalence:new within .3", "prevalence", 0.3),
    ],
)
def test_what_can_be_written(text: str, name: str, within: float | None) -> None:
    assert parsed(text) == [(name, within)]
    assert parsed(text, within=0.25) == [(name, within or 0.25)]
    assert parsed(name) == [(name, None)]  # a target's name is a way to write it


def test_the_narrowest_interval() -> None:
    assert Goal("precision", within=1e-9).worst_case > 10**17
    with pytest.raises(DesignError, match="within=1e-300 is less than one item in a billion"):
        Goal("precision", within=1e-300)  # its square is 0


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_without_a_name_is_of_every_classifier(metric: str) -> None:
    every = [metric] if metric == "prevalence" else [f"{metric}:{name}" for name in NAMES]
    assert parsed(f" {metric} within 0.04") == [(name, 0.04) for name in every]


def test_half_widths_by_name_come_first_then_those_in_the_text_then_the_common_one() -> None:
    widths: dict[str, Any] = {
        "recall:new within 0.2": 0.1,
        "f1:new within 0.2": None,
        "accuracy:new": None,
    }
    found = parse_targets(widths, NAMES, within=0.3)
    assert [each.within for each in found] == [0.1, 0.2, 0.3]
    assert parse_targets({"f1": 0.1}, NAMES) == parse_targets(["f1"], NAMES, within=0.1)


REFUSED = {
    "precision:mew": ("unknown classifier 'mew' in 'precision:mew'", "did you mean 'new'"),
    "precison:new": ("unknown metric 'precison'", "did you mean 'precision'"),
    "precison": ("unknown metric 'precison'", "did you mean 'precision'"),
    "prevalence:mew": ("unknown classifier 'mew' in 'prevalence:mew'", "did you mean 'new'"),
    "precision:": ("'precision:': of which", "write METRIC:new"),
    "f1 - f1": ("'f1 - f1': of which", "write METRIC:new"),
    "precision:new - recall:new": ("of two different metrics", "same metric on both sides"),
    "f1:new - f1:vote_3 - f1:old-2.1": ("is not the difference of two metrics", ""),
    "f1:new - vote_3": ("'f1:new - vote_3' cannot be read", "write METRIC:vote_3"),
    "f1:new-f1:vote_3": ("'f1:new-f1:vote_3' cannot be read", "a space on either side"),
    "f1:new−f1:vote_3": ("cannot be read", "a space on either side"),
    "f1:new - f1:new": ("f1:new - f1:new is 0", "of one classifier"),
    "prevalence - prevalence": ("prevalence does not depend on the classifier", ""),
    "prevalence:new - prevalence:vote_3": ("prevalence does not depend on the classifier", ""),
    "f1:new within 2%": ("'2%' is not a number", "precision:cnn within 0.02"),
    "f1:new within 0": ("within must be a number between 0 and 0.5", "0.02 means ±2"),
    "f1:new within 0.5": ("got 0.5", "0.02 means ±2"),
    "f1:new within -0.1": ("got -0.1", "0.02 means ±2"),
    "f1:new within nan": ("got nan", "0.02 means ±2"),
    "f1:new within inf": ("got inf", "0.02 means ±2"),
    "f1:new within": ("unknown classifier 'new within'", "classifiers: new, old-2.1, vote_3"),
    "": ("unknown metric ''", "metrics: precision"),
    "f1:new[lang=fe]": ("unknown slice 'lang=fe' in 'f1:new[lang=fe]'", "did you mean"),
    "f1:new[country]": ("unknown slice 'country'", "slices: lang=de, lang=en"),
    "f1:new[]": ("'f1:new[]' cannot be read", "METRIC:CLASSIFIER[COLUMN=VALUE]"),
    "f1:new[lang=de": ("'f1:new[lang=de' cannot be read", "METRIC:CLASSIFIER[COLUMN=VALUE]"),
    "f1:new[lang=de] - f1:vote_3[lang=en]": ("cannot be read", "of the same one"),
    "f1:new[lang=de] - f1:vote_3": ("cannot be read", "of the same one"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_read_is_named_with_its_remedy(text: str) -> None:
    problem, remedy = REFUSED[text]
    with pytest.raises(DesignError, match=re.escape(problem)) as raised:
        parse_targets([text], NAMES, slices=SLICES if "[" in text else ())
    assert remedy in str(raised.value)


@pytest.mark.parametrize("metrics", ["f1:new", [3], [None], [["f1:new"]], {3: 0.1}])
def test_what_is_no_list_of_names_is_refused(metrics: Any) -> None:
    with pytest.raises(DesignError, match=r"must be several names|is written like"):
        parse_targets(metrics, NAMES)


GOAL = Goal(
    targets=parse_targets(
        ["precision", "recall:new - recall:vote_3 within 0.1"], NAMES, within=0.05
    ),
    budget=300,
    confidence=0.9,
    simultaneous=True,
)


def test_a_goal_comes_back_from_json_as_it_was() -> None:
    assert Goal.from_dict(json.loads(json.dumps(GOAL.to_dict()))) == GOAL
    changed = {**GOAL.to_dict(), "budget": 301}
    assert Goal.from_dict(changed) != GOAL


@pytest.mark.parametrize("stored", [{"target": []}, {"targets": [{"metrics": "f1"}]}, [1]])
def test_a_goal_with_unknown_fields_is_not_read(stored: Any) -> None:
    with pytest.raises(DesignError, match=r"unknown field|expected the fields"):
        Goal.from_dict(stored)


def test_confidence_is_of_each_target_or_of_all() -> None:
    assert [goal.confidence for goal in GOAL.goals] == pytest.approx([1 - 0.1 / 4] * 4)
    alone = Goal(targets=GOAL.targets, budget=300, confidence=0.9)
    assert [goal.confidence for goal in alone.goals] == [0.9] * 4
    assert [(goal.metric, goal.within) for goal in alone.goals] == [
        *[("precision", 0.05)] * 3,
        ("recall", 0.1),
    ]


def test_the_worst_case_is_that_of_the_hardest_target() -> None:
    unlimited = Goal(targets=GOAL.targets, confidence=0.9, simultaneous=True)
    assert unlimited.worst_case == Goal("precision", 0.05, confidence=0.975).worst_case
    assert GOAL.worst_case == 300


F1 = (Target("f1", "new", within=0.1),)
BAD_GOALS: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({"targets": ()}, "no metric is requested"),
    "twice": ({"targets": F1 * 2}, "'f1:new' is requested twice"),
    "open": ({"targets": (*F1, Target("f1", "old"))}, "no goal for f1:old: give `within`"),
    "budget": ({"budget": 0}, "budget must be a whole number of at least 1, got 0"),
    "budget in parts": ({"budget": 1.5}, "budget must be a whole number of at least 1, got 1.5"),
    "simultaneous": ({"simultaneous": 1}, "simultaneous must be True or False, got 1"),
    "words": ({"confidence": "high"}, "confidence must be a number .* got 'high'"),
    "none": ({"confidence": None}, "confidence must be a number .* got None"),
    "certain": ({"confidence": 1.0}, "confidence must be a number .* got 1.0"),
    # 1 - (1 - -1)/4 would be 0.5.
    "negative": (
        {"confidence": -1.0, "simultaneous": True, "targets": GOAL.targets},
        "confidence must be a number .* got -1.0",
    ),
    "too sure": (
        {"confidence": 1.5, "simultaneous": True, "targets": GOAL.targets},
        "confidence must be a number .* got 1.5",
    ),
}


@pytest.mark.parametrize(("options", "message"), BAD_GOALS.values(), ids=BAD_GOALS)
def test_goals_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        Goal(**{"targets": F1, **options})


def test_prevalence_is_nobodys() -> None:
    assert Target("prevalence", "new") == Target("prevalence", "")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("precision:new[lang=de]", ["precision:new[lang=de]"]),
        (" precision : new [ lang=de ] ", ["precision:new[lang=de]"]),
        ("precision:new[site=a b]", ["precision:new[site=a b]"]),
        ("f1:new[lang]", ["f1:new[lang=de]", "f1:new[lang=en]"]),
        ("prevalence[lang]", ["prevalence[lang=de]", "prevalence[lang=en]"]),
        ("recall[language]", [f"recall:{name}[language=fr]" for name in NAMES]),
        ("f1:new[lang=en] - f1:vote_3[lang=en]", ["f1:new[lang=en] - f1:vote_3[lang=en]"]),
    ],
)
def test_a_metric_may_be_of_a_slice_or_of_every_value_of_a_column(
    text: str, names: list[str]
) -> None:
    assert parsed(text, slices=SLICES) == [(name, None) for name in names]
    assert parsed(f"{text} within 0.1", slices=SLICES) == [(name, 0.1) for name in names]
    for name in names:
        assert parsed(name, slices=SLICES) == [(name, None)]
    goal = Goal(targets=parse_targets([text], NAMES, slices=SLICES), budget=9)
    assert Goal.from_dict(json.loads(json.dumps(goal.to_dict()))) == goal


def test_the_slices_that_are_asked_for_are_found_before_anything_is_read() -> None:
    assert slices_in(["f1:new[lang]", "f1[lang] within 0.1", "recall", "f1:new[a=b c]"]) == (
        "lang",
        "a=b c",
    )
    assert slices_in({"f1:new[lang=de]": 0.1}) == ("lang=de",)


@pytest.mark.parametrize(
    ("text", "floors", "most"),
    [
        ("precision >= 0.95", {"precision": 0.95}, "recall"),
        ("precision>=95%", {"precision": 0.95}, "recall"),
        ("Recall is at least 0.9", {"recall": 0.9}, "precision"),
        ("recall ≥ 0.9", {"recall": 0.9}, "precision"),
        ("specificity >= 0.99", {"specificity": 0.99}, "recall"),
        ("negative predictive value >= 0.9", {"negative_predictive_value": 0.9}, "precision"),
        ("precision >= 0.9 and the most recall", {"precision": 0.9}, "recall"),
        ("precision >= 0.8 and recall >= 0.5", {"precision": 0.8, "recall": 0.5}, "recall"),
        ("recall >= 0.5, precision >= 0.8", {"precision": 0.8, "recall": 0.5}, "precision"),
        ("precision >= 0.8 and the most precision", {"precision": 0.8}, "precision"),
    ],
)
def test_a_question_is_read_and_is_written_so_that_it_is_read_alike(
    text: str, floors: dict[str, float], most: str
) -> None:
    question = ThresholdQuestion.parse(text)
    assert dict(question.floors) == pytest.approx(floors)
    assert question.most == most
    assert ThresholdQuestion.parse(str(question)) == question


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("precision", "is not understood at 'precision'"),
        ("precision <= 0.9", "is not understood"),
        ("precision >= 0.9 or recall >= 0.5", "is not understood"),
        ("the most recall", "has no floor"),
        ("precision >= 0.9 and precision >= 0.8", "two of one metric"),
        ("f1 >= 0.9", "cannot keep a floor under f1"),
        ("precision >= 95", "a floor of threshold_for"),
        ("precision >= 0", "a floor of threshold_for"),
        ("precision >= 1.2.3", "has a floor of '1.2.3'"),
        ("", "is not understood"),
    ],
)
def test_what_is_no_question_is_told_with_an_example(text: str, told: str) -> None:
    with pytest.raises(DesignError) as error:
        ThresholdQuestion.parse(text)
    assert told in str(error.value)
    assert error.value.hint
