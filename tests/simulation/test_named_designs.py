"""Designs by name."""

import pytest

from assay.core.design import MODES, Design
from assay.errors import DesignError
from assay.simulation import DESIGN_NAMES, named_design


def test_there_are_the_papers_and_five_of_ours() -> None:
    assert len(DESIGN_NAMES) == len(set(DESIGN_NAMES)) == 5 + 2 * 3 + 7 * 4
    assert {"default", "random", "equal-uni", "perc-opt", "km-opt-a2", "eqwd-equ"} <= set(
        DESIGN_NAMES
    )


@pytest.mark.parametrize("name", DESIGN_NAMES)
def test_every_name_is_a_design_in_any_case(name: str) -> None:
    design = named_design(name)
    assert named_design(f" {name.upper()} ") == design
    if name not in (*MODES, "random"):
        strata, _, allocation = name.partition("-")
        known = {"eqsz": "perc", "eqwd": "equal"}.get(strata, strata)
        assert (design.strata, design.allocation) == (known, allocation)
        assert design.variable == ("score" if strata in ("perc", "equal") else "confidence")


def test_bins() -> None:
    assert named_design("default", bins=3) == Design(bins=3)
    assert named_design("centred", bins=3) == Design(bins=3, stop="centred")
    assert named_design("random", bins=3) == Design.simple_random()
    assert named_design("perc-opt").bins == 4
    assert named_design("perc-opt", bins=5) == Design.bennett_carvalho(bins=5)
    assert named_design("perc-opt", bins=5).round_size == 10
    assert named_design("gmm-equ", bins=5).bins == 5


def test_a_near_miss_is_hinted_at() -> None:
    with pytest.raises(DesignError) as told:
        named_design("km-opta2")
    assert told.value.hint == "did you mean 'km-opt-a2'?"
