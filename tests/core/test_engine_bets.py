"""Rounds that can be bet on, drawn with known chances or dealt for certain; live campaigns."""

from dataclasses import replace

import numpy as np
import pytest

import assay
from assay.core.betting import Bets
from assay.core.design import Design
from assay.core.engine import begin, fold, look, plan
from assay.core.forms import Ratio, ratio
from assay.core.goal import Goal
from assay.core.state import State
from assay.core.types import Bools, Floats, Ints
from assay.simulation.oracle import shuffled_kinds

DESIGN = Design.guaranteed()


def precision(sizes: Floats) -> Ratio:
    return ratio("precision", sizes, np.ones(len(sizes), dtype=bool))


def test_a_stratum_with_fewer_cards_than_the_round_is_dealt_to_its_end() -> None:
    sizes = np.array([3.0, 400.0, 7.0])
    state, rng = begin(DESIGN, Goal("precision", budget=100), sizes), np.random.default_rng(1)
    counts = plan(DESIGN, Goal("precision", budget=100), precision(sizes), state, rng=rng, asked=20)
    assert (counts[0], counts[2], counts.sum()) == (3, 7, 20)
    few = plan(DESIGN, Goal("precision", budget=100), precision(sizes), state, rng=rng, asked=5)
    assert (few[0], few.sum()) == (3, 5)  # the third stratum holds as many as are drawn


def test_what_is_dealt_for_certain_is_no_more_than_the_round() -> None:
    sizes = np.array([9.0, 9.0, 9.0])
    goal, metric = Goal("precision", budget=27), precision(sizes)
    state, rng = begin(DESIGN, goal, sizes), np.random.default_rng(1)
    dealt = []
    for _ in range(3):
        counts = plan(DESIGN, goal, metric, state, rng=rng, asked=10)
        dealt.append(counts.tolist())
        state = replace(state.deal(counts), tallies=state.tallies.add(counts, counts))
    assert dealt == [[9, 1, 0], [0, 8, 2], [0, 0, 7]]


def test_a_large_request_does_not_use_up_the_strata() -> None:
    sizes = np.array([200.0, 400.0])
    goal = Goal("precision", within=0.01)
    state, rng = begin(DESIGN, goal, sizes), np.random.default_rng(1)
    assert plan(DESIGN, goal, precision(sizes), state, rng=rng, asked=10_000).sum() == 50


def wealth_after(rounds: int, *, bet_on_all: bool) -> Floats:
    """Return what the bettor against the truth owns, in 50,000 runs on strata that run out."""
    runs, sizes, outcomes = 50_000, np.array([12.0, 30.0]), np.array([4.0, 24.0])
    metric, truth = precision(sizes), 28 / 42
    goal, rng = Goal("precision", at_least=truth), np.random.default_rng(5)
    bets = Bets.start(np.array([truth]), (runs,))
    state = replace(begin(DESIGN, goal, np.broadcast_to(sizes, (runs, 2))), bets=bets)
    for _ in range(rounds):
        counts = plan(DESIGN, goal, metric, state, rng=rng, asked=6)
        left = (outcomes - state.tallies.x).astype(np.int64)
        others = (sizes - state.tallies.n).astype(np.int64) - left
        found = rng.hypergeometric(left, others, counts)
        after = replace(state.deal(counts), tallies=state.tallies.add(counts, found))
        kinds = shuffled_kinds(counts, counts, found, rng)
        if bet_on_all:  # as if what was dealt for certain had been drawn
            room = np.where(state.room > 0, 1e6, 0.0)
            state = fold_with(goal, metric, replace(state, room=room), after, kinds)
        else:
            state = fold_with(goal, metric, state, after, kinds)
    assert state.bets is not None
    return np.exp(np.stack([state.bets.up[:, 0], state.bets.down[:, 0]]))


def fold_with(goal: Goal, metric: Ratio, before: State, after: State, kinds: Ints) -> State:
    return fold(DESIGN, goal, metric, before=before, after=after, kinds=kinds)


def check_fair(wealth: Floats) -> None:
    """Check that bets against the truth gain nothing on average.

    Five standard errors of the mean: a fair game fails once in a million.
    """
    error = wealth.std(axis=-1) / np.sqrt(wealth.shape[-1])
    assert (np.abs(wealth.mean(axis=-1) - 1) <= 5 * error).all()


def test_bets_stay_fair_when_strata_run_out() -> None:
    check_fair(wealth_after(5, bet_on_all=False))
    with pytest.raises(AssertionError):
        check_fair(wealth_after(5, bet_on_all=True))


