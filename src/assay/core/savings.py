"""Savings by other strata: labels that they take, against the strata that there were before.

Both are the labels of the best allocation, in proportion to (sum |gradient_h| N_h S_h)^2 or, of
several targets, the fewest that serve all (`joint_allocation`), with the rates that judged items
show. An item stands for its share of the stratum that it was drawn from, so the rates of the
former strata are weighted. Items of each stratum are drawn again with replacement for the interval
(the bootstrap).

References
----------
.. [1] Brown, Cai and Zhou (2010). Nonparametric regression in exponential families. Annals of
   Statistics 38.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.core.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from assay.core.error_model import Cost

_TIMES = 400
_QUARTER = 0.25  # E sqrt(x + 1/4) is nearest to the root of a Poisson count's mean [1]_
_ENDS = (2.5, 97.5)


@dataclass(frozen=True, eq=False)
class Placed:
    """Strata, and the stratum of each judged item."""

    # Returns the labels that the strata take, by the rate of the outcome in each and the standard
    # deviation there (`Evaluation.fewest`)
    cost: "Cost"
    sizes: Floats  # (H,)
    stratum: Ints  # (n,)

    def least(self, rows: Ints, outcome: Bools, weight: Floats) -> float:
        """Return the labels of the best allocation, by the items of some rows.

        Rates are those of the items' weights, with a quarter of an item of each kind added.

        `rows`, (m,): places among the judged items; one may come several times; `outcome`,
        `weight`, (m,): of these: whether they have the outcome, and what they stand for.
        """
        stratum, number = self.stratum[rows], self.sizes.size
        items = np.bincount(stratum, minlength=number)
        whole = np.bincount(stratum, weight, minlength=number)
        hits = np.bincount(stratum, weight * outcome, minlength=number)
        rate = (hits / np.maximum(whole, 1e-300) * items + _QUARTER) / (items + 2 * _QUARTER)
        return self.cost(rate, np.sqrt(rate * (1 - rate)))


def share_of_labels(
    now: Placed, before: Placed, outcome: Bools, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the labels that strata take as a share of others', and the ends of its interval.

    `outcome`: (n,).

    >>> stratum = np.repeat([0, 1], 50)
    >>> outcome = np.arange(100) < 52
    >>> two, one = np.array([900.0, 100.0]), np.array([1000.0])
    >>> share, low, high = share_of_labels(
    ...     Placed(lambda rate, sd: (two @ sd) ** 2, two, stratum),
    ...     Placed(lambda rate, sd: (one @ sd) ** 2, one, np.zeros(100, dtype=int)),
    ...     outcome, np.random.default_rng(0))
    >>> low < share < high < 1
    True
    """
    stratum = now.stratum
    items = np.bincount(stratum, minlength=now.sizes.size)
    weight = now.sizes[stratum] / items[stratum]
    order = np.argsort(stratum, kind="stable")
    first = (np.cumsum(items) - items)[stratum[order]]

    def share(rows: Ints) -> float:
        new, old = (each.least(rows, outcome[rows], weight[rows]) for each in (now, before))
        return new / old if old > 0 else 1.0

    drawn = []
    for _ in range(_TIMES):
        places = (rng.random(order.size) * items[stratum[order]]).astype(np.int64)
        drawn.append(share(order[first + places]))
    low, high = np.percentile(drawn, _ENDS)
    return share(order), float(low), float(high)
