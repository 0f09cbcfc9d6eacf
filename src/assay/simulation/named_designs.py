"""Designs by the names that papers and people call them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from assay.core.cut_methods import METHODS
from assay.core.design import MODES, Allocation, Design
from assay.errors import DesignError, InputError, did_you_mean
from assay.simulation.shared_samples import FIXED

_PAPER_1 = [f"{strata}-{how}" for strata in ("equal", "perc") for how in ("uni", "pps", "opt")]
_PAPER_2 = [
    f"{strata}-{how}"
    for strata in ("sqrt", "cbrt", "wtmn", "km", "gmm", "eqsz", "eqwd")
    for how in ("pro", "equ", "opt-a1", "opt-a2")
]

DESIGN_NAMES: tuple[str, ...] = (*MODES, "random", *_PAPER_1, *_PAPER_2)

SEVERAL_DESIGNS: tuple[str, ...] = (*FIXED, "joint")
"""For several targets: paper 3's, and what a campaign does."""


def named_design(name: str, *, bins: int | None = None) -> Design:
    """Return the design of a name.

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
    """Return the design of a name for several targets; None for one of paper 3's as published.

    ``recycle`` is what a campaign by paper 3 does, which does not know its rates beforehand.

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
    """Return the designs for one metric where none is named, by what its goal has."""
    if at_least:
        return ["guaranteed"]
    # OPT-A2 as published estimates a spread of zero from few labels and stops at once.
    return ["default", "perc-opt", "km-opt-a2"] if budget else ["default", "perc-opt"]


def names_of(designs: Sequence[str] | Mapping[str, Design]) -> list[str]:
    """Return the names of designs that were asked for, each once."""
    if isinstance(designs, str):
        raise InputError(f"designs must be several names, got {designs!r}", hint=f"[{designs!r}]")
    if isinstance(designs, Mapping):
        return list(designs)
    return list(dict.fromkeys(str(name).strip().lower() for name in designs))
