from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from assay.core.clustering import Mixture, gaussian_mixture, kmeans
from assay.core.profile import profile_of
from assay.core.types import Floats

SAMPLES: dict[str, Callable[[np.random.Generator], Floats]] = {
    "two heaps": lambda rng: np.concatenate([rng.normal(0, 1, 300), rng.normal(6, 0.5, 100)]),
    "narrow in wide": lambda rng: np.concatenate([rng.normal(0, 3, 500), rng.normal(0, 0.1, 500)]),
    "probabilities": lambda rng: rng.beta(2, 5, 800),
    "rounded": lambda rng: rng.normal(0.5, 0.2, 900).round(2),
}


@pytest.fixture(params=SAMPLES)
def sample(request: pytest.FixtureRequest) -> Floats:
    values: Floats = np.sort(SAMPLES[request.param](np.random.default_rng(11)))
    return values


def fitted(values: Floats, K: int) -> Mixture:
    profile = profile_of(values)
    return gaussian_mixture(profile.mean, profile.count.astype(np.float64), K)


def log_likelihood(mixture: Mixture, values: Floats) -> float:
    return float(np.mean(logsumexp(mixture.log_joint(values), axis=1)))


def scikit_learn(values: Floats, K: int) -> GaussianMixture:
    """Scikit-learn's mixture, on the values one by one, from the same start."""
    start = kmeans(values, np.ones(values.size), K)
    parts = [values[start == k] for k in range(K)]
    model = GaussianMixture(
        K,
        tol=1e-5,
        max_iter=500,
        reg_covar=0.0,
        weights_init=[part.size / values.size for part in parts],
        means_init=[[part.mean()] for part in parts],
        precisions_init=[[[1 / part.var()]] for part in parts],
    )
    return model.fit(values[:, None])


@pytest.mark.parametrize("K", [1, 2, 3])
def test_mixture_is_that_of_scikit_learn(sample: Floats, K: int) -> None:
    theirs = scikit_learn(sample, K)

    def check(mixture: Mixture) -> None:
        assert log_likelihood(mixture, sample) >= theirs.score(sample[:, None]) - 1e-4
        agree = mixture.most_probable(sample) == theirs.predict(sample[:, None])
        assert agree.mean() > 0.99

    ours = fitted(sample, K)
    assert ours.converged
    assert ours.weight.sum() == pytest.approx(1)
    check(ours)
    shifted = Mixture(ours.weight, ours.mean + 0.3 * sample.std(), ours.variance, converged=True)
    with pytest.raises(AssertionError):
        check(shifted)


def test_joint_is_weight_times_normal_density() -> None:
    mixture = Mixture(np.array([0.3, 0.7]), np.array([0.0, 2.0]), np.array([1.0, 4.0]), True)
    z = np.array([-1.0, 0.5, 9.0])
    expected = np.log([0.3, 0.7]) + norm.logpdf(z[:, None], [0.0, 2.0], [1.0, 2.0])
    np.testing.assert_allclose(mixture.log_joint(z), expected)


def test_no_component_is_narrower_than_the_floor() -> None:
    values = np.concatenate([np.zeros(1000), np.linspace(1, 2, 100)])
    mixture = fitted(values, 2)
    assert mixture.variance.min() == pytest.approx(1e-6 * values.var())
    assert np.isfinite(log_likelihood(mixture, values))


def test_iterations_end() -> None:
    assert not fitted(np.linspace(0, 1, 500) ** 4, 8).converged
