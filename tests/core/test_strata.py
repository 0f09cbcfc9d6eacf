import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.core.cut_methods import METHODS
from assay.core.cuts import Cuts
from assay.core.profile import profile_of
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.types import Bools, Floats
from assay.errors import DesignError

ANY_FLOAT = st.floats(allow_nan=False, allow_infinity=False)
HALVES = Cuts(method="equal", points=(0.5,), owner=(0, 1))
NESTED = Cuts(method="gmm", points=(0.2, 0.3), owner=(1, 0, 1), notes=("nested",))
BOTH_SIDES = Strata.of_sides("score", {True: HALVES, False: NESTED}, (3, 4, 5, 6))


def test_layers_follow_each_other() -> None:
    assert BOTH_SIDES.n_strata == 4
    assert BOTH_SIDES.sizes.tolist() == [3, 4, 5, 6]
    assert BOTH_SIDES.says_yes is not None
    assert BOTH_SIDES.says_yes.tolist() == [True, True, False, False]
    assert BOTH_SIDES.notes == ("no: nested",)
    assert BOTH_SIDES.describe() == [
        "yes, score below 0.5",
        "yes, score 0.5 or more",
        "no, score 0.2 to 0.3",
        "no, score below 0.2 and 0.3 or more",
    ]


def test_assign_by_label_and_score() -> None:
    values = np.array([0.1, 0.9, 0.1, 0.2, 0.9])
    predicted = np.array([True, True, False, False, False])
    assert BOTH_SIDES.assign(values, predicted).tolist() == [0, 1, 3, 2, 3]


def test_items_without_a_layer_have_no_stratum() -> None:
    no_only = Strata.of_sides("score", {False: HALVES}, (1, 1))
    values, predicted = np.array([0.9, 0.9]), np.array([True, False])
    assert no_only.assign(values, predicted).tolist() == [-1, 1]


def test_a_layer_may_straddle_the_labels() -> None:
    strata = Strata.of_sides("margin", {None: NESTED}, (1, 1))
    assert strata.says_yes is None
    assert strata.describe() == ["margin 0.2 to 0.3", "margin below 0.2 and 0.3 or more"]
    assert strata.notes == ("nested",)
    assert strata.assign(np.array([0.2, 0.9]), np.array([True, False])).tolist() == [0, 1]


@given(
    # Of the last, many share a cell.
    st.sampled_from([ANY_FLOAT, st.floats(0, 1), st.floats(0.5, 0.51)]).flatmap(
        lambda scores: arrays(np.float64, 40, elements=scores)
    ),
    arrays(np.bool_, 40),
    st.sampled_from(list(METHODS)),
    st.integers(1, 20),
    st.booleans(),
)
def test_any_items_are_stratified(
    values: Floats, predicted: Bools, method: str, bins: int, straddle: bool
) -> None:
    if straddle:
        profiles: dict[bool | None, Any] = {None: profile_of(values)}
    else:
        profiles = {
            side: profile_of(values[predicted == side]) for side in np.unique(predicted).tolist()
        }
    strata = stratify(profiles, variable="score", method=method, bins=bins)
    number = strata.assign(values, predicted)
    assert np.bincount(number, minlength=strata.n_strata).tolist() == strata.sizes.tolist()
    if strata.says_yes is not None:
        assert (strata.says_yes[number] == predicted).all()
    assert len(set(strata.describe())) == strata.n_strata
    assert Strata.from_dict(json.loads(json.dumps(strata.to_dict()))) == strata


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("layers",), []),
        (("layers",), None),
        (("layers",), [7]),
        (("variable",), ...),
        (("layers", 0, "side"), "yes"),
        (("layers", 0, "side"), False),
        (("layers", 0, "side"), None),
        (("layers", 0, "sizes"), [3]),
        (("layers", 0, "sizes"), [3, 0]),
        (("layers", 0, "sizes"), [3, 1.5]),
        (("layers", 0, "cuts"), {}),
        (("layers", 0, "cuts", "points"), ["x"]),
        (("layers", 0, "cuts", "points"), [10**400]),
        (("layers", 0, "cuts", "owner"), [0, 1.0]),
    ],
)
def test_stored_strata_that_cannot_be_read(path: tuple[Any, ...], value: Any) -> None:
    stored: Any = BOTH_SIDES.to_dict()
    assert Strata.from_dict(stored) == BOTH_SIDES
    *parents, last = path
    place = stored
    for key in parents:
        place = place[key]
    place[last] = value
    if value is ...:
        del place[last]
    with pytest.raises(DesignError):
        Strata.from_dict(stored)


def sides(*, reversed_scores: bool) -> tuple[Any, Any]:
    """Profiles of 50 items called yes and 5,000 called no, at a threshold of 0.9."""
    rng = np.random.default_rng(6)
    yes, no = 0.9 + 0.1 * rng.random(50), 0.9 * rng.random(5000)
    sign = -1 if reversed_scores else 1
    return profile_of(sign * yes, "margin"), profile_of(sign * no, "margin")


@pytest.mark.parametrize("reversed_scores", [False, True])
def test_depth_looks_from_each_side_towards_the_threshold(reversed_scores: bool) -> None:
    """The smallest no-stratum is the one nearest to yes, whichever way the scores run."""
    yes, no = sides(reversed_scores=reversed_scores)
    strata = stratify({True: yes, False: no}, variable="score", method="depth", bins=6)
    of_yes, of_no = (strata.sizes[strata.part_code == code].tolist() for code in (1, 0))
    assert of_no == sorted(of_no, reverse=not reversed_scores)
    assert max(of_no) > 10 * min(of_no)
    assert sum(of_no) == 5000
    assert max(of_yes) - min(of_yes) <= 2  # the others are many: nearly of equal size
    # Nearest to the threshold first, the same whichever way they run.
    other = stratify(
        dict(zip((True, False), sides(reversed_scores=not reversed_scores), strict=True)),
        variable="score",
        method="depth",
        bins=6,
    )
    assert other.sizes[other.part_code == 0].tolist() == of_no[::-1]


def test_auto_is_perc_of_one_side_and_half_as_many_by_depth_of_each_of_two() -> None:
    yes, no = sides(reversed_scores=False)
    both = {True: yes, False: no}

    def cut_by(profiles: dict[Any, Any], method: str, bins: int) -> Strata:
        return stratify(profiles, variable="score", method=method, bins=bins)

    assert cut_by({True: yes}, "auto", 16) == cut_by({True: yes}, "perc", 16)
    assert cut_by({None: no}, "auto", 16) == cut_by({None: no}, "perc", 16)
    assert cut_by(both, "auto", 16) == cut_by(both, "depth", 8)
    assert cut_by(both, "auto", 16).n_strata == 16
    assert cut_by(both, "auto", 1) == cut_by(both, "depth", 1)
    assert cut_by(both, "auto", 16) != cut_by(both, "depth", 16)
