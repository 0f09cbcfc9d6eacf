import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.core.cells import Heap, count_cells, count_parts, cut_heaps, merge_cells, profile_heaps
from assay.core.cut_methods import METHODS
from assay.core.cuts import Cuts
from assay.core.groups import refuse_bad_names
from assay.core.profile import profile_of
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.types import Bools, Floats
from assay.errors import AssayError, DesignError, InputError

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


WHOLE = Cuts(method="perc", points=(), owner=(0,))
IN_HALVES = Cuts(method="perc", points=(0.5,), owner=(0, 1), notes=("a note",))
NAMES = ("cnn", "mve", "logreg")


def _strata(seed: int, classifiers: int, items: int) -> tuple[Strata, np.ndarray, np.ndarray]:
    """Build the strata of random classifiers the whole way, from items."""
    rng = np.random.default_rng(seed)
    truth = rng.random(items)
    says = rng.random((classifiers, items)) < 0.3 * truth + rng.random((classifiers, 1)) / 3
    codes = (says << np.arange(classifiers)[:, None]).sum(axis=0)
    rank = truth.round(3)
    groups = merge_cells({code: n / items for code, n in count_cells(codes).items()})
    heaps = cut_heaps(profile_heaps(rank, codes, groups), groups, [3] * len(groups))
    names = tuple(f"c{k}" for k in range(classifiers))
    return Strata(names, tuple(heaps), count_parts(rank, codes, heaps)), rank, codes


@pytest.mark.parametrize(("classifiers", "items"), [(1, 50), (3, 2_000), (20, 20_000)])
def test_strata_and_parts_hold_every_item_once(classifiers: int, items: int) -> None:
    strata, rank, codes = _strata(classifiers, classifiers, items)
    stratum = strata.assign(rank, codes)
    assert strata.sizes.tolist() == np.bincount(stratum, minlength=strata.n_strata).tolist()
    assert strata.sizes.min() >= 1
    assert strata.part_size.sum() == items
    for place in range(0, len(strata.parts), 97):
        members = (stratum == strata.part_stratum[place]) & (codes == strata.part_code[place])
        assert members.sum() == strata.part_size[place]
    places = [strata.part_of(stratum, code) for stratum, code, _ in strata.parts]
    assert places == list(range(len(strata.parts)))
    assert len(strata.describe()) == strata.n_strata


def test_regrouped_parts_count_what_each_classifier_says_yes_to() -> None:
    strata, _, codes = _strata(8, 12, 5_000)
    for k in range(12):
        said_yes = strata.part_size[strata.part_code >> k & 1 == 1].sum()
        assert said_yes == np.count_nonzero(codes >> k & 1)


def test_what_is_said_of_a_stratum() -> None:
    strata = Strata(
        NAMES,
        (Heap((3,), IN_HALVES), Heap((7,), WHOLE), Heap((0,), WHOLE), Heap((1, 2, 5), WHOLE)),
        ((0, 3, 1), (1, 3, 1), (2, 7, 1), (3, 0, 1), (4, 1, 1), (4, 5, 2)),
    )
    assert strata.describe() == [
        "cnn and mve yes, logreg no; rank below 0.5",
        "cnn and mve yes, logreg no; rank 0.5 or more",
        "cnn, mve and logreg yes",
        "cnn, mve and logreg no",
        "3 cells, 1 to 2 of 3 yes",
    ]
    assert strata.notes == ("cnn and mve yes, logreg no: a note",)


def test_many_classifiers_are_not_named() -> None:
    names = tuple(f"c{k}" for k in range(20))
    heaps = (Heap((0b1011,), WHOLE), Heap((1, 2), WHOLE))
    strata = Strata(names, heaps, ((0, 11, 9), (1, 1, 1)))
    assert strata.describe() == ["3 of 20 yes", "2 cells, 1 of 20 yes"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "0 classifiers"),
        ([f"c{k}" for k in range(63)], "63 classifiers"),
        (["cnn", "precision:cnn"], "'precision:cnn'"),
        (["the cnn"], "'the cnn'"),
        ([""], "''"),
        ([7], "7"),
        (["cnn", "mve", "cnn"], "two classifiers are called 'cnn'"),
    ],
)
def test_names_that_cannot_stand_in_a_metric(names: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        refuse_bad_names(names)


def test_names_that_can() -> None:
    refuse_bad_names([f"Model_{k}.v-2" for k in range(62)])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("heaps", [{"codes": [1.5], "cuts": WHOLE.to_dict()}]),
        ("heaps", [{"codes": [1]}]),
        ("parts", [[0, 1]]),
        ("parts", 3),
        ("classifiers", None),
        ("classifiers", [["a"], ["b"], ["c"]]),
    ],
)
def test_stored_strata_that_are_damaged(key: str, value: object) -> None:
    stored = Strata(NAMES, (Heap((1,), WHOLE),), ((0, 1, 1),)).to_dict()
    with pytest.raises(AssayError):
        Strata.from_dict({**stored, key: value})
    stored.pop(key)
    with pytest.raises(DesignError, match="cannot be read"):
        Strata.from_dict(stored)
