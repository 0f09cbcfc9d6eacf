"""Campaigns with items that nobody can judge, and with items that wait for an answer."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.stopping import Reason
from assay.core.types import Bools
from assay.labelling import history_in
from assay.report.report import Report
from assay.results import state_text
from assay.web.dashboard import dashboard_of
from tests.kinds import finish

RNG = np.random.default_rng(11)
SIZE = 4000
SCORE = RNG.random(SIZE)
TRUTH: Bools = RNG.random(SIZE) < 0.5 + SCORE / 2
COLUMNS: dict[str, Any] = {"p": SCORE, "lang": np.where(np.arange(SIZE) % 2, "de", "en")}


def make(**changed: Any) -> assay.Campaign:
    wanted: dict[str, Any] = {"score": "p", "threshold": 0.0, "seed": 5, "within": 0.05}
    return assay.create_campaign(COLUMNS, **{**wanted, **changed})


def end(campaign: assay.Campaign, *, hidden: float) -> assay.Estimate:
    """Label to the end; a share of the negatives cannot be judged."""
    unseen = ~TRUTH & (np.arange(SIZE) % 100 < 100 * hidden)
    finish(campaign, lambda id: "cannot judge" if unseen[id] else TRUTH[id], 40)
    return campaign.estimate()


def unjudged_of(campaign: assay.Campaign) -> list[int]:
    return [int(item) for item, answer in campaign.answers().items() if not answer.judged]


def every_page_tells(campaign: assay.Campaign, told: assay.Estimate) -> None:
    board, report = dashboard_of(campaign), campaign.report()
    assert (board.stopped, board.met) == (told.stopped, False)
    assert state_text(board.metrics[0].estimate)[0] == "unjudged"
    assert "notice-warn" in report.html
    assert "measured to the requested width" not in report.html.lower() + report.markdown.lower()
    shown, other = f"[{told.low:.3f}, {told.high:.3f}]", "{:.3f} to {:.3f}"
    assert board.metrics[0].interval == shown
    assert f"between {told.low:.3f} and {told.high:.3f}" in board.sentence
    assert shown in report.html  # the headline
    assert other.format(*told.ends_like_rest) in report.markdown
    plain = json.loads(report.json)["metrics"]["precision"]
    assert (plain["low"], plain["high"]) == (told.low, told.high) == told.worst_case
    assert plain["like_rest"] == list(told.like_rest or ())
    last = history_in(campaign.desk.current())["precision"][-1]
    assert (last.low, last.high) == (told.low, told.high)


def test_a_goal_that_unjudged_items_could_undo_is_not_met_and_says_what_it_would_take() -> None:
    campaign = make()
    told = end(campaign, hidden=0.6)
    assert told.stopped is not None
    assert "measured to the requested width" not in str(told)
    assert told.half_width_like_rest <= 0.05 < min(told.could_move, told.half_width)
    assert told.stopped.startswith(
        f"narrow enough, but {told.cannot_judge} items that could not be judged could move it by "
        f"{told.could_move:.3f}: judging about "
    )
    assert (told.low, told.high) == told.worst_case
    assert told.low < TRUTH.mean() < told.high
    assert told.like_rest is not None
    assert TRUTH.mean() < told.like_rest[0]  # the wrong variant: the headline as it was
    assert campaign.ask(20) == []  # more labels do not help
    every_page_tells(campaign, told)
    # To judge as many as it says, wherever they are, is what it takes.
    needed = int(told.stopped.split("judging about ")[1].split()[0])
    chosen = np.random.default_rng(0).permutation(unjudged_of(campaign))[: needed + 2]
    after = campaign.tell({int(item): True for item in chosen}, revise=True)
    assert after.could_move <= 0.05
    finish(campaign, TRUTH, 40)  # and it goes on where that is still to be done
    assert campaign.estimate().stopped == "measured to the requested width"


def test_few_unjudged_items_do_not_keep_a_goal_from_being_met() -> None:
    told = end(make(), hidden=0.05)
    assert told.cannot_judge
    assert told.stopped == "measured to the requested width"
    assert told.like_rest is None
    low, high = told.worst_case or (1.0, 0.0)
    assert low < told.low < told.high < high  # what they could do is a detail


def test_several_targets_end_with_what_could_not_be_judged() -> None:
    columns = {**COLUMNS, "q": 1 - SCORE}
    both = {"a": ("p", 0.5), "b": ("q", 0.5)}
    campaign = assay.create_campaign(
        columns, classifiers=both, metrics=["precision:a", "precision:b"], within=0.06, seed=3
    )
    hard = (SCORE >= 0.5) & (np.arange(SIZE) % 3 == 0)  # only what `a` says yes to
    finish(campaign, lambda id: "cannot judge" if hard[id] else TRUTH[id], 60)
    told = campaign.estimates()
    assert campaign.desk.current().rounds.reason is Reason.UNJUDGED
    assert "could move precision:a by" in (told["precision:a"].stopped or "")
    assert told["precision:b"].could_move == 0
    assert told["precision:a"].like_rest is not None
    assert told["precision:a"].half_width > 0.06 >= told["precision:b"].half_width
    states = {each.metric: state_text(each)[0] for each in told.values()}
    assert states == {"precision:a": "unjudged", "precision:b": "met"}


def test_no_yes_or_no_while_unjudged_items_could_turn_it() -> None:
    limit = float(TRUTH.mean()) + 0.05  # the judged ones are above it, and all are below
    campaign = make(within=None, at_least=limit)
    told = end(campaign, hidden=0.7)
    assert told.verdict is None
    assert (told.stopped or "").startswith(f"cannot say whether it is at least {limit}, as ")
    assert "could turn the answer" in (told.stopped or "")


def test_items_that_wait_are_told_and_taken_at_their_worst(tmp_path: Path) -> None:
    """Somebody skips every negative: the old interval did not hold the truth, this one does."""
    campaign = make(budget=2000, within=None, storage=f"sqlite:///{tmp_path / 'a.db'}")
    for _ in range(10):
        campaign.tell({item.id: True for item in campaign.ask(20) if TRUTH[int(item.id)]})
    told = campaign.estimate()
    assert told.open > 0
    assert f"{told.labels} labels, {told.open} open" in str(told)
    assert told.value == 1.0
    assert told.low < TRUTH.mean() < told.high
    plain = (
        campaign.desk.labelling.evaluation.decide(campaign.desk.labelling.rounds.state)
        .standings[0]
        .look
    )
    assert float(plain.low) > TRUTH.mean()  # as it was shown before
    assert assay.verify_campaign(campaign.name, storage=f"sqlite:///{tmp_path / 'a.db'}").clean


def test_when_nothing_is_open_any_more_the_interval_is_that_of_the_labels() -> None:
    campaign, other = make(budget=60, within=None), make(budget=60, within=None)
    batch = campaign.ask(60)
    answers = {item.id: TRUTH[int(item.id)] for item in batch}
    assert [item.id for item in other.ask(60)] == list(answers)
    first = dict(list(answers.items())[:50])
    half = campaign.tell(first)
    assert half.open == 10
    whole = campaign.tell({item: answers[item] for item in answers.keys() - first.keys()})
    at_once = other.tell(answers)
    assert (whole.open, whole.low, whole.high) == (0, at_once.low, at_once.high)
    assert half.low < whole.low
    assert half.high >= whole.high


def test_complete_rounds_are_shown_while_the_next_has_hardly_begun() -> None:
    """A round of fifty that has just been dealt does not make a good interval bad."""
    campaign = make(budget=500, within=None)
    finish(campaign, TRUTH, 50, most=150)
    before = campaign.estimate()
    batch = campaign.ask(50)
    waiting = campaign.estimate()
    assert waiting.open == 50
    assert (waiting.low, waiting.high) == (before.low, before.high)
    one = campaign.tell({batch[0].id: TRUTH[int(batch[0].id)]})
    assert one.open == 49
    assert one.low == min(before.low, one.value or 1.0)


def test_slices_take_what_waits_at_its_worst() -> None:
    campaign = make(budget=400, within=None, slices=["lang"])
    batch = campaign.ask(200)
    campaign.tell({item.id: True for item in batch if TRUTH[int(item.id)]})
    rows = campaign.slices("lang")
    for name in ("de", "en"):
        assert rows[name].value == 1.0
        assert rows[name].open > 10
    assert sum(row.open for row in rows.values()) == campaign.estimate().open
    assert any("as the worst case" in note for note in rows.notes)
    campaign.tell({item.id: False for item in batch if not TRUTH[int(item.id)]})
    after = campaign.slices("lang")
    for name in ("de", "en"):  # they were of the worst kind
        assert after[name].open == 0
        assert after[name].low == pytest.approx(rows[name].low)
        assert after[name].high < rows[name].high


def test_weighted_items_that_wait_are_counted_once_and_taken_at_their_worst() -> None:
    columns = {**COLUMNS, "views": 1 + np.arange(SIZE) % 7}
    campaign = assay.create_campaign(
        columns, score="p", threshold=0.0, sample_weight="views", budget=400, seed=5
    )
    batch = campaign.ask(200)
    told = campaign.tell({item.id: True for item in batch if TRUTH[int(item.id)]})
    assert told.open == len([item for item in batch if not TRUTH[int(item.id)]])
    truth = np.average(TRUTH, weights=columns["views"])
    assert told.low < truth < told.high


@pytest.mark.parametrize("design", [assay.Design(), assay.Design.guaranteed()])
def test_a_campaign_with_both_is_clean_to_the_last_bit(design: assay.Design, storage: str) -> None:
    campaign = make(design=design, within=0.08, storage=storage)
    for turn in range(6):
        batch = campaign.ask(20)
        keep = batch if turn < 4 else batch[: len(batch) // 2]
        campaign.tell(
            {
                item.id: "cannot judge" if int(item.id) % 5 == 0 else TRUTH[int(item.id)]
                for item in keep
            }
        )
    told = campaign.estimate()
    assert told.cannot_judge
    assert told.worst_case is not None
    assert told.worst_case[0] <= told.low <= told.high <= told.worst_case[1]
    assert assay.verify_campaign(campaign.name, storage=storage).clean
    assert isinstance(campaign.report(), Report)
