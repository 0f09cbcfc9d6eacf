"""Campaigns of items that may have several classes, from predictions to estimates."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay import Campaign
from assay.core.answers import Answer, parse_answer
from assay.core.label_sets import LabelSets
from assay.core.targets import ALONE
from assay.core.types import Bools
from assay.core.vocabulary import Vocabulary
from assay.errors import DesignError, LabelError, PredictionsError
from assay.predictions import Scan, read_predictions
from tests.kinds import finish
from tests.sklearn_metrics import SKLEARN

NAMES = ("fraud", "spam", "toxic", "off topic")
N = 400


def made(seed: int = 0) -> tuple[dict[str, Any], Bools, Bools]:
    """Return scores of 400 items, what is said of them, and what classes they have."""
    rng = np.random.default_rng(seed)
    score = rng.beta(0.5, 1.0, (N, len(NAMES)))
    truth = rng.random((N, len(NAMES))) < 0.1 + 0.8 * score
    table = {f"p_{name}": score[:, place] for place, name in enumerate(NAMES)}
    return {"id": np.arange(N), **table}, score >= 0.5, truth


def classes_of(row: Bools) -> list[str]:
    """Return the classes of an item."""
    return [name for name, has in zip(NAMES, row, strict=True) if has]


def answered(campaign: Campaign, truth: Bools) -> Campaign:
    """Label whatever is asked for."""
    finish(campaign, lambda id: classes_of(truth[id]), 100)
    return campaign


def begun(table: dict[str, Any], **asked: Any) -> Campaign:
    """Return a campaign over the columns of scores."""
    usual: dict[str, Any] = {"id": "id", "probabilities": "p_*", "threshold": 0.5}
    return assay.create_campaign(table, multilabel=True, **(usual | asked))


def test_every_metric_of_every_class_at_full_labelling_is_that_of_scikit_learn() -> None:
    table, said, truth = made()
    found = answered(begun(table, metrics=list(SKLEARN), budget=N), truth).estimates()
    assert len(found) == len(SKLEARN) * len(NAMES)
    for metric, value_of in SKLEARN.items():
        for place, name in enumerate(NAMES):
            value = value_of(truth[:, place], said[:, place])
            each = found[f"{metric}:{name}"]
            assert each.value == pytest.approx(value, abs=1e-12), each.metric
            assert each.low == pytest.approx(value, abs=1e-12), each.metric
            assert each.high == pytest.approx(value, abs=1e-12), each.metric


def test_an_answer_has_one_spelling() -> None:
    tags = LabelSets(NAMES, aliases={"scam": "fraud"})
    for given in (["Toxic", "scam"], ("toxic", "fraud"), {"fraud", "toxic"}, "toxic|fraud"):
        assert parse_answer(given, tags) is Answer("fraud|toxic")
    assert parse_answer('["toxic", "fraud"]', tags) is Answer("fraud|toxic")
    assert parse_answer([], tags) is parse_answer("none of these", tags) is Answer.NONE_OF_THESE
    assert parse_answer("?", tags) is Answer.CANNOT_JUDGE
    assert parse_answer("spam", tags) is parse_answer(["spam"], tags) is Answer("spam")


@pytest.mark.parametrize(
    "given",
    ["", None, "toxic|", ["toxic", "toxic"], ["none of these", "spam"], [True], float("nan")],
)
def test_what_is_no_set_of_classes_is_no_answer(given: object) -> None:
    with pytest.raises(LabelError):
        parse_answer(given, LabelSets(NAMES))


def test_a_name_that_is_no_class_is_refused_with_the_nearest() -> None:
    table, _, _ = made()
    campaign = begun(table, budget=20)
    (item, *_) = campaign.ask(1)
    with pytest.raises(LabelError, match="'fruad' is not a class") as told:
        campaign.tell({item.id: ["spam", "fruad"]})
    assert "did you mean 'fraud'" in str(told.value)
    assert not campaign.answers()


def test_names_that_cannot_be_told_apart_from_sets_are_refused() -> None:
    with pytest.raises(DesignError, match="where an item may have several"):
        LabelSets(("a|b", "c"))
    assert Vocabulary(("a|b", "c")).names == ("a|b", "c")
    with pytest.raises(DesignError, match="at most 62"):
        LabelSets(tuple(map(str, range(63))))


def test_a_stored_campaign_goes_on_where_it_was_and_is_rebased(storage: str) -> None:
    table, _, truth = made()
    guidelines = dict.fromkeys(NAMES, "what it is")
    asked: dict[str, Any] = {"metrics": ["precision", "recall"], "budget": 80}
    campaign = begun(table, **asked, storage=storage, classes=guidelines)
    finish(campaign, lambda id: classes_of(truth[id]), 30, most=30)
    for again in (
        assay.load_campaign(storage=storage, predictions=table),
        assay.rebase_campaign(predictions=table, storage=storage),
    ):
        assert again.settings.classes == campaign.settings.classes
        assert again.settings.classes.multilabel
        assert {*again.answers()} == {*campaign.answers()}
        for name, estimate in campaign.estimates().items():
            assert again.estimates()[name].value == estimate.value
    assert answered(again, truth).done


# Coverage, by simulation; and what a wrong reading of the labels would do to it.


# What else is told of a campaign.


def test_mistakes_are_of_the_classes_that_are_missed_or_said_wrongly() -> None:
    table, said, truth = made()
    campaign = answered(begun(table, metric="accuracy", budget=N), truth)
    wrong = {*np.flatnonzero((said != truth).any(axis=1)).tolist()}
    assert {row.id for row in campaign.errors()} == wrong
    of_spam = {*np.flatnonzero(said[:, 1] != truth[:, 1]).tolist()}
    found = campaign.errors(kind="spam")
    assert {row.id for row in found} == of_spam
    for row in found:
        word = "wrongly says" if said[int(row.id), 1] else "misses"
        assert any(p.startswith(word) and "spam" in p for p in row.kind.split("; ")), row.kind


def test_there_is_no_matrix_of_what_is_taken_for_what() -> None:
    table, _, truth = made()
    campaign = answered(begun(table, budget=40), truth)
    with pytest.raises(DesignError, match="may have several classes"):
        campaign.confusion()
    assert "confus" not in str(campaign.report()).lower()


def test_columns_lists_and_sets_of_classes_stay_where_they_are(tmp_path: Path) -> None:
    """The same cards, counts and fingerprint as in memory are held by the golden draws."""
    table, _, _ = made()
    path = tmp_path / "scores.parquet"
    lists = [list(row) for row in zip(*(table[f"p_{name}"] for name in NAMES), strict=True)]
    sets = [[name for name, p in zip(NAMES, row, strict=True) if p > 0.4] for row in lists]
    bars = [" | ".join(names).title() or "None of  these" for names in sets]
    columns = pa.table({**table, "p": lists, "tags": sets, "bars": bars, "text": bars[::-1]})
    pq.write_table(columns, path, row_group_size=100)
    options: dict[str, Any] = {"classes": LabelSets(NAMES), "id": "id"}
    read = partial(read_predictions, Scan(path, engine="duckdb"), **options)
    for told in (
        {"m": {"probabilities": "p_*", "threshold": 0.5}},
        {"m": {"probabilities": "p", "threshold": 0.5}},
        {ALONE: {"predicted": "tags"}},
        {"m": {"probabilities": "p", "predicted": "tags"}, "n": {"predicted": "bars"}},
    ):
        there, here = read(classifiers=told), read_predictions(columns, classifiers=told, **options)
        assert there.fingerprint() == here.fingerprint()
        assert there.cells() == here.cells()
        assert there.scanner.stays
    with pytest.raises(PredictionsError, match=r"values that are not classes: '0', '1', '10'"):
        read(classifiers={ALONE: {"predicted": "id"}})
    with pytest.raises(PredictionsError, match="a column of lists has one number"):
        read(classifiers={"m": {"probabilities": "bars", "threshold": 0.5}})
    short = columns.set_column(
        columns.column_names.index("p"), "p", pa.array([lists[0][:1], *lists[1:]])
    )
    pq.write_table(short, path)
    with pytest.raises(PredictionsError, match=r"1 of .* scores in column 'p\["):
        read(classifiers={"m": {"probabilities": "p", "threshold": 0.5}})
