"""Comparisons of two model versions and of two weeks, and labels that are used again."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

import assay
from assay.audit.values import Counts, values_of
from assay.labelling import waiting_in
from assay.predictions.pairs.compared import read_compared
from tests.kinds import finish, shallow
from tests.sklearn_metrics import SKLEARN

SIZE = 900
RNG = np.random.default_rng(4)
TRUTH = RNG.random(SIZE) < 0.4
SCORES = {
    version: np.clip(0.4 * TRUTH + noise * RNG.random(SIZE), 0, 1).round(3)
    for version, noise in (("v1", 0.9), ("v2", 0.7))
}
EVERY = np.arange(SIZE)
WEEK_1, WEEK_2 = EVERY[:600], np.concatenate([EVERY[150:600], EVERY[750:]])
COLUMNS: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.6}


def table(ids: Any, version: str = "v1") -> dict[str, Any]:
    texts = [f"{version} text {id}" for id in ids]
    return {"id": [f"u{id}" for id in ids], "p": SCORES[version][ids], "text": texts}


WEEKS = (table(WEEK_1), table(WEEK_2))
VERSIONS = (table(EVERY), table(EVERY, "v2"))


def said(item: Any) -> bool:
    return bool(TRUTH[int(str(item)[1:])])


def label(campaign: assay.Campaign, batch: int = 50) -> list[str]:
    """Label to the end, and return what people were asked."""
    return finish(campaign, said, batch)


def compare(pair: tuple[Any, Any], **more: Any) -> assay.Campaign:
    return assay.compare_campaign(*pair, **{**COLUMNS, **more})


def create(source: Any, **more: Any) -> assay.Campaign:
    return assay.create_campaign(source, **{**COLUMNS, "within": 0.08, **more})


def exact(metric: str, pair: tuple[Any, Any]) -> float:
    values = []
    for each in pair:
        truth = TRUTH[[int(id[1:]) for id in each["id"]]]
        values.append(SKLEARN[metric](truth, each["p"] >= COLUMNS["threshold"]))
    return float(values[1] - values[0])


@pytest.mark.parametrize(
    "metric", ["precision", "recall", "accuracy", "balanced_accuracy", "matthews_correlation"]
)
@pytest.mark.parametrize("pair", [WEEKS, VERSIONS], ids=["weeks", "versions"])
def test_the_difference_at_full_labelling_is_scikit_learns(
    metric: str, pair: tuple[Any, Any], storage: str
) -> None:
    campaign = compare(pair, metric=metric, budget=10 * SIZE, storage=storage)
    label(campaign, SIZE)
    estimate = campaign.estimate()
    assert estimate.metric == f"{metric}:new - {metric}:old"
    assert estimate.stopped == "every item has been reviewed"
    assert estimate.value == pytest.approx(exact(metric, pair), abs=1e-12)
    assert estimate.value != pytest.approx(exact(metric, pair[::-1]), abs=1e-12)
    assert assay.verify_campaign("comparison", storage=storage).clean


def test_where_two_versions_say_the_same_nobody_is_asked() -> None:
    said = [each["p"] >= COLUMNS["threshold"] for each in VERSIONS]
    differ = {f"u{id}" for id in np.flatnonzero(said[0] != said[1])}
    assert set(label(compare(VERSIONS, metric="accuracy", budget=SIZE))) == differ
    # Between weeks, which are as large, it is what is in one of them only.
    either = {f"u{id}" for id in np.setxor1d(WEEK_1, WEEK_2)}
    assert set(label(compare(WEEKS, metric="accuracy", budget=SIZE))) == either


@pytest.mark.parametrize("pair", [WEEKS, VERSIONS], ids=["weeks", "versions"])
def test_what_was_judged_on_top_of_every_deck_counts_and_nobody_is_asked_again(
    pair: tuple[Any, Any], storage: str
) -> None:
    label(create(pair[0], name="before", storage=storage))
    judged = assay.load_campaign("before", storage=storage).answers()
    campaign = compare(pair, labels_from="before", within=0.05, level_within=0.08, storage=storage)
    before, strata = campaign.settings.before, campaign.settings.strata
    assert before is not None
    assert (before.campaigns, before.judged) == (("before",), len(judged))

    def on_top(known: Mapping[Any, assay.Answer]) -> dict[Any, assay.Answer]:
        found = read_compared(pair, **campaign.settings.source.columns)
        decks = found.deal(strata, scale="probability", seed=0, counts=strata.sizes.tolist())
        tops = [takewhile(lambda card: card.id in known, deck) for deck in decks]
        return {card.id: known[card.id] for top in tops for card in top}

    answers = campaign.answers()
    assert 20 < len(answers) <= len(judged) - before.gone
    assert answers == on_top(judged)
    assert answers != on_top({id: judged[id] for id in [*judged][1:]})
    counts = _counted(campaign, pair)
    _is_recounted(campaign, values_of(campaign.settings, counts))

    assert not set(label(campaign)) & set(judged)
    for name in ("before", "comparison"):
        assert assay.verify_campaign(name, storage=storage).clean


def test_another_meaning_of_yes_is_another_question(storage: str) -> None:
    def said(positive: str) -> dict[str, Any]:
        return {"score": None, "threshold": None, "predicted": "said", "positive": positive}

    words = np.where(SCORES["v1"] >= COLUMNS["threshold"], "spam", "ham")
    source = {**table(EVERY), "said": words}
    other = {**source, "said": np.roll(words, 1)}
    create(source, name="before", storage=storage, **said("spam"))
    options = {"budget": 9, "labels_from": "before", "storage": storage}
    with pytest.raises(assay.DesignError, match="asked another question: 'Is it spam"):
        compare((source, other), **said("ham"), **options)
    assert compare((source, other), **said("spam"), **options).settings.question == "Is it spam?"


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., tuple[str, str]]:
    def write(*tables: Any) -> tuple[str, str]:
        paths = [str(tmp_path / name) for name in ("old.csv", "new.csv")]
        for path, each in zip(paths, tables, strict=True):
            pd.DataFrame(each).to_csv(path, index=False)
        return paths[0], paths[1]

    return write


def test_who_loads_a_comparison_goes_on_from_both_files_unless_they_have_changed(
    files: Callable[..., tuple[str, str]], storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shallow(monkeypatch, 1, "carry_over")
    compare(files(*WEEKS), budget=SIZE, storage=storage)
    finish(assay.load_campaign("comparison", storage=storage), said, 5, most=5)
    files(*WEEKS[::-1])
    with pytest.raises(assay.PredictionsError, match="differs from the predictions of"):
        label(assay.load_campaign("comparison", storage=storage))
    files(*WEEKS)
    campaign = assay.load_campaign("comparison", storage=storage)
    label(campaign, 300)
    assert campaign.estimate().value == pytest.approx(exact("precision", WEEKS), abs=1e-12)
    assert campaign.settings.items == len(np.union1d(WEEK_1, WEEK_2))
    assert assay.verify_campaign("comparison", storage=storage).clean


def test_a_comparison_is_rebased_on_both_and_not_on_one(
    files: Callable[..., tuple[str, str]], storage: str
) -> None:
    campaign = compare(files(*WEEKS), within=0.05, storage=storage)
    judged = label(campaign)
    later = table(np.concatenate([EVERY[200:600], EVERY[700:]]))
    _, path = files(WEEKS[0], later)
    with pytest.raises(assay.PredictionsError, match=r"compares two .*, and 1 is given"):
        assay.rebase_campaign("comparison", storage=storage, predictions=path)
    again = assay.rebase_campaign("comparison", storage=storage)
    assert set(map(str, again.answers())) <= set(judged)
    assert not set(label(again)) & set(judged)
    assert again.settings.source.compares
    assert again.settings.items == 600 + 200
    assert assay.verify_campaign("comparison", storage=storage).clean


def _is_recounted(campaign: assay.Campaign, recounted: Mapping[str, Sequence[float]]) -> None:
    """Check that every metric's value is one that the recount allows, to the last digits."""
    told = {
        each.name: float(each.look.moments.value)
        for each in campaign.desk.labelling.rounds.standings
    }
    assert told.keys() == recounted.keys()
    for name, value in told.items():
        assert min(abs(value - each) for each in recounted[name]) < 1e-12


