"""A Gaussian mixture of scores on a line.

References
----------
.. [1] Dempster, Laird and Rubin (1977). Maximum likelihood from incomplete data via the EM
   algorithm. JRSS B 39, 1-38.
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.core.clustering import kmeans
from assay.core.types import Floats, Ints

_MOST_ITERATIONS = 500
_TOLERANCE = 1e-5  # gain in log-likelihood per item below which the iterations stop
_VARIANCE_FLOOR = 1e-6  # of the variance of all scores; a tie would draw a component to zero width
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Mixture:
    """K Gaussian components.

    Parameters
    ----------
    weight, mean, variance : array, shape (K,)
        The components; the weights have sum 1.
    converged : bool
        Whether the iterations came to rest before the last one allowed.
    """

    weight: Floats
    mean: Floats
    variance: Floats
    converged: bool

    def log_joint(self, z: Floats) -> Floats:
        """Return log(weight_k * density_k(z_i)), shape (M, K)."""
        constant = np.log(np.maximum(self.weight, _TINY)) - 0.5 * np.log(2 * np.pi * self.variance)
        joint: Floats = constant - (z[:, None] - self.mean) ** 2 / (2 * self.variance)
        return joint

    def most_probable(self, z: Floats) -> Ints:
        """Return the number of the most probable component of each score."""
        return np.asarray(np.argmax(self.log_joint(z), axis=1))


def gaussian_mixture(z: Floats, W: Floats, K: int) -> Mixture:
    """Fit a mixture of K Gaussians to weighted scores.

    Parameters
    ----------
    z, W : array, shape (M,)
        Ascending scores, not all equal, and how many items have each.
    K : int
        The number of components, 1 to M.

    Returns
    -------
    Mixture

    Notes
    -----
    Expectation maximisation [1]_ that starts from the exact K-means clusters, so that the same
    scores always give the same mixture: a local optimum, as
    scikit-learn's is. No variance falls below a millionth of that of all scores.

    Examples
    --------
    >>> mixture = gaussian_mixture(np.array([0.0, 0.1, 0.9, 1.0]), np.ones(4), 2)
    >>> mixture.mean.round(2)
    array([0.05, 0.95])
    """
    share = W / W.sum()
    floor = _VARIANCE_FLOOR * float(share @ (z - share @ z) ** 2)
    mixture = _maximise(z, share, np.eye(K)[kmeans(z, W, K)], floor)
    before = -np.inf
    for _ in range(_MOST_ITERATIONS):
        responsibility, likelihood = _expect(mixture, z, share)
        if likelihood - before < _TOLERANCE:
            return replace(mixture, converged=True)
        before = likelihood
        mixture = _maximise(z, share, responsibility, floor)
    return mixture


def _expect(mixture: Mixture, z: Floats, share: Floats) -> tuple[Floats, float]:
    """Return each component's probability given each score, and the mean log-likelihood."""
    joint = mixture.log_joint(z)
    peak = joint.max(axis=1, keepdims=True)
    joint -= peak
    np.exp(joint, out=joint)
    total = joint.sum(axis=1, keepdims=True)
    joint /= total
    return joint, float(share @ (np.log(total) + peak)[:, 0])


def _maximise(z: Floats, share: Floats, responsibility: Floats, floor: float) -> Mixture:
    """Return the mixture that is the most likely for given responsibilities."""
    part = share[:, None] * responsibility
    weight = part.sum(axis=0)
    divisor = np.maximum(weight, _TINY)
    mean = z @ part / divisor
    variance = np.einsum("ik,ik->k", part, (z[:, None] - mean) ** 2) / divisor
    return Mixture(weight, mean, np.maximum(variance, floor), converged=False)
