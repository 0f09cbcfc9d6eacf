"""How good a judge is: its verdicts against people's answers, which were drawn for a metric."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import metrics as sk

import assay
from assay.audit import verify_bundle
from assay.core.tallies import plain_totals
from assay.core.types import Bools
from assay.errors import InputError, PredictionsError
from tests.kinds import finish
from tests.sklearn_metrics import SKLEARN

SIZE = 900
RNG = np.random.default_rng(20)
SCORE = RNG.beta(0.6, 0.6, SIZE).round(6)
OTHER = np.clip(SCORE + RNG.normal(0, 0.2, SIZE), 0, 1).round(6)
TRUTH = RNG.random(SIZE) < SCORE
VERDICT = np.where(RNG.random(SIZE) < 0.8, TRUTH, SCORE > 0.4)
LANG = RNG.choice(["de", "en"], SIZE)
TABLE: dict[str, Any] = {
    "id": np.arange(SIZE),
    "p": SCORE,
    "q": OTHER,
    "judge": VERDICT,
    "lang": LANG,
}


def create(table: object = TABLE, **more: Any) -> assay.Campaign:
    given = {"id": "id", "score": "p", "threshold": 0.5, "metric": "accuracy", "budget": 300}
    return assay.create_campaign(table, **{**given, "aux": ["judge"], **more})


def label(campaign: assay.Campaign, batch: int = 100) -> assay.Campaign:
    finish(campaign, TRUTH, batch)
    return campaign


def figures(truth: Bools, verdict: Bools) -> dict[str, float]:
    return {
        "sensitivity": float(sk.recall_score(truth, verdict)),
        "specificity": float(sk.recall_score(~truth, ~verdict)),
        "agreement": float(sk.accuracy_score(truth, verdict)),
        "kappa": float(sk.cohen_kappa_score(truth, verdict)),
    }


@pytest.fixture(scope="module")
def half_way() -> assay.Campaign:
    return label(create(slices=["lang"]))


def test_with_all_labels_every_figure_is_scikit_learns() -> None:
    quality = label(create(slices=["lang"], budget=SIZE), SIZE).judge("judge", by="lang")
    says = SCORE >= 0.5
    for name, which in (("", LANG != ""), ("de", LANG == "de"), ("en", LANG == "en")):
        for figure, value in figures(TRUTH[which], VERDICT[which]).items():
            row = quality.figure(figure, name)
            assert (row.value, row.low, row.high) == pytest.approx((value, value, value))
            assert (row.effective, row.verdict) == (None, "")
        (gap,) = (gap for gap in quality.gaps if gap.slice == name)
        by_judge = sk.accuracy_score(VERDICT[which], says[which])
        by_people = sk.accuracy_score(TRUTH[which], says[which])
        assert (gap.by_judge, gap.by_people) == pytest.approx((by_judge, by_people))
        expected = by_judge - by_people
        assert (gap.gap, gap.low, gap.high) == pytest.approx((expected, expected, expected))
        assert gap.verdict == "the judge flatters the classifier"
    assert quality.share == 1.0


def test_of_several_classifiers_it_tells_which_the_judge_favours() -> None:
    both = {"old": {"score": "q", "threshold": 0.5}, "new": {"score": "p", "threshold": 0.5}}
    for metrics in (["recall", "f1"], ["f1:old - f1:new", "recall:old - recall:new"]):
        one: dict[str, Any] = {"score": None, "threshold": None, "metric": None, "aux": None}
        campaign = label(create(classifiers=both, metrics=metrics, **one, budget=SIZE), SIZE)
        gaps = {gap.metric: gap for gap in campaign.judge("judge", predictions=TABLE).gaps}
        assert len(gaps) == (6 if "recall" in metrics else 2)
        for metric in ("recall", "f1"):
            gap = gaps[f"{metric}:old - {metric}:new"]
            by_judge, by_people = (
                SKLEARN[metric](truth, OTHER >= 0.5) - SKLEARN[metric](truth, SCORE >= 0.5)
                for truth in (VERDICT, TRUTH)
            )
            assert (gap.by_judge, gap.by_people) == pytest.approx((by_judge, by_people))
            assert gap.gap == pytest.approx(by_judge - by_people)
            assert gap.verdict == "the judge favours new over old"


def test_labels_count_for_their_strata(half_way: assay.Campaign) -> None:
    """The figures are of the weights that `to_frame` gives, and not of the labels as they are."""
    frame = half_way.to_frame(backend="polars")
    at = frame["id"].to_numpy()
    weight = frame["weight"].to_numpy()
    quality = half_way.judge("judge")
    agree = sk.accuracy_score(TRUTH[at], VERDICT[at], sample_weight=weight)
    kappa = sk.cohen_kappa_score(TRUTH[at], VERDICT[at], sample_weight=weight)
    assert quality.agreement.value == pytest.approx(agree)
    assert quality.kappa.value == pytest.approx(kappa)
    assert quality.agreement.value != pytest.approx(sk.accuracy_score(TRUTH[at], VERDICT[at]))
    assert quality.sensitivity.counted + quality.specificity.counted == len(frame)
    standing = half_way.desk.labelling.rounds.standings[0]
    known = standing.tallies
    people = standing.metric.value(plain_totals(known.N, known.n, known.x))
    assert quality.gaps[0].by_people == pytest.approx(float(people))


def test_items_count_by_weight_where_they_have_one() -> None:
    """With all labels, as scikit-learn has it with `sample_weight`; not as without."""
    some = slice(0, 120)
    weight = np.random.default_rng(3).lognormal(0, 1, 120)
    table = {**{name: values[some] for name, values in TABLE.items()}, "w": weight}
    given: dict[str, Any] = {"aux": None, "sample_weight": "w", "budget": None, "within": 0.0001}
    campaign = create(table, **given, design=assay.Design(bins=2))
    quality = label(campaign, 40).judge("judge", predictions=table)
    truth, verdict = TRUTH[some], VERDICT[some]
    kappa = sk.cohen_kappa_score(truth, verdict, sample_weight=weight)
    recall = sk.recall_score(truth, verdict, sample_weight=weight)
    assert (quality.kappa.value, quality.sensitivity.value) == pytest.approx((kappa, recall))
    assert (quality.kappa.low, quality.kappa.high) == pytest.approx((kappa, kappa))
    assert kappa != pytest.approx(sk.cohen_kappa_score(truth, verdict), abs=0.005)
    by_judge, by_people = (
        sk.accuracy_score(label, SCORE[some] >= 0.5, sample_weight=weight)
        for label in (verdict, truth)
    )
    assert quality.gaps[0].gap == pytest.approx(by_judge - by_people)


@pytest.mark.parametrize(
    "as_what",
    [
        lambda said: said.tolist(),
        lambda said: said.astype(int),
        lambda said: np.where(said, "Yes", "no"),
        lambda said: np.where(said, 0.5, 0.49),
    ],
    ids=["booleans", "numbers", "words", "scores"],
)
def test_verdicts_may_be_written_in_many_ways(as_what: Any, half_way: assay.Campaign) -> None:
    table = {**TABLE, "written": as_what(VERDICT)}
    at = 0.5 if np.asarray(table["written"]).dtype.kind == "f" else None
    told = half_way.judge("written", at=at, predictions=table)
    assert told.rows == half_way.judge("judge").rows


def test_what_is_no_verdict_is_refused(half_way: assay.Campaign) -> None:
    with pytest.raises(InputError, match=r"not verdicts: 0\.\d+, (.|\n)*at=0.5"):
        half_way.judge("p")
    with pytest.raises(InputError, match=r"not verdicts: '(de|en)'"):
        half_way.judge("lang", at=0.5)
    no_number: Any = "half"
    with pytest.raises(InputError, match="at must be a number, got 'half'"):
        half_way.judge("judge", at=no_number)


def test_items_without_a_verdict_are_left_out_and_told() -> None:
    missing = RNG.random(SIZE) < np.where(SCORE > 0.5, 0.7, 0.1)
    judge = [None if gone else bool(said) for gone, said in zip(missing, VERDICT, strict=True)]
    table = pl.DataFrame({**TABLE, "judge": judge})
    quality = label(create(table, budget=SIZE), SIZE).judge("judge")
    there = ~missing
    assert quality.share == pytest.approx(there.mean())
    assert (quality.judged, quality.with_verdict) == (SIZE, there.sum())
    for figure, value in figures(TRUTH[there], VERDICT[there]).items():
        assert quality.figure(figure).value == pytest.approx(value)
    assert f"{missing.sum()} of 900 judged items have no verdict" in quality.notes[0]
    assert f"about {there.mean():.1%} of the items" in quality.notes[0]


def test_items_that_wait_are_taken_at_their_worst(half_way: assay.Campaign) -> None:
    campaign = create(budget=300)
    asked = campaign.ask(200)
    assert not any("could not" in note for note in campaign.judge("judge").notes)
    said = {item.id: bool(TRUTH[int(item.id)]) for item in asked}
    campaign.tell(dict(list(said.items())[:150]))
    before = campaign.judge("judge")
    assert "50 drawn items have no label yet and count as the worst case" in before.notes
    for answer in (True, False):  # whatever the others say, the interval was not narrower
        campaign = create(budget=300)
        campaign.ask(200)
        campaign.tell(dict(list(said.items())[:150]))
        agrees = {item.id: bool(VERDICT[int(item.id)]) == answer for item in asked[150:]}
        campaign.tell(agrees)
        after = campaign.judge("judge")
        for row, then in zip(before.rows, after.rows, strict=True):
            assert row.low <= then.low + 1e-9 and then.high <= row.high + 1e-9
    assert len(half_way.judge("judge").notes) == 1
    campaign = create(budget=60)
    asked = campaign.ask(60)
    campaign.tell({item.id: "cannot judge" if k < 4 else True for k, item in enumerate(asked)})
    quality = campaign.judge("judge")
    assert quality.judged == 56
    assert "4 items that people could not judge are left out" in quality.notes


def test_a_campaign_of_precision_is_about_one_side(half_way: assay.Campaign) -> None:
    campaign = label(create(metric="precision", budget=SIZE, aux=None), SIZE)
    quality = campaign.judge("judge", predictions=TABLE)
    yes = SCORE >= 0.5
    for figure, value in figures(TRUTH[yes], VERDICT[yes]).items():
        assert quality.figure(figure).value == pytest.approx(value)
    assert "about items that the classifier says yes to" in quality.notes[0]
    assert "about items" not in "".join(half_way.judge("judge").notes)


def test_without_labels_nothing_is_said() -> None:
    quality = create().judge("judge")
    assert (quality.kappa.value, quality.agreement.low, quality.agreement.high) == (None, 0, 1)
    assert quality.gaps[0].verdict == "no figures yet"
    assert quality.share is None
    assert "–" in str(quality)


def test_the_report_has_every_judge_that_says_yes_or_no(tmp_path: Path) -> None:
    """Nothing is read for it: a file that is gone is not missed, and values come with the items."""
    file, storage = tmp_path / "predictions.parquet", f"sqlite:///{tmp_path}/labels.db"
    pq.write_table(pa.table({**TABLE, "title": [f"t{each}" for each in range(SIZE)]}), file)
    options = {"aux": ["q", "judge", "lang"], "show": ["title"], "storage": storage}
    campaign = label(create(file, **options))
    told = campaign.judge("judge", predictions=file)
    file.unlink()
    again = assay.load_campaign(storage=storage)
    (found,) = again.judges()
    assert found.to_dict() == told.to_dict()
    report = again.report()
    section = report.markdown.partition("## Second opinions")[2].partition("\n## ")[0]
    assert found.headline in section
    for row in found.rows:
        assert f"| {row.figure} | {row.value:.3f} |" in section
    assert report.to_dict()["judges"]["judge"]["figures"][0]["value"] == found.rows[0].value
    assert [*again.settings.source.seen] == ["title"]
    report.save(tmp_path / "report.json")
    assert assay.verify_campaign(storage=storage, report=tmp_path / "report.json").clean
    again.bundle(tmp_path / "audit.zip")
    assert verify_bundle(tmp_path / "audit.zip").clean
    # Without labels, and where values would have to be read, nothing is said.
    assert create().judges() == ()
    assert "Second opinions" not in create().report().markdown


def test_verdicts_that_came_later_are_kept_with_the_items(storage: str) -> None:
    campaign = label(create(aux=[], show=["lang"], budget=120, storage=storage))
    assert campaign.settings.source.kept == ["lang", "p"]
    told = campaign.judge("judge", predictions=TABLE)
    again = assay.load_campaign(storage=storage)  # where verdicts are not at hand
    with pytest.raises(PredictionsError, match=r"the column 'judge'(.|\n)*predictions=\.\.\."):
        again.judge("judge")
    assert again.judge("judge", predictions=TABLE).rows == told.rows
    rebased = assay.rebase_campaign(storage=storage, predictions=TABLE, aux=["judge"])
    assert rebased.settings.source.kept == ["lang", "p", "judge"]
    (found,) = label(rebased).judges()
    assert found.to_dict() == rebased.judge("judge", predictions=TABLE).to_dict()
    without = assay.rebase_campaign(storage=storage, predictions=TABLE, aux=[])
    assert without.settings.source.kept == ["lang", "p"]
