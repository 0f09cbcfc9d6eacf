"""Slices of a campaign: the same labels, counted by the values of a column that nobody sees."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk
from typer.testing import CliRunner

import assay
from assay.campaign.exchange import write_batch
from assay.cli import app
from assay.core.metrics import METRICS
from assay.core.subgroups import domain
from assay.core.tallies import plain_totals
from assay.errors import DesignError, InputError, PredictionsError
from assay.exchange import FORMATS
from assay.web import Options
from assay.web.items import item_json
from tests.kinds import finish
from tests.sklearn_metrics import SKLEARN

SIZE = 1200
RNG = np.random.default_rng(5)
SCORE = RNG.beta(0.6, 0.6, SIZE).round(6)
TRUTH = RNG.random(SIZE) < SCORE
LANG = RNG.choice(["de", "en", "fr"], SIZE, p=[0.6, 0.3, 0.1])
TABLE: dict[str, Any] = {
    "id": np.arange(SIZE),
    "p": SCORE,
    "lang": LANG,
    "text": [f"text {row}" for row in range(SIZE)],
    "site": np.arange(SIZE) % 90,
}


def create(table: object = TABLE, **more: Any) -> assay.Campaign:
    given = {"id": "id", "score": "p", "threshold": 0.5, "slices": ["lang"], "budget": 400, **more}
    return assay.create_campaign(table, **given)


def rate_of(campaign: assay.Campaign) -> float:
    """Metric at the strata's own rates."""
    standing = campaign.desk.labelling.rounds.standings[0]
    known = standing.tallies
    return float(standing.metric.value(plain_totals(known.N, known.n, known.x)))


def label(campaign: assay.Campaign, batch: int = 100) -> assay.Campaign:
    finish(campaign, TRUTH, batch)
    return campaign


@pytest.fixture(scope="module")
def half_way() -> assay.Campaign:
    return label(create(show=["text"]))


def test_with_all_labels_every_metric_is_scikit_learns() -> None:
    campaign = label(create(metrics=list(METRICS), budget=SIZE), SIZE)
    says = SCORE >= 0.5
    for name in ("de", "en", "fr"):
        true, predicted = TRUTH[name == LANG], says[name == LANG]
        expected = {
            name: SKLEARN[name](true, predicted) for name in METRICS if name != "prevalence"
        }
        for metric, value in expected.items():
            row = campaign.slices("lang", metric=f"{metric}:classifier")[name]
            assert (row.value, row.low, row.high) == pytest.approx((value, value, value))
            assert (row.effective, row.verdict) == (None, "")
        row = campaign.slices("lang", metric="prevalence")[name]
        assert row.value == pytest.approx(true.mean())
        assert row.labels == true.size
        assert row.share == pytest.approx(true.size / SIZE)


@pytest.mark.parametrize("more", [{}, {"sample_weight": "w"}, {"metrics": ["precision", "f1"]}])
def test_slices_add_up_to_the_whole(more: dict[str, Any]) -> None:
    """Of precision at the strata's own rates, by their shares; the labels' shares would not do."""
    weights = np.random.default_rng(1).lognormal(0, 1, SIZE)
    campaign = label(create({**TABLE, "w": weights}, design=assay.Design(bins=4), **more))
    slices = campaign.slices("lang")
    whole = rate_of(campaign)
    rows = list(slices.values())
    assert sum(row.share for row in rows) == pytest.approx(1)
    if "metrics" not in more:  # whose estimate takes each cell of a stratum by itself
        together = sum(row.share * (row.value or 0) for row in rows)
        assert together == pytest.approx(whole, abs=1e-9)
        labels = sum(row.labels for row in rows)
        wrong = sum(row.labels / labels * (row.value or 0) for row in rows)
        assert wrong != pytest.approx(whole, abs=1e-6)


def test_a_slice_has_the_interval_of_its_tallies(half_way: assay.Campaign) -> None:
    strata, cuts = half_way.strata(), half_way.settings.strata
    at = cuts.assign(SCORE, SCORE >= 0.5)
    judged = np.array([int(item) for item in half_way.answers()])
    d, x = np.zeros((2, len(strata)))
    for item in judged[LANG[judged] == "en"]:
        d[at[item]] += 1
        x[at[item]] += TRUTH[item]
    counts = np.stack([x, d - x], axis=-1)
    every = np.ones(counts.shape, dtype=np.bool_)
    N, n = (np.array([getattr(row, name) for row in strata], float) for name in ("size", "labels"))
    for simultaneous, confidence in ((False, 0.95), (True, 1 - 0.05 / 3)):
        row = half_way.slices("lang", simultaneous=simultaneous)["en"]
        found = domain(N, n, counts, possible=every, confidence=confidence)
        expected = map(float, (found.value, found.low, found.high, found.effective))
        assert (row.value, row.low, row.high, row.effective) == pytest.approx(tuple(expected))


def test_reviewers_see_no_slice_on_any_way() -> None:
    secret = {**TABLE, "lang": ["hush" for _ in range(SIZE)]}
    for show, seen in ((["text"], False), (["text", "lang"], True)):
        campaign = create(secret, show=show)
        items = campaign.ask(3)
        pages = [item_json(item, campaign, Options()) for item in items]
        told = [json.dumps(pages), repr(items)]
        for format, how in FORMATS.items():
            if how.write_batch is not None:
                told.append(write_batch(campaign, 3, format=format).content.decode())
        assert all(("hush" in text) is seen for text in told)
        campaign.tell({item.id: True for item in items})
        assert list(campaign.slices("lang")) == ["hush"]


