"""The study's populations: their rates, their limits, and that random sampling sees no shape."""

from pathlib import Path

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.types import Floats
from assay.errors import InputError
from studies.coverage.populations import (
    MONOTONE,
    NO_SIGNAL,
    POCKET,
    SHAPES,
    Subject,
    classifiers,
    least_share,
    of_classifier,
    of_shape,
    random_subject,
    ranks,
    scaled,
    spread_errors,
)

RANKS = ranks(100_000)


def check_rates(rates: Floats, error: float) -> None:
    assert rates.mean() == pytest.approx(error, rel=1e-9)
    assert rates.min() >= 0
    assert rates.max() <= 1


@pytest.mark.parametrize("error", [0.5, 0.3, 0.03, 0.001])
@pytest.mark.parametrize("shape", SHAPES)
def test_rates_have_the_mean_and_none_is_above_1(shape: str, error: float) -> None:
    rates = SHAPES[shape](RANKS, error)
    check_rates(rates, error)
    falls = bool((np.diff(rates) <= 0).all())
    assert falls == (shape in (*MONOTONE, NO_SIGNAL))
    with pytest.raises(AssertionError):
        check_rates(rates * 1.001, error)


def test_rates_are_in_proportion_to_the_shape_where_they_can_be() -> None:
    steep = (1 - RANKS) ** 3
    rates = scaled(steep, 0.3)
    below = rates < 1
    assert 0 < below.mean() < 1
    assert np.ptp(rates[below] / steep[below]) == pytest.approx(0, abs=1e-9)


def test_half_of_the_errors_lie_in_the_pocket_as_long_as_they_fit() -> None:
    inside = (RANKS > 0.90) & (RANKS < 0.93)
    for error, share in ((0.05, 0.5), (0.5, 0.03 * 0.9 / 0.5)):
        rates = SHAPES[POCKET](RANKS, error)
        assert rates[inside].sum() / rates.sum() == pytest.approx(share, rel=1e-6)
        assert rates[inside].max() <= 0.9


def test_errors_follow_the_rates_to_within_one_item_anywhere() -> None:
    rates = SHAPES["not monotone"](ranks(5000), 0.1)
    errors = spread_errors(rates)
    assert errors.sum() == 500
    assert np.abs(np.cumsum(errors) - np.cumsum(rates)).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("shape", MONOTONE)
def test_the_limit_is_that_of_many_strata_with_the_best_allocation(shape: str) -> None:
    subject = of_shape(shape, 0.7)
    fine = subject.frame(Design(strata="perc", bins=100))
    random = subject.population.random_variance("precision")
    assert fine.least_variance / random == pytest.approx(subject.limit, rel=0.02)
    # Rates fall with the score, so the isotonic limit of the labelled items is the same.
    assert subject.population.limit("precision") == pytest.approx(subject.limit, rel=0.02)


def test_a_limit_that_an_isotonic_fit_cannot_see() -> None:
    subject = of_shape(POCKET, 0.95)
    assert subject.limit < 0.8 * subject.population.limit("precision")
    assert least_share(np.full(10, 0.2)) == pytest.approx(1.0)


@pytest.mark.parametrize("items", [2_000, 10_000, 1_000_000])
def test_items_are_counted_whatever_their_number(items: int) -> None:
    subject = of_shape("uniform", 0.97, items)
    frame = subject.frame(Design())
    assert subject.items == frame.sizes.sum() == items
    assert frame.value == subject.value == pytest.approx(0.97)
    assert items - frame.outcomes.sum() == pytest.approx(0.03 * items)
    assert frame.strata.n_strata == frame.sizes.size


def test_random_sampling_fares_the_same_on_twins() -> None:
    random = Design.simple_random()
    frames = [of_shape(shape, 0.9).frame(random) for shape in SHAPES]
    assert {of_shape(shape, 0.9).twin for shape in SHAPES} == {NO_SIGNAL}
    assert {(tuple(frame.sizes), tuple(frame.outcomes)) for frame in frames} == {
        ((1_000_000.0,), (900_000.0,))
    }


def test_random_populations_are_all_different_and_all_valid() -> None:
    subjects = [random_subject(number, seed=7) for number in range(24)]
    values = [subject.value for subject in subjects]
    assert len(set(values)) == 24
    assert all(0.499 <= value <= 0.9991 for value in values)
    assert all(0 < subject.limit <= 1 + 1e-9 for subject in subjects)
    assert any(_tied(subject) for subject in subjects)
    assert not all(_tied(subject) for subject in subjects)
    assert random_subject(3, seed=7).value == values[3]
    assert random_subject(3, seed=8).value != values[3]


def _tied(subject: Subject) -> bool:
    """Tell whether scores are too coarse for a thousand strata of the same size."""
    return bool(np.ptp(subject.frame(Design(strata="perc", bins=1000)).sizes) > 0)


def test_classifiers_are_generated_where_no_folder_is_given() -> None:
    first = of_classifier(classifiers(None)[0], "recall")
    assert (first.name, first.items) == ("high accuracy", 100_000)
    assert first.limit == first.population.limit("recall")


def test_a_folder_without_classifiers_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no classifiers in"):
        classifiers(tmp_path)
