"""Two weeks, and series of weeks, of more classes than yes and no."""

from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import assay
from assay import Campaign
from assay.core.vocabulary import Vocabulary
from assay.errors import AssayError, AssayWarning
from assay.predictions import from_arrays
from tests.kinds import finish
from tests.sklearn_metrics import value_of

NAMES = np.array(["bio", "cs", "math", "physics", "zoo"])
SIZE = 600
RNG = np.random.default_rng(1)
TRUTH = RNG.choice(5, SIZE, p=[0.06, 0.16, 0.46, 0.22, 0.1])
EVERY = np.arange(SIZE)
COLUMNS: dict[str, Any] = {"id": "id", "predicted": "topic", "score": "p"}


def table(ids: Any, seed: int, right: float = 1.0, classes: int = 5) -> dict[str, Any]:
    """Return predictions of some items, of the first classes only."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.3, 1, SIZE)
    said = np.where(rng.random(SIZE) < right * score, TRUTH, rng.integers(0, 5, SIZE)) % classes
    return {"id": [f"u{id}" for id in ids], "topic": NAMES[said[ids]], "p": score[ids]}


WEEK_1 = table(EVERY[:400], 2, 0.8)
WEEK_2 = table(EVERY[100:500], 3)
PAIRS = {
    "versions": (table(EVERY, 2, 0.8), table(EVERY, 3)),
    "weeks": (WEEK_1, WEEK_2),
    "weeks of other sizes": (WEEK_1, table(EVERY[200:], 3)),
    "no item in common": (WEEK_1, table(EVERY[400:], 3)),
    "a class that is new": (table(EVERY[:400], 2, classes=4), WEEK_2),
    "a class that is gone": (WEEK_1, table(EVERY[100:500], 3, classes=4)),
}
METRICS = [
    *("accuracy", "macro_f1", "macro_precision", "weighted_f1", "cohen_kappa"),
    *("matthews_correlation", "recall:cs", "precision:math", "f1:physics"),
]


def truth(item: Any, classes: int = 5) -> str:
    number = int(TRUTH[int(str(item)[1:])])
    return str(NAMES[number]) if number < classes else "none of these"


def label(campaign: Campaign, size: int = 100, classes: int = 5) -> list[str]:
    """Label to the end, and return what people were asked."""
    return finish(campaign, lambda id: truth(id, classes), size)


def exact(metric: str, pair: tuple[dict[str, Any], dict[str, Any]]) -> tuple[float, float]:
    """Return the later one's metric, and by how much it is above the earlier one's."""
    old, new = (
        value_of(metric, np.array([truth(id) for id in each["id"]]), each["topic"]) for each in pair
    )
    return float(new), float(new - old)


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        *(("weeks", metric) for metric in METRICS),
        *((kind, "macro_f1") for kind in PAIRS if kind != "weeks"),
    ],
)
def test_at_full_labelling_differences_are_those_of_scikit_learn(kind: str, metric: str) -> None:
    pair = PAIRS[kind]
    campaign = assay.compare_campaign(
        *pair, **COLUMNS, metric=metric, budget=10 * SIZE, level_within=0.01
    )
    label(campaign, SIZE)
    (name, gap), (_, level) = campaign.estimates().items()
    assert name == f"{metric}:new - {metric}:old"
    assert (level.value, gap.value) == pytest.approx(exact(metric, pair), abs=1e-12)
    assert gap.value != pytest.approx(exact(metric, pair[::-1])[1], abs=1e-12)


def test_labels_where_two_versions_differ_tell_no_matrix() -> None:
    campaign = assay.compare_campaign(*PAIRS["versions"], **COLUMNS, budget=50)
    label(campaign)
    with pytest.raises(AssayError, match="the confusion matrix of new is not known here"):
        campaign.confusion("new")
    with pytest.raises(AssayError, match="level_within"):
        campaign.by_class("new")
    assert "accuracy:new - accuracy:old" in campaign.report().html


def test_what_was_none_of_these_is_asked_again_when_there_are_more_classes(storage: str) -> None:
    pair = PAIRS["a class that is new"]
    before = assay.create_campaign(pair[0], **COLUMNS, budget=150, name="before", storage=storage)
    label(before, classes=4)
    none = {str(id) for id, answer in before.answers().items() if answer == "none of these"}
    assert none
    with pytest.warns(AssayWarning, match=f"1 class is new .*: zoo; {len(none)} items"):
        campaign = assay.compare_campaign(
            *pair, **COLUMNS, labels_from="before", budget=10 * SIZE, metric="macro_f1",
            storage=storage,
        )  # fmt: skip
    asked = label(campaign, SIZE)
    assert {*asked} & {str(id) for id in before.answers()} == none
    assert campaign.estimate().value == pytest.approx(exact("macro_f1", pair)[1], abs=1e-12)
    assert assay.verify_campaign("comparison", storage=storage).clean
    assert "none of these" not in campaign.answers().values()
    assert before.answers() == assay.load_campaign("before", storage=storage).answers()


def test_a_series_follows_several_metrics(storage: str) -> None:
    weeks = [table(EVERY[:400], 2, classes=4), WEEK_2, table(EVERY[200:], 5, 0.5)]
    metrics = ["accuracy", "macro-f1", "recall:cs"]
    for number, week in enumerate(weeks):
        given: dict[str, Any] = {"metric": metrics, "within": 0.02, **COLUMNS}
        if number:
            given = {"previous": weeks[number - 1]}
        new = pytest.warns(AssayWarning, match="1 class is new") if number == 1 else nullcontext()
        with new:
            campaign = assay.follow_campaign(
                week, series="topics", period=f"w{number}", storage=storage, budget=10 * SIZE,
                **given,
            )  # fmt: skip
        asked = label(campaign, SIZE, classes=5 if number else 4)
        assert asked
        assert assay.verify_campaign(f"topics/w{number}", storage=storage).clean
        # The numbers of the classes that there were stay: the predictions of before are known.
        assert campaign.settings.classes.names == tuple(NAMES[: 5 if number else 4])
        prior = campaign.settings.prior
        assert (prior is not None and sum(prior.labels) > 0) == (number > 0)
    for metric in ("accuracy", "macro_f1", "recall:cs"):
        found = assay.trend("topics", metric=metric, storage=storage)
        assert found.metrics == ("accuracy", "macro_f1", "recall:cs")
        for row, pair in zip(found.rows[1:], pairwise(weeks), strict=True):
            assert row.change is not None and row.change.value is not None
            assert row.estimate.value == pytest.approx(exact(metric, pair)[0], abs=0.02)
            assert row.change.value == pytest.approx(exact(metric, pair)[1], abs=0.02)
        assert found.latest.moved == "fell"
    assert assay.trend("topics", storage=storage).metric == "accuracy"
    with pytest.raises(AssayError, match="does not follow 'recall:bio'"):
        assay.trend("topics", metric="recall:bio", storage=storage)


def test_labels_from_before_are_the_first_round(storage: str) -> None:
    sample = np.random.default_rng(9).choice(400, 120, replace=False)
    campaign = assay.create_campaign(
        WEEK_1, **COLUMNS, metrics=["accuracy", "macro_f1", "recall:cs"], within=0.05,
        labels={f"u{id}": truth(f"u{id}") for id in sample}, storage=storage,
    )  # fmt: skip
    for estimate in campaign.estimates().values():
        assert estimate.labels == 120 and estimate.value is not None
    assert not {*label(campaign)} & {f"u{id}" for id in sample}
    assert assay.verify_campaign(storage=storage).clean
    with pytest.raises(AssayError, match="did you mean 'physics'"):
        assay.create_campaign(WEEK_1, **COLUMNS, budget=9, labels={"u1": "phisics"})


def test_a_rebase_keeps_labels_and_takes_in_new_classes(storage: str) -> None:
    first, second = PAIRS["a class that is new"]
    campaign = assay.create_campaign(
        first, **COLUMNS, metrics=["accuracy", "macro_f1"], budget=200, storage=storage
    )
    label(campaign, classes=4)
    with pytest.warns(AssayWarning, match="1 class is new since these labels were given: zoo"):
        campaign = assay.rebase_campaign(predictions=second, storage=storage)
    assert campaign.settings.classes.names == tuple(NAMES)
    label(campaign)
    assert assay.verify_campaign(storage=storage).clean
    whole = assay.compare_campaign(second, WEEK_1, **COLUMNS, budget=9, metric="macro_f1")
    assert whole.settings.classes.names == tuple(NAMES)


@pytest.mark.parametrize("swapped", [False, True])
def test_probabilities_of_a_class_that_one_week_has_no_column_for(*, swapped: bool) -> None:
    rng = np.random.default_rng(4)

    def week(ids: Any, classes: int) -> dict[str, Any]:
        likely = rng.dirichlet(np.ones(classes), len(ids))
        columns = {f"p_{NAMES[k]}": likely[:, k] for k in range(classes)}
        topic = NAMES[likely.argmax(axis=1)]
        return {"id": [f"u{id}" for id in ids], "topic": topic, **columns}

    pair = (week(EVERY[:300], 4), week(EVERY[100:500], 5))
    pair = pair[::-1] if swapped else pair
    campaign = assay.compare_campaign(
        *pair, id="id", probabilities="p_*", metric="macro_f1", budget=10 * SIZE
    )
    label(campaign, SIZE)
    assert campaign.estimate().value == pytest.approx(exact("macro_f1", pair)[1], abs=1e-12)


def test_predictions_that_were_read_before_with_other_classes() -> None:
    old, new = (
        from_arrays(y_pred=each["topic"], y_score=each["p"], ids=each["id"])
        for each in PAIRS["a class that is gone"][::-1]
    )
    assert old.classes != new.classes
    campaign = assay.compare_campaign(old, new, metric="macro_f1", budget=10 * SIZE)
    label(campaign, SIZE)
    expected = exact("macro_f1", PAIRS["a class that is gone"][::-1])[1]
    assert campaign.estimate().value == pytest.approx(expected, abs=1e-12)


def test_more_words_for_classes() -> None:
    first = Vocabulary(("b", "a"), {"alpha": "a"}, {"a": "the first"})
    both = first.extended(Vocabulary(("A", "c"), {"gamma": "c"}, {"c": "the third"}))
    assert both.names == ("b", "a", "c")
    assert both.aliases == {"alpha": "a", "gamma": "c"}
    assert both.guidelines == {"a": "the first", "c": "the third"}
    with pytest.raises(AssayError, match="'alpha' stands for 'a', and for 'c'"):
        first.extended(Vocabulary(("c", "d"), {"alpha": "c"}))
