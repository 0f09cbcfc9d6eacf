"""The model of the outcome: against scikit-learn, and what cross-fitting is there for."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from assay.core.cut_methods import cut, spread_of
from assay.core.error_model import RANK, SAID, Input, Model
from assay.core.learning import Training, inputs_of, ridge_logistic, share_left
from assay.core.profile import profile_of
from assay.core.types import Bools


@pytest.mark.parametrize("penalty", [0.5, 10.0])
def test_the_fit_is_scikit_learns(penalty: float) -> None:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(400, 4))
    positive = rng.random(400) < expit(features @ [1.0, -2.0, 0.0, 0.5] - 1)
    found = ridge_logistic(np.column_stack([np.ones(400), features]), positive, penalty)
    known = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000).fit(features, positive)
    # Our constant has a penalty, too, of one in a thousand.
    np.testing.assert_allclose(found[1:], known.coef_[0], atol=2e-4)
    np.testing.assert_allclose(found[0], known.intercept_[0], atol=2e-4)


def test_outcomes_that_a_column_tells_apart_have_a_fit() -> None:
    x = np.arange(-10.0, 10.0)
    found = ridge_logistic(np.column_stack([np.ones(20), x]), x > -0.5, 1.0)
    assert np.isfinite(found).all()
    assert found[1] > 0


def test_what_becomes_of_a_column() -> None:
    assert inputs_of("p", np.array([0.1, 0.9])) == [Input("p", "share")]
    (number,) = inputs_of("length", [1, 5, 9])
    assert (number.kind, number.centre, number.width) == ("number", 5.0, 4.0)
    assert inputs_of("length", ["1", " 5", "9"]) == [number]
    assert [each.level for each in inputs_of("ok", [True, False, None])] == [True, None]
    assert inputs_of("same", ["x"] * 9) == inputs_of("none", [None, None]) == []
    assert number.values([9.0, None]).tolist() == [1 / np.sqrt(2), 0.0]


def test_it_is_stored_exactly() -> None:
    model = Model((Input("a", "number", 0.1, 3.0),), ((), (0,)), ((0.1, 1 / 3), (2.0, 1e-7)), 9, 4)
    assert Model.from_dict(model.to_dict()) == model


def noise(rng: np.random.Generator, n: int = 200) -> tuple[dict[str, Any], Bools, Bools]:
    """Return columns, outcomes and folds, where the second column says nothing."""
    score = rng.normal(size=n)
    columns = {SAID: score > 0, "score": score, "judge": rng.normal(size=n)}
    return columns, rng.random(n) < expit(2 * score), rng.random(n) < 0.5


def test_a_column_of_noise_is_mostly_left_out_and_a_good_one_never() -> None:
    """60 data sets. Noise passes in about 7% of them; 18 or more have a chance of 1e-7."""
    rng = np.random.default_rng(0)
    taken = good = 0
    for _ in range(60):
        columns, positive, fold = noise(rng)
        taken += Training(columns, "score", positive, fold).fit() is not None
        columns["judge"] = np.where(positive, 1.0, -1.0) + rng.normal(size=positive.size)
        good += Training(columns, "score", positive, fold).fit() is not None
    assert taken < 18
    assert good == 60


def test_an_items_own_label_does_not_move_it_and_would_without_folds() -> None:
    """Turning one label moves items of the other fold only; fitted to all, it moves the item."""
    rng = np.random.default_rng(1)
    columns, positive, fold = noise(rng, 60)
    columns["judge"] = np.where(positive, 1.0, -1.0) + rng.normal(size=60)
    turned = positive.copy()
    turned[7] = not turned[7]
    one, other = (Training(columns, "score", each, fold).fit() for each in (positive, turned))
    assert one is not None
    assert other is not None
    assert one.log_odds(columns, fold)[7] == other.log_odds(columns, fold)[7]
    assert one.log_odds(columns, ~fold)[7] != other.log_odds(columns, ~fold)[7]


def test_strata_have_equal_spread() -> None:
    profile = profile_of(np.random.default_rng(2).normal(size=50_000) * 3)
    cuts = cut(profile, "spread", 8)
    total = np.bincount(cuts.assign(profile.low), spread_of(profile))
    np.testing.assert_allclose(total, total.mean(), rtol=0.03)
    assert np.ptp(cuts.sizes(profile)) > 3_000  # of equal size they are not


def two_weeks(
    rng: np.random.Generator, judge: float = 1.0, n: int = 300
) -> tuple[Model, dict[str, Any], Bools, Bools]:
    """Return last week's model, and this week's columns, outcomes and folds.

    `judge` is how much this week's judge knows of what last week's knew.
    """
    weeks = []
    for knows in (1.0, judge):
        columns, positive, fold = noise(rng, n)
        told = np.where(positive, 1.0, -1.0) + 0.7 * rng.normal(size=n)
        columns["judge"] = knows * told + (1 - abs(knows)) * rng.normal(size=n)
        weeks.append((columns, positive, fold))
    last = Training(weeks[0][0], "score", weeks[0][1], weeks[0][2], seed=5).fit()
    assert last is not None
    return last, *weeks[1]


def test_the_model_of_before_is_one_more_column() -> None:
    """Its part is a multiple of its log odds, fold by fold: the rest is the model's own.

    As scikit-learn has it, with the log odds as a feature. With the folds of the model of before
    turned round it is another.
    """
    rng = np.random.default_rng(4)
    last, columns, positive, fold = two_weeks(rng)
    # 40 labels say little more than the model of before does.
    few = {name: each[:40] for name, each in columns.items()}
    model = Training(few, "score", positive[:40], fold[:40], before=last).fit()
    assert model is not None
    assert model.inputs == last.inputs
    odds = last.log_odds(few, fold[:40])
    scaled = ((odds - odds.mean()) / odds.std())[:, None]
    found = model.log_odds(few, fold[:40])
    for each in (False, True):
        placed = fold[:40] == each
        tried = [
            LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000)
            .fit(scaled[~placed], positive[:40][~placed])
            .decision_function(scaled[placed])
            for penalty in (1.0, 10.0)
        ]
        off = [np.abs(found[placed] - each).max() for each in tried]
        assert min(off) < 2e-3
    assert np.abs(model.log_odds(few, ~fold[:40]) - found).max() > 2e-3


def test_sums_of_models_do_not_grow_from_week_to_week() -> None:
    rng = np.random.default_rng(6)
    last, *_ = two_weeks(rng)
    sizes = []
    for _ in range(4):
        columns, positive, fold = noise(rng, 400)
        columns["judge"] = np.where(positive, 1.0, -1.0) * (1 + rng.random()) + rng.normal(size=400)
        found = Training(columns, "score", positive, fold, before=last).fit()
        assert found is not None
        sizes.append((len(found.inputs), len(found.terms)))
        last = found
    assert set(sizes) == {(len(last.inputs), len(last.terms))}


@pytest.mark.parametrize(("judge", "kept"), [(1.0, True), (0.0, False), (-1.0, None)])
def test_labels_say_whether_the_model_of_before_still_helps(
    judge: float, *, kept: bool | None
) -> None:
    """Strata are by last week's model. It stays where it is right, and gives way to the score where
    this week's judge is noise, and to a new model where it has turned round.

    20 data sets. Without a model of before the score would not come back: `learn` says that strata
    stay.
    """
    rng = np.random.default_rng(7)
    by_score = by_all = stays = 0
    for _ in range(20):
        last, columns, positive, fold = two_weeks(rng, judge)
        odds = last.log_odds(columns, fold)
        stratum = np.digitize(odds, np.quantile(odds, np.arange(1, 16) / 16))
        sizes = np.bincount(stratum, minlength=16)
        given = (columns, "score", positive, fold)
        found = Training(*given, before=last).learn(stratum, sizes)
        stays += found is None
        by_score += found is not None and found.columns == ("score",)
        by_all += found is not None and "judge" in found.columns
        if kept is False and Training(*given, before=last).fit() is None:
            assert Training(*given).learn(stratum, sizes) is None
    assert max((stays, True), (by_score, False), (by_all, None))[1] is kept
    assert max(stays, by_score, by_all) >= 15


def test_what_several_said_is_one_input_a_bit_that_differs() -> None:
    codes = np.array([0b1000, 0b1010, 0b1011])
    bits = inputs_of(SAID, codes)
    assert [each.bit for each in bits] == [0, 1]
    assert [each.values(codes).tolist() for each in bits] == [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    assert inputs_of(SAID, np.array([True, False])) == [Input(SAID, "said")]
    model = Model(tuple(bits), ((), (0,), (1,)), ((0.0, 1.0, 2.0),) * 2, 9, 4)
    assert Model.from_dict(model.to_dict()) == model
    assert "bit" not in model.to_dict()["inputs"][0]  # as models of one classifier were stored
    assert model.log_odds({SAID: codes}, np.array([True, False, True])).tolist() == [0, 2, 3]


@pytest.mark.parametrize("all_scores", [True, False])
def test_noise_does_not_pass_because_scores_tell_more_than_their_mean_rank(
    *, all_scores: bool
) -> None:
    """One score tells all and the other nothing: a model with noise is better than the mean rank.

    So other columns must tell more than the scores do. Compared with the rank alone, noise came in
    with two data sets of three; compared with the scores, too, with 8 of 300. Then 9 or more of 40
    have a chance below 1e-5.
    """
    rng = np.random.default_rng(2)
    passed = 0
    for _ in range(40):
        good, bad = rng.normal(size=(2, 200))
        positive, fold = rng.random(200) < expit(4 * good), rng.random(200) < 0.5
        columns = {
            RANK: (expit(good) + expit(bad)) / 2,
            SAID: (good > 0) + 2 * (bad > 0),
            "good": good,
            "bad": bad,
            "noise": rng.normal(size=200),
        }
        if all_scores:
            own: str | tuple[str, ...] = ("good", "bad")
        else:
            own = "rank"
            columns["rank"] = columns.pop(RANK)
        passed += Training(columns, own, positive, fold).fit() is not None
    assert (passed < 9) == all_scores


def test_the_share_that_is_left_is_by_what_labels_cost() -> None:
    """A target that needs the first stratum alone saves by what the model tells there."""
    log_odds, stratum = np.array([4.0, -4.0, 0.3, 0.3]), np.array([0, 0, 1, 1])
    sizes = np.array([50, 5_000])
    first = share_left(log_odds, stratum, sizes, lambda _, sd: float(sd[0]) ** 2)
    assert first == pytest.approx(share_left(log_odds[:2], stratum[:2], sizes[:1]))
    assert first < 0.1
    assert share_left(log_odds, stratum, sizes) > 0.9
