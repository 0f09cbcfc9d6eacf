"""The curve of a campaign's score: exact at full labelling, and what it cannot tell."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

import assay
import assay.labelling.curve as labelling_curve
from assay.errors import DesignError, PredictionsError
from assay.report import curve_part
from tests.kinds import finish


def population(size: int, *, digits: int | None = None, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    score = rng.beta(0.6, 0.8, size)
    truth = rng.random(size) < score
    return (score if digits is None else score.round(digits)), truth


def labelled(source: object, truth: Any, **asked: Any) -> assay.Campaign:
    campaign = assay.create_campaign(source, score="p", **{"threshold": 0.5, **asked})
    finish(campaign, truth)
    return campaign


@pytest.mark.parametrize("digits", [None, 2, 1])
@pytest.mark.parametrize("metric", ["accuracy", "f1", "recall"])
def test_at_full_labelling_all_values_are_those_of_scikit_learn(
    digits: int | None, metric: str
) -> None:
    score, truth = population(400, digits=digits)
    curve = labelled({"p": score}, truth, metric=metric, budget=400).curve()
    precision, recall, thresholds = sk.precision_recall_curve(truth, score)
    assert [point.threshold for point in curve] == pytest.approx(thresholds, abs=0)
    for name, expected in (("precision", precision), ("recall", recall)):
        values = [point.metrics[name] for point in curve]
        assert [each.value for each in values] == pytest.approx(expected[:-1], abs=1e-12)
        assert all(each.band_low == each.low == each.value == each.high for each in values)
        assert all(each.band_high == each.value for each in values)
    for point in curve.points[::37]:
        yes = score >= point.threshold
        assert point.items == yes.sum()
        assert point.metrics["f1"].value == pytest.approx(sk.f1_score(truth, yes), abs=1e-12)
        expected = sk.recall_score(truth, yes, pos_label=0)
        assert point.metrics["specificity"].value == pytest.approx(expected, abs=1e-12)
    average, area = curve.areas["average_precision"], curve.areas["roc_auc"]
    assert average.value == pytest.approx(sk.average_precision_score(truth, score), abs=1e-12)
    assert area.value == pytest.approx(sk.roc_auc_score(truth, score), abs=1e-12)
    assert (average.low, average.high) == (average.value, average.value)


def test_several_metrics_of_one_classifier_have_the_curve_too(tmp_path: Path) -> None:
    score, truth = population(300, digits=2)
    file = tmp_path / "p.csv"
    file.write_text("p\n" + "\n".join(map(str, score)) + "\n")
    campaign = labelled(str(file), truth, metrics=["precision", "recall"], budget=300)
    curve = campaign.curve()
    expected = sk.average_precision_score(truth, score)
    assert curve.areas["average_precision"].value == pytest.approx(expected, abs=1e-12)
    in_memory = labelled({"p": score}, truth, metrics=["precision", "recall"], budget=60)
    with pytest.raises(PredictionsError, match="not available"):
        in_memory.curve()
    assert in_memory.curve(predictions={"p": score}).metrics[0] == "precision"


def test_predicted_labels_need_not_follow_the_score() -> None:
    score, truth = population(400)
    said = np.random.default_rng(1).random(400) < score
    columns = {"p": score, "said": said}
    campaign = labelled(
        columns, truth, predicted="said", threshold=None, metric="accuracy", budget=400
    )
    curve = campaign.curve()
    expected = sk.average_precision_score(truth, score)
    assert curve.areas["average_precision"].value == pytest.approx(expected, abs=1e-12)
    assert curve.threshold is None and curve.own is None


def test_strata_by_confidence_hold_both_flanks() -> None:
    score, truth = population(2000)
    design = assay.Design(variable="confidence")
    campaign = labelled({"p": score}, truth, metric="accuracy", budget=400, design=design)
    area = campaign.curve().areas["roc_auc"]
    assert area.low < sk.roc_auc_score(truth, score) < area.high


def test_intervals_hold_the_estimate_and_lie_in_the_band() -> None:
    score, truth = population(5000)
    campaign = labelled({"p": score}, truth, metric="accuracy", budget=300)
    curve = campaign.curve()
    assert curve.to_dict() == campaign.curve().to_dict()  # from the same labels
    for point in curve:
        for each in point.metrics.values():
            assert 0 <= each.band_low <= each.low <= each.value <= each.high <= each.band_high <= 1
    assert curve.own is not None
    precision = curve.own.metrics["precision"]
    assert curve.own.threshold >= 0.5
    assert 0.01 < precision.high - precision.low < 0.2
    recall = [point.metrics["recall"].value for point in curve]
    assert all(one >= other for one, other in pairwise(recall))


@pytest.mark.parametrize(
    "asked",
    [
        {"metric": "recall", "budget": 200},
        {"metric": "precision", "within": 0.05},
        {"metric": "f1", "budget": 150},
        {"metrics": ["precision", "recall"], "budget": 200},
    ],
    ids=str,
)
def test_the_curve_has_the_campaigns_own_estimates(
    asked: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One quantity, one number: in Python, in JSON, in the report and on the page of the curve."""
    score, truth = population(6000, digits=4)
    file = tmp_path / "p.csv"
    file.write_text("p\n" + "\n".join(map(str, score)) + "\n")
    campaign = labelled(str(file), truth, **asked)

    def read() -> list[bool]:
        curve = campaign.curve()
        assert curve.own is not None and curve.own.items == (score >= 0.5).sum()
        report, page = campaign.report(curve=True), curve_part(curve)
        facts = report.to_dict()
        (point,) = [p for p in facts["curve"]["points"] if p["items"] == curve.own.items]
        same = []
        for target, each in campaign.estimates().items():
            name = target.partition(":")[0]
            ends, shown = ("value", "low", "high"), f"{each.value:.3f} [{each.low:.3f}, "
            told = [facts["metrics"][target][end] for end in ends]
            same += [
                [getattr(curve.own.metrics[name], end) for end in ends] == told,
                [point[name][end] for end in ends] == told,
                f"<td>{each.value:.3f}</td><td>{each.low:.3f} to {each.high:.3f}</td>" in page,
            ]
            if name in ("precision", "recall"):  # the table of the report has their intervals
                row = next(row for row in curve.table().rows if str(row[0]).endswith("*"))
                same.append(any(str(cell).startswith(shown) for cell in row))
                same.append("metrics" in asked or report.html.count(shown) > 1)
        return same

    assert all(read())
    monkeypatch.setattr(labelling_curve, "_through_estimates", lambda known, *_: known)
    assert not any(read()[:3])  # the curve's own numbers are others