def _counted(campaign: assay.Campaign, pair: tuple[Any, Any]) -> Counts:
    """Count the answers by what a comparison's predictions say of their items."""
    settings, answers = campaign.settings, campaign.answers()
    found = read_compared(pair, **settings.source.columns)
    items = found.find(list(answers), variable="rank", scale="probability")
    counts = Counts()
    for item, answer in zip(items, answers.values(), strict=True):
        assert item is not None
        code = int(item.card.predicted)
        (stratum,) = settings.strata.assign(np.array([item.value]), np.array([code]))
        counts.add(int(stratum), code, answer.value)
    return counts


@pytest.mark.parametrize("metric", ["f1", "false_omission_rate"])
def test_the_recount_knows_which_items_a_metric_is_about(metric: str) -> None:
    campaign = compare(WEEKS, metric=metric, budget=200)
    label(campaign)
    settings, counts = campaign.settings, _counted(campaign, WEEKS)
    _is_recounted(campaign, values_of(settings, counts))


def test_slices_of_a_comparison_are_of_the_new_ones_metric(storage: str) -> None:
    old, new = ({**each, "odd": [str(int(id[1:]) % 2) for id in each["id"]]} for each in WEEKS)
    wanted = {"within": 1e-6, "level_within": 1e-6, "slices": ["odd"], "storage": storage}
    label(compare((old, new), **wanted))
    campaign = assay.load_campaign("comparison", storage=storage)
    assert all("odd" not in item.shown for item in campaign.ask(3))
    found = campaign.slices("odd")
    assert found.metric == "precision:new"
    for odd in ("0", "1"):
        inside = np.array(new["odd"]) == odd
        truth = TRUTH[[int(id[1:]) for id in new["id"]]]
        said = new["p"] >= COLUMNS["threshold"]
        value = found[odd].value
        assert value == pytest.approx(sk.precision_score(truth[inside], said[inside]), abs=1e-9)