def test_every_order_of_a_round_is_equally_likely() -> None:
    """Three cards of three kinds: six orders, 6,000 runs, each seen 1,000 ± 5 * 29 times."""
    counts, found = np.tile([2, 1], (6000, 1)), np.tile([1, 0], (6000, 1))
    kinds = shuffled_kinds(counts, counts, found, np.random.default_rng(2))
    orders, times = np.unique(kinds, axis=0, return_counts=True)
    assert len(orders) == 6
    assert (np.abs(times - 1000) < 5 * 29).all()
    assert (np.sort(kinds, axis=-1) == [0, 1, 2]).all()


def test_runs_with_fewer_cards_are_filled_up() -> None:
    counts, found = np.array([[2, 1], [0, 1], [0, 0]]), np.array([[2, 0], [0, 1], [0, 0]])
    kinds = np.sort(shuffled_kinds(counts, counts, found, np.random.default_rng(2)), axis=-1)
    assert kinds.tolist() == [[1, 1, 2], [-1, -1, 3], [-1, -1, -1]]


def population() -> tuple[dict[str, Floats | Bools], Bools]:
    rng = np.random.default_rng(4)
    score = rng.random(4000)
    return {"p": score, "yes": score > 0.2}, rng.random(4000) < 0.5 + score / 2


def campaign_of(columns: dict[str, Floats | Bools], within: float = 0.06) -> assay.Campaign:
    return assay.create_campaign(
        columns, score="p", predicted="yes", within=within, seed=3, design=DESIGN
    )


def test_a_live_campaign_is_the_replayed_one_card_by_card() -> None:
    columns, truth = population()
    campaign = campaign_of(columns)
    sizes = campaign.settings.strata.sizes.astype(np.float64)
    bins = len(sizes)
    positives = columns["p"][columns["yes"].astype(bool)]
    cuts = np.quantile(positives, np.arange(1, bins) / bins)
    metric, goal = precision(sizes), campaign.settings.goal
    assert isinstance(goal, Goal)
    state = begin(DESIGN, goal, sizes)
    while not campaign.done:
        rng = np.random.default_rng([3, state.rounds])
        counts = plan(DESIGN, goal, metric, state, rng=rng, asked=20)
        items = campaign.ask(20)
        stratum = np.searchsorted(cuts, [columns["p"][int(item.id)] for item in items])
        assert np.bincount(stratum, minlength=bins).tolist() == counts.tolist()
        outcome = np.array([truth[int(item.id)] for item in items])
        found = np.bincount(stratum[outcome], minlength=bins)
        after = replace(state.deal(counts), tallies=state.tallies.add(counts, found))
        state = fold_with(goal, metric, state, after, 2 * stratum + outcome)
        now = look(DESIGN, goal, metric, state)
        estimate = campaign.tell({item.id: truth[int(item.id)] for item in reversed(items)})
        assert (estimate.low, estimate.high) == (float(now.low), float(now.high))
    assert estimate.stopped == "measured to the requested width"
    assert state.rounds > 5


def test_a_round_is_answered_before_the_next_is_dealt() -> None:
    columns, truth = population()
    campaign = campaign_of(columns)
    first = campaign.ask(20)
    campaign.tell({item.id: truth[int(item.id)] for item in first[:15]})
    assert campaign.ask(20) == first[15:]
    before = campaign.estimate()
    campaign.tell({item.id: truth[int(item.id)] for item in first[15:]})
    second = campaign.ask(20)
    assert len(second) == 20
    assert not {item.id for item in second} & {item.id for item in first}
    assert before.high - before.low > 0.99  # no bet is settled before its round is complete


def test_a_revised_answer_cannot_change_how_cards_were_drawn() -> None:
    """Undone and done again, the campaign stands where one without the mistake does."""
    columns, truth = population()
    straight, revised = campaign_of(columns, 0.01), campaign_of(columns, 0.01)
    told: dict[int | str, bool] = {}
    for turn in range(8):
        items = straight.ask(20)
        assert revised.ask(20) == items
        labels = {item.id: bool(truth[int(item.id)]) for item in items}
        told |= labels
        straight.tell(labels)
        revised.tell(labels)
        if turn == 5:
            mistaken = {item: bool(columns["p"][int(item)] > 0.4) for item in told}
            revised.tell(mistaken, revise=True)
            assert revised.ask(20) == straight.ask(20)
            revised.tell(told, revise=True)
    assert straight.estimate() == revised.estimate()


def test_what_nobody_can_judge_is_not_bet_on() -> None:
    columns, _ = population()
    campaign = campaign_of(columns)
    for _ in range(5):
        campaign.tell({item.id: "cannot judge" for item in campaign.ask(20)})
    estimate = campaign.estimate()
    assert (estimate.low, estimate.high, estimate.cannot_judge) == (0.0, 1.0, 100)
