"""Designs by their names in papers and in common use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from assay.core.cut_methods import METHODS
from assay.core.design import MODES, Allocation, Design
from assay.core.recycling.route import Route
from assay.core.recycling.samples import (
    Option,
    Overlap,
    Sizes,
    coordinated_sample,
    overlap,
    recycle,
    uniform_sample,
)
from assay.core.types import Ints
from assay.errors import DesignError, InputError, did_you_mean
from assay.simulation.population import Population
from assay.simulation.runs import Runs, stream_of

_PAPER_1 = [f"{strata}-{how}" for strata in ("equal", "perc") for how in ("uni", "pps", "opt")]
_PAPER_2 = [
    f"{strata}-{how}"
    for strata in ("sqrt", "cbrt", "wtmn", "km", "gmm", "eqsz", "eqwd")
    for how in ("pro", "equ", "opt-a1", "opt-a2")
]

DESIGN_NAMES: tuple[str, ...] = (*MODES, "random", *_PAPER_1, *_PAPER_2)

Designs = Sequence[str] | Mapping[str, Design]
"""Names of designs, or designs by name."""
D = TypeVar("D")

FIXED = ("independent", "recycle-sample", "recycle-shuffle", "coordinated")
SEVERAL_DESIGNS: tuple[str, ...] = (*FIXED, "joint")
"""For several targets: paper 3's designs, and a campaign's."""


def named_design(name: str, *, bins: int | None = None) -> Design:
    """Design of a name.

    ``default`` is ``Design()``; ``centred``, ``guaranteed`` and ``fixed`` are its other modes;
    ``random`` is simple random sampling; paper 1's are ``perc-opt`` and the like; paper 2's are
    STRATA-ALLOCATION, ``km-opt-a2`` and the like.

    >>> named_design("perc-opt", bins=4) == Design.bennett_carvalho(bins=4)
    True
    >>> named_design("km-opt-a2").strata
    'km'
    """
    known = str(name).strip().lower()
    if known not in DESIGN_NAMES:
        raise DesignError(
            f"unknown design {name!r}",
            details=f"designs: {', '.join(MODES)}, random, {', '.join(_PAPER_1)}, and paper 2's "
            f"STRATA-ALLOCATION such as km-opt-a2 (strata {', '.join(METHODS)}, eqsz, eqwd; "
            "allocation pro, equ, opt-a1, opt-a2)",
            hint=did_you_mean(known, DESIGN_NAMES),
        )
    if known == "random":
        return Design.simple_random()
    if known in MODES:
        return MODES[known] if bins is None else replace(MODES[known], bins=bins)
    strata, _, how = known.partition("-")
    allocation = cast(Allocation, how)
    if known in _PAPER_1:
        count = 4 if bins is None else bins
        return Design.bennett_carvalho(strata=strata, allocation=allocation, bins=count)
    count = 6 if bins is None else bins
    return Design.kumar_raj(strata=strata, allocation=allocation, bins=count)


def design_of_several(name: str, *, bins: int | None = None) -> Design | None:
    """Design of a name for several targets; None for one of paper 3's as published.

    ``recycle`` is a campaign by paper 3, which does not know its rates beforehand.

    >>> design_of_several("joint", bins=4) == Design(bins=4), design_of_several("coordinated")
    (True, None)
    """
    if name in FIXED:
        return None
    if name == "recycle":
        return Design.recycle()
    if name == "joint" or name in MODES:
        return named_design("default" if name == "joint" else name, bins=bins)
    raise DesignError(
        f"there is no design {name!r} for several classifiers",
        details=f"designs: {', '.join(SEVERAL_DESIGNS)}",
        hint=did_you_mean(name, SEVERAL_DESIGNS) or "what a campaign does is 'joint'",
    )


def usual_designs(*, budget: bool, at_least: bool) -> list[str]:
    """Default designs for one metric, by the fields of its goal."""
    if at_least:
        return ["guaranteed"]
    # OPT-A2 as published estimates a spread of zero from few labels and stops at once.
    return ["default", "perc-opt", "km-opt-a2"] if budget else ["default", "perc-opt"]


def names_of(designs: Designs) -> list[str]:
    """Names of the requested designs, each once."""
    if isinstance(designs, str):
        raise InputError(f"designs must be several names, got {designs!r}", hint=f"[{designs!r}]")
    if isinstance(designs, Mapping):
        return list(designs)
    return list(dict.fromkeys(str(name).strip().lower() for name in designs))


def designs_by_name(
    designs: Designs, make: Callable[[str], D], without: Sequence[str] = ()
) -> dict[str, D | Design]:
    """Collect the requested designs by name: as given, or made from their names."""
    given = designs if isinstance(designs, Mapping) else {}
    names = [name for name in names_of(designs) if name not in without]
    return {name: given[name] if name in given else make(name) for name in names}


# Paper 3's designs for several classifiers, drawn item by item: samples of a fixed size [1]_.
#
# - ``independent``: a random sample of each classifier's yes-set, with replacement, for itself.
# - ``recycle-sample``, ``recycle-shuffle``: one of the parent's yes-set, used again for every other
#   classifier (Algorithm 1 with ``UniformSample`` or ``UniformShuffle``).
# - ``coordinated``: the first cards of one deck, restricted to each yes-set; without replacement.
#
# Metrics other than precision need a random sample of the parent's no-set besides (`route`).
#
# References
# ----------
# .. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``).


_OPTIONS: dict[str, Option] = {
    "recycle-sample": "UniformSample",
    "recycle-shuffle": "UniformShuffle",
}
_WORD = 2**64


class SharedSamples:
    """A design, prepared for repeated draws.

    `design`: one of `FIXED`.
    """

    block = 200  # replications: few enough to report progress

    def __init__(self, population: Population, route: Route, design: str, sizes: Sizes) -> None:
        self._truth = population.truth
        self._route = route
        self._design = design
        self._n = [*sizes.samples.values(), sizes.omission]
        self._sets = [np.flatnonzero(population.says_yes(name)) for name in sizes.samples]
        self._sets.append(np.flatnonzero(~population.says_yes(route.names[0])))
        # Positions of the samples in x: the no-set's last.
        self._places = [*(route.names.index(name) for name in sizes.samples), len(route.names)]
        self._overlaps: list[Overlap] = []
        if design in _OPTIONS and sizes.samples:
            self._overlaps = [overlap(self._sets[0], each) for each in self._sets[1:-1]]

    def draw(self, rng: np.random.Generator) -> list[Ints]:
        """Rows of each sample, in the order of the sizes, the no-set's last."""
        if self._design == "coordinated":
            number = rng.integers(_WORD, size=self._truth.size, dtype=np.uint64)
            return [
                coordinated_sample(rows, number[rows], n)
                for rows, n in zip(self._sets, self._n, strict=True)
            ]
        if self._design in _OPTIONS and self._overlaps:
            option = _OPTIONS[self._design]
            parent, *_, rejected = self._fresh([0, -1], rng)
            children = [
                recycle(parent, sets, n, option=option, rng=rng).sample
                for sets, n in zip(self._overlaps, self._n[1:-1], strict=True)
            ]
            return [parent, *children, rejected]
        return self._fresh(range(len(self._n)), rng)

    def _fresh(self, which: Sequence[int], rng: np.random.Generator) -> list[Ints]:
        return [uniform_sample(self._sets[place], self._n[place], rng) for place in which]

    def replay(self, replications: int, *, key: Sequence[int]) -> Runs:
        """Draw and label the samples this many times on the random stream of `key` and its own."""
        rng = np.random.default_rng(stream_of(self._design, key))
        needs = self._route.needs
        runs = Runs.start(replications, len(needs))
        x = np.zeros((replications, len(self._route.names) + 1))
        scale = np.append(self._route.yes, self._route.no)
        for run in range(replications):
            samples = self.draw(rng)
            runs.labels[run] = _distinct(samples)
            for place, rows in zip(self._places, samples, strict=True):
                if rows.size:
                    x[run, place] = scale[place] * self._truth[rows].mean()
            for t, needed in enumerate(needs):
                mine = [
                    rows for place, rows in zip(self._places, samples, strict=True) if needed[place]
                ]
                runs.counted[run, t] = _distinct(mine)
        return replace(runs, value=self._route.values(x))


def _distinct(samples: Sequence[Ints]) -> int:
    return np.unique(np.concatenate(samples)).size if samples else 0
