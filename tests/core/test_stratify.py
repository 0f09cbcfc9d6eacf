"""From predictions and a goal to strata: nothing is lost that a target is about."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from assay.campaign.prior_labels import chance_of_spread
from assay.campaign.random_labels import bins_for, groups_with_labels
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.strata import Strata
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import parse_targets
from assay.core.types import Floats
from assay.simulation import Population
from tests.joint_population import Made, counted, every_target, make, step


def strata_for(made: Made, metrics: list[str], design: Design | None = None) -> Strata:
    goal = Goal(targets=parse_targets(metrics, made.names), budget=1)
    return cell_strata(ensemble(made), goal, design or Design())


def ensemble(made: Made, *, scored: bool = True) -> Population:
    scores = {"a": np.random.default_rng(0).random(made.truth.size)} if scored else {}
    return Population(y_true=made.truth, y_pred=made.said, y_score=scores)


def check_exact(made: Made, metrics: list[str]) -> None:
    """Label everything that is in the strata, and compare with scikit-learn."""
    goal = Goal(targets=parse_targets(metrics, made.names), budget=1)
    population = ensemble(made)
    strata = cell_strata(population, goal, Design())
    outcomes = population.outcomes(strata)
    for view in joint_of(Design(), goal, strata).views:
        value = float(view.metric.value(view.gather(outcomes)))
        assert value == pytest.approx(made.exact(view.name), abs=1e-12), view.name


def test_a_target_alone_is_exact_on_its_own_strata() -> None:
    for metric in every_target("abc"):
        check_exact(make(11, size=600, classifiers=3, heaps=None), [metric])


def test_targets_together_are_exact_too() -> None:
    made = make(12, size=600, classifiers=4, heaps=None)
    check_exact(made, ["accuracy:a - accuracy:b", "precision:c"])
    check_exact(made, every_target(made.names))


def test_precision_differences_are_exact_where_both_say_yes_equally_often() -> None:
    item = np.arange(2000)
    said = {"a": item < 1000, "b": (item >= 800) & (item < 1800)}
    truth = np.random.default_rng(13).random(2000) < 0.4
    check_exact(counted(said, truth), ["precision:a - precision:b"])


@pytest.mark.parametrize(
    ("metrics", "needed"),
    [
        (["precision:a"], lambda code: code & 1),
        (["precision:a", "precision:c"], lambda code: code & 5),
        (["false_omission_rate:b"], lambda code: not code & 2),
        (["recall:a"], lambda _: True),
        (["precision:a", "prevalence"], lambda _: True),
    ],
)
def test_items_that_no_target_needs_are_in_no_stratum(
    metrics: list[str], needed: Callable[[int], bool]
) -> None:
    made = make(14, size=3000, classifiers=3, heaps=None)
    strata = strata_for(made, metrics)
    wanted = {code: items for code, items in ensemble(made).cells().items() if needed(code)}
    found = dict.fromkeys(wanted, 0)
    for _, code, items in strata.parts:
        found[code] += items
    assert found == wanted


def test_a_large_cell_is_cut_by_score_as_finely_as_pays() -> None:
    """Cells of 60%, 30%, 8% and 2% of the yes-set of a."""
    item = np.arange(10_000)
    b, c = (item < 6000) | (item >= 9800), item >= 9000
    said = {"a": item >= 0, "b": b, "c": c}
    made = counted(said, item % 3 == 0)

    def strata_of_each_cell(design: Design, *, scored: bool = True) -> dict[int, int]:
        goal = Goal(targets=parse_targets(["precision:a"], made.names), budget=1)
        strata = cell_strata(ensemble(made, scored=scored), goal, design)
        codes = [code for _, code, _ in strata.parts]
        return {code: codes.count(code) for code in sorted(set(codes))}

    assert strata_of_each_cell(Design()) == {0b001: 4, 0b011: 4, 0b101: 2, 0b111: 1}
    assert strata_of_each_cell(Design(bins=2)) == {0b001: 2, 0b011: 2, 0b101: 2, 0b111: 1}
    assert set(strata_of_each_cell(Design(), scored=False).values()) == {1}


def test_no_card_is_dealt_on_which_the_compared_classifiers_agree() -> None:
    made = make(15, size=2000, classifiers=2, heaps=None)
    goal = Goal(targets=parse_targets(["accuracy:a - accuracy:b"], made.names, within=0.02))
    strata = cell_strata(ensemble(made), goal, Design())
    joint = joint_of(Design(), goal, strata)
    state = joint.begin()
    _, cards = step(joint, state, asked=50)
    dealt_to = {strata.part_code[p] for p in np.flatnonzero(cards[strata.part_stratum])}
    assert dealt_to == {0b01, 0b10}


def test_cells_of_a_rare_yes_stand_alone_beside_a_target_of_all_items() -> None:
    """Each of a and b says yes to 0.3% of the items; both to two thirds of these."""
    item = np.arange(100_000)
    made = counted({"a": item < 300, "b": (item >= 100) & (item < 400)}, item % 2 == 0)
    strata = strata_for(made, ["precision:a", "precision:b", "prevalence"])
    assert [heap.codes for heap in strata.heaps] == [(0,), (1,), (2,), (3,)]
    # Nothing but prevalence sees them: 0.4% of what it is about.
    assert [heap.codes for heap in strata_for(made, ["prevalence"]).heaps] == [(0,), (1, 2, 3)]


def test_bins_grow_with_the_labels_and_keep_25_each() -> None:
    bins = np.array([bins_for(n) for n in range(5000)])
    assert bins.min() == 1
    assert (np.diff(bins) >= 0).all()
    labels = np.arange(5000)
    assert (labels[bins > 1] / bins[bins > 1] >= 25).all()


def test_groups_join_what_has_no_labels_and_never_cross_layers() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        layer = np.sort(rng.integers(0, 2, 9))
        n = rng.integers(0, 3, 9)
        group = groups_with_labels(n, layer)
        assert (np.diff(group, prepend=0) <= 1).all()
        assert (np.diff(group) >= 0).all()
        for number in np.unique(group):
            inside = group == number
            assert len(set(layer[inside])) == 1
            alone = inside.sum() == (layer == layer[inside][0]).sum()
            assert n[inside].sum() > 0 or alone
            assert (n[inside] > 0).sum() <= 1


def test_the_chance_is_that_of_the_chi_square_test() -> None:
    n = np.array([30.0, 22.0, 18.0, 30.0])
    endless = np.full(4, 1e12)
    expected = stats.chisquare(n).pvalue
    assert chance_of_spread(endless, n, np.zeros(4, dtype=np.int64)) == pytest.approx(expected)
    both = chance_of_spread(np.tile(endless, 2), np.tile(n, 2), np.repeat([0, 1], 4))
    assert both == pytest.approx(stats.chi2.sf(2 * stats.chisquare(n).statistic, 6))
    assert chance_of_spread(endless[:1], n[:1], np.zeros(1, dtype=np.int64)) == 1.0
    assert chance_of_spread(n, n, np.zeros(4, dtype=np.int64)) == 1.0  # everything was drawn


def test_random_samples_are_doubted_as_often_as_the_chance_says() -> None:
    """4,000 samples: 0.05 ± 0.014 (four standard errors), wrong once in 15,000 runs."""
    rng = np.random.default_rng(1)
    size, layer = np.array([400, 300, 300]), np.zeros(3, dtype=np.int64)

    def share_doubted(drawn: Floats) -> float:
        found = [chance_of_spread(size.astype(np.float64), n, layer) for n in drawn]
        return float((np.array(found) < 0.05).mean())

    def check(drawn: Floats) -> None:
        assert share_doubted(drawn) == pytest.approx(0.05, abs=0.014)

    check(rng.multivariate_hypergeometric(size, 300, 4000).astype(np.float64))
    with pytest.raises(AssertionError):  # samples that prefer the first stratum
        check(rng.multinomial(300, [0.5, 0.25, 0.25], 4000).astype(np.float64))
