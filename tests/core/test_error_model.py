"""The model of the outcome: against scikit-learn, and what cross-fitting is there for."""

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from assay.core.cut_methods import cut, spread_of
from assay.core.error_model import SAID, Input, Model, fit, inputs_of, ridge_logistic
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
        taken += fit(columns, "score", positive, fold) is not None
        columns["judge"] = np.where(positive, 1.0, -1.0) + rng.normal(size=positive.size)
        good += fit(columns, "score", positive, fold) is not None
    assert taken < 18
    assert good == 60


def test_an_items_own_label_does_not_move_it_and_would_without_folds() -> None:
    """Turning one label moves items of the other fold only; fitted to all, it moves the item."""
    rng = np.random.default_rng(1)
    columns, positive, fold = noise(rng, 60)
    columns["judge"] = np.where(positive, 1.0, -1.0) + rng.normal(size=60)
    turned = positive.copy()
    turned[7] = not turned[7]
    one, other = (fit(columns, "score", each, fold) for each in (positive, turned))
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