def test_the_label_command_shows_no_slice(tmp_path: Path) -> None:
    folder = tmp_path / "p.csv"
    rows = "\n".join(f"{row},{SCORE[row]},hush,seen" for row in range(60))
    folder.write_text(f"id,p,lang,text\n{rows}\n")
    storage = ["--storage", f"sqlite:///{tmp_path / 'labels.db'}"]
    words = ["--id", "id", "--score", "p", "--threshold", "0.5", "--budget", "8"]
    made = CliRunner().invoke(
        app, ["create", str(folder), *words, "--slice", "lang", "--show", "text", *storage]
    )
    assert made.exit_code == 0, made.output
    asked = CliRunner().invoke(app, ["label", "campaign", *storage], input="y\nn\n" * 4)
    assert "seen" in asked.output
    assert "hush" not in asked.output
    told = CliRunner().invoke(app, ["status", "campaign", "--by", "lang", *storage])
    assert "hush" in told.output
    assert "too few labels" in told.output
    # A column that was not named is looked up where the predictions are.
    found = CliRunner().invoke(app, ["status", "campaign", "--by", "text", *storage, "--json"])
    assert json.loads(found.output)["slices"]["slices"][0]["slice"] == "seen"
    only = CliRunner().invoke(app, ["status", "--by", "lang", *storage])
    assert "hush" in only.output


def test_what_is_not_kept_is_looked_up_or_refused(half_way: assay.Campaign) -> None:
    slices = half_way.slices("site", predictions=TABLE)
    assert len(slices) == 51
    assert slices.rows[-1].slice.endswith(" others)")
    assert "slices: the 50 with most labels are listed" in slices.notes[0]
    assert sum(row.labels for row in slices.values()) == 400
    with pytest.raises(PredictionsError, match=r"does not have the column 'site'.*\n.*text, lang"):
        half_way.slices("site")
    with pytest.raises(PredictionsError, match="did you mean 'lang'"):
        half_way.slices("langu")
    with pytest.raises(PredictionsError, match="differs from the predictions of campaign"):
        half_way.slices("site", predictions={**TABLE, "p": SCORE[::-1]})
    read = assay.from_arrays(y_score=SCORE, y_pred=SCORE >= 0.5)
    with pytest.raises(PredictionsError, match="cannot be asked for the column 'site'"):
        half_way.slices("site", predictions=read)


def test_slices_outlive_a_rebase_and_new_items(storage: str) -> None:
    first, second = ({name: values[start::2] for name, values in TABLE.items()} for start in (0, 1))
    label(create(first, storage=storage))
    label(assay.extend_campaign(second, storage=storage))
    campaign = label(assay.rebase_campaign(storage=storage, predictions=TABLE))
    again = assay.load_campaign(storage=storage)
    assert again.slices("lang").to_dict() == campaign.slices("lang").to_dict()
    assert set(again.slices("lang")) == {"de", "en", "fr"}
    assert again.settings.source.kept == ["lang", "p"]  # the score, for mistakes


def test_missing_values_are_a_slice_and_unjudged_items_are_counted() -> None:
    lang = [None if row % 3 == 0 else "de" for row in range(SIZE)]
    campaign = create(pl.DataFrame({**TABLE, "lang": lang}), budget=200)
    finish(campaign, lambda id: TRUTH[id] if id % 6 else "cannot judge", 100)
    slices = campaign.slices("lang")
    assert set(slices) == {"de", "(missing)"}
    assert slices["de"].cannot_judge == 0
    assert sum(row.labels + row.cannot_judge for row in slices.values()) == 200
    assert slices["(missing)"].cannot_judge > 20


def test_a_side_without_labels_says_nothing_and_an_empty_stratum_leans_on_its_neighbour() -> None:
    campaign = create(metric="recall", budget=200)
    asked = campaign.ask(200)
    yes = [item.id for item in asked if SCORE[int(item.id)] >= 0.5]
    campaign.tell(dict.fromkeys(yes, True))
    row = campaign.slices("lang")["de"]
    assert (row.value, row.low, row.high, row.too_few) == (None, 0.0, 1.0, True)
    no = [item.id for item in asked if SCORE[int(item.id)] < 0.5]
    campaign.tell({item: bool(TRUTH[int(item)]) for item in no[::9]})
    slices = campaign.slices("lang")
    assert any(row.labels == 0 for row in campaign.strata())
    assert slices["de"].value is not None
    assert sum(row.share for row in slices.values()) == pytest.approx(1)


def test_a_target_is_named_and_a_difference_is_refused() -> None:
    other = np.clip(SCORE + 0.2, 0, 1)
    both = {"a": {"score": "p", "threshold": 0.5}, "b": {"score": "q", "threshold": 0.6}}
    metrics = ["recall:b - recall:a", "precision:a", "recall:b", "precision:b[lang=de]"]
    told = {**TABLE, "q": other}
    one = {"score": None, "threshold": None}
    campaign = label(create(told, **one, classifiers=both, metrics=metrics, budget=SIZE), SIZE)
    assert campaign.slices("lang").metric == "precision:a"
    says = other >= 0.6
    row = campaign.slices("lang", metric="recall:b")["en"]
    english = LANG == "en"
    assert row.value == pytest.approx(sk.recall_score(TRUTH[english], says[english]))
    assert list(campaign.slices("lang", metric="precision:b[lang=de]")) == ["de"]
    with pytest.raises(DesignError, match="is a difference"):
        campaign.slices("lang", metric="recall:b - recall:a")
    with pytest.raises(InputError, match="did you mean 'recall:b'"):
        campaign.slices("lang", metric="recall:bb")


@pytest.mark.parametrize("slices", ["lang", [1]])
def test_columns_that_are_none_are_refused(slices: object) -> None:
    with pytest.raises(PredictionsError, match=r"slices=.* is not a list of column names"):
        create(slices=slices)
    with pytest.raises(PredictionsError, match="column 'lan' not found"):
        create(slices=["lan"])
