"""A report's strata: what was found in each, and where on the line of scores it lies."""

from collections.abc import Sequence

import numpy as np

from assay.core.cuts import Cuts
from assay.core.intervals import wilson
from assay.core.strata import Strata
from assay.core.venn import CellStrata
from assay.labelling.estimates import strata_in
from assay.labelling.settings import Settings
from assay.labelling.state import Table
from assay.report.facts import Range, StratumFacts


def is_weighted(strata: Strata | CellStrata) -> bool:
    """Tell whether items count by weight."""
    return isinstance(strata, Strata) and strata.weighted


def outcome_of(strata: Strata | CellStrata) -> str:
    """Return what is counted in a stratum.

    Where strata straddle predicted labels, that is whether the prediction was correct.
    """
    return "correct" if isinstance(strata, Strata) and strata.says_yes is None else "yes"


def interval_of(strata: Strata | CellStrata) -> str:
    """Return how the intervals of the strata's rates are made."""
    wilson = "Wilson 1927, for each stratum by itself"
    # Where items have weights, draws are not items.
    return wilson if is_weighted(strata) else f"{wilson}, cut to what its items leave possible"


def strata_facts(table: Table, confidence: float) -> tuple[StratumFacts, ...]:
    """Return the strata with their rates, and an interval for each rate.

    Parameters
    ----------
    table : Table
    confidence : float
        Of each interval by itself.
    """
    strata, state = table.settings.strata, table.ledger.state
    n, x = map(table.evaluation.by_stratum, (state.tallies.n, state.tallies.x))
    sizes = strata.sizes
    rate = x / np.maximum(n, 1.0)
    low, high = wilson(rate, np.zeros_like(rate), n, confidence)
    if not is_weighted(strata):
        # So many items have the outcome, and so many have not: the labels say so.
        low, high = np.maximum(low, x / sizes), np.minimum(high, (sizes - n + x) / sizes)
    ranges, said = _ranges(table.settings), _said(strata)
    return tuple(
        StratumFacts(
            stratum=row.stratum,
            said_yes=said[h],
            ranges=ranges[h],
            size=row.size,
            share=row.size / int(sizes.sum()) if row.weight is None else row.weight,
            drawn=int(state.dealt[h]),
            labels=row.labels,
            cannot_judge=row.cannot_judge,
            counted=int(n[h]),
            outcomes=int(x[h]),
            rate=float(rate[h]) if n[h] else None,
            low=float(low[h]),
            high=float(high[h]),
        )
        for h, row in enumerate(strata_in(table))
    )


def _said(strata: Strata | CellStrata) -> Sequence[bool | None]:
    if isinstance(strata, Strata) and strata.says_yes is not None:
        return [bool(says) for says in strata.says_yes.tolist()]
    return [None] * strata.n_strata


def _ranges(settings: Settings) -> list[tuple[Range, ...]]:
    strata = settings.strata
    if isinstance(strata, CellStrata):
        return [ranges for heap in strata.heaps for ranges in _of_cuts(heap.cuts)]
    least: dict[bool | None, float | None] = {}
    most: dict[bool | None, float | None] = {}
    if strata.variable == "score":  # the threshold ends what is predicted yes, or no
        least[True] = most[False] = settings.source.columns.get("threshold")
    return [
        ranges
        for layer in strata.layers
        for ranges in _of_cuts(layer.cuts, least.get(layer.side), most.get(layer.side))
    ]


def _of_cuts(
    cuts: Cuts, least: float | None = None, most: float | None = None
) -> list[tuple[Range, ...]]:
    """Return where each stratum of some cuts lies, between the ends that are known.

    Examples
    --------
    >>> _of_cuts(Cuts(method="gmm", points=(0.2, 0.3), owner=(1, 0, 1)), most=0.5)
    [((0.2, 0.3),), ((None, 0.2), (0.3, 0.5))]
    """
    ends = [least, *cuts.points, most]
    owned: list[tuple[Range, ...]] = [()] * cuts.n_strata
    for place, stratum in enumerate(cuts.owner):
        owned[stratum] += ((ends[place], ends[place + 1]),)
    return owned