def test_a_campaign_for_precision_tells_precision_from_its_threshold_on() -> None:
    score, truth = population(3000)
    curve = labelled({"p": score}, truth, metric="precision", budget=200).curve()
    assert curve.metrics == ("precision",)
    assert not curve.areas
    assert curve[0].threshold >= 0.5
    assert "does not draw" in curve.notes[0]
    yes = score >= curve[0].threshold
    value = curve[0].metrics["precision"]
    assert value.band_low < truth[yes].mean() < value.band_high


def test_what_labels_cannot_tell_is_said() -> None:
    score, truth = population(500)
    columns = {"p": score, "w": np.ones(500), "said": score > 0.5, "q": score}
    omission = labelled(columns, truth, metric="false_omission_rate", budget=20)
    with pytest.raises(DesignError, match="do not give the curve"):
        omission.curve()
    weighted = labelled(columns, truth, sample_weight="w", metric="accuracy", budget=20)
    with pytest.raises(DesignError, match="have weights"):
        weighted.curve()
    blind = assay.create_campaign(columns, predicted="said", metric="accuracy", budget=20)
    with pytest.raises(DesignError, match="has no score"):
        blind.curve()
    two = {name: {"score": name, "threshold": 0.5} for name in ("p", "q")}
    several = assay.create_campaign(columns, classifiers=two, metrics=["precision:p"], budget=20)
    with pytest.raises(DesignError, match="several classifiers: p, q"):
        several.curve()


def test_without_a_yes_there_is_no_recall() -> None:
    score, _ = population(500)
    curve = labelled({"p": score}, np.zeros(500, dtype=bool), metric="accuracy", budget=60).curve()
    assert curve.metrics == ("precision", "specificity")
    assert "no label is yes" in " ".join(curve.notes)
    assert not curve.areas
