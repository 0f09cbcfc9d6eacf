"""The value in plain sums, as a bundle's program has it, beside the one that is quoted."""

import numpy as np
import pytest

from assay.audit.recompute import Form, Stratum, left_of, quoted
from assay.core.differences import Gap, subtract
from assay.core.estimate import quoted_value
from assay.core.forms import Metric, Ratio, ratio
from assay.core.metrics import METRICS
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats

STRATA = 8


def draw(rng: np.random.Generator) -> tuple[Tallies, Bools]:
    """Draw strata of which some are clean, some without a label, some known to the last item."""
    N = rng.integers(5, 2000, STRATA).astype(np.float64)
    n = np.minimum(rng.integers(0, 60, STRATA), N)
    n[0] = N[0]
    x = np.floor(n * rng.choice([0.0, 0.02, 0.3, 0.9, 1.0], STRATA))
    x[1] = np.floor(n[1] / 2)
    return Tallies(N=N, n=n, x=x), np.arange(STRATA) % 2 == 0


def plain(metric: Metric) -> list[Form]:
    parts = (metric.first, metric.second) if isinstance(metric, Gap) else (metric,)
    return [
        Form(float(part.a0), part.a.tolist(), float(part.b0), part.b.tolist(), *classes(part))
        for part in parts
        if isinstance(part, Ratio)
    ]


def classes(part: Ratio) -> tuple[float, ...]:
    return () if part.both is None else (part.both.items, part.both.power, part.both.shift)


def strata_of(tallies: Tallies) -> list[Stratum]:
    each = zip(tallies.N.tolist(), tallies.n.tolist(), tallies.x.tolist(), strict=True)
    return [Stratum(N, n, x, left_of(N, n)) for N, n, x in each]


def metrics_of(N: Floats, yes: Bools) -> dict[str, Metric]:
    other = np.roll(yes, 3) | (np.arange(STRATA) < 3)
    found: dict[str, Metric] = {name: ratio(name, N, yes) for name in METRICS}
    for name in ("precision", "recall", "f1", "balanced_accuracy", "matthews_correlation"):
        found[f"{name} - {name}"] = subtract(ratio(name, N, yes), ratio(name, N, other))
    return found


@pytest.mark.parametrize("explored", [True, False])
@pytest.mark.parametrize("stops", [True, False])
def test_plain_sums_give_the_value_that_is_quoted(explored: bool, stops: bool) -> None:
    for seed in range(40):
        tallies, yes = draw(np.random.default_rng(seed))
        for name, metric in metrics_of(tallies.N, yes).items():
            right = quoted_value(tallies, metric, replacement=False, explored=explored, stops=stops)
            values = quoted(plain(metric), strata_of(tallies), explored=explored, stops=stops)
            assert min(abs(value - right) for value in values) < 1e-12, (seed, name)


@pytest.mark.parametrize(("explored", "stops"), [(True, False), (False, True)])
def test_it_is_not_the_share_of_yes(explored: bool, stops: bool) -> None:
    """The check above has something to tell apart."""
    moved = []
    for seed in range(10):
        tallies, yes = draw(np.random.default_rng(seed))
        forms, strata = plain(ratio("recall", tallies.N, yes)), strata_of(tallies)
        share, *_ = quoted(forms, strata, explored=False, stops=False)
        value, *_ = quoted(forms, strata, explored=explored, stops=stops)
        moved.append(abs(value - share))
    assert max(moved) > 1e-3
