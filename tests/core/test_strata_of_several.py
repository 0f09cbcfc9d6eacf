import numpy as np
import pytest

from assay.core.cells import Heap, count_cells, count_parts, cut_heaps, merge_cells, profile_heaps
from assay.core.cuts import Cuts
from assay.core.strata import Strata
from assay.core.targets import refuse_bad_names
from assay.errors import AssayError, DesignError, InputError

WHOLE = Cuts(method="perc", points=(), owner=(0,))
HALVES = Cuts(method="perc", points=(0.5,), owner=(0, 1), notes=("a note",))
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
        (Heap((3,), HALVES), Heap((7,), WHOLE), Heap((0,), WHOLE), Heap((1, 2, 5), WHOLE)),
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