def test_what_reviewers_disagree_on_does_not_count_in_a_comparison(storage: str) -> None:
    options = {"reviewers_per_item": 2, "overlap": 1.0}
    first = create(WEEKS[0], name="a", storage=storage, within=None, budget=40, **options)
    for who, says in (("ann", "yes"), ("bob", "no")):
        first.tell({item.id: says for item in first.ask(40, reviewer=who)}, reviewer=who)
    assert not first.answers() and len(first.disputes()) == 40
    both = compare(WEEKS, within=0.05, labels_from="a", storage=storage)
    assert both.settings.reviewing == first.settings.reviewing
    assert not both.answers()
    with pytest.raises(assay.DesignError, match="2 reviewers on a share of 1"):
        other = {"reviewers_per_item": 1, "overlap": 0.0, "storage": storage, "name": "c"}
        compare(WEEKS, within=0.05, labels_from="a", **other)


def test_of_two_campaigns_the_later_answer_counts_whichever_is_named_first(storage: str) -> None:
    first = create(WEEKS[0], name="a", storage=storage)
    label(first)
    again = create(WEEKS[1], name="b", storage=storage)
    label(again)
    one = next(id for id in again.answers() if id in first.answers())
    again.tell({one: not said(one)}, revise=True)
    right = assay.Answer.NO if said(one) else assay.Answer.YES
    for name, order in (("ab", ["a", "b"]), ("ba", ["b", "a"])):
        both = compare(WEEKS, budget=1, labels_from=order, storage=storage, name=name)
        known: dict[Any, assay.Answer] = {**both.answers(), **waiting_in(both.desk.current())}
        assert known[one] is right
        assert both.settings.before is not None
        assert both.settings.before.judged == len({*first.answers(), *again.answers()})
        assert assay.verify_campaign(name, storage=storage).clean
    # Those that it came from go on, and what they get from now on is theirs alone.
    again.tell({one: said(one)}, revise=True)
    assert assay.verify_campaign("ba", storage=storage).clean
