import copy
import json
import pickle
from collections.abc import Mapping, Sequence
from itertools import permutations, product
from math import isclose

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from assay.core.answers import (
    Agreement,
    Answer,
    agreement_of,
    answers_to,
    find_answer,
    parse_answer,
    parse_answers,
)
from assay.core.differences import subtract
from assay.core.forms import Metric, Ratio, ratio
from assay.core.metrics import METRICS
from assay.core.stopping import Reason, hold_back
from assay.core.tallies import Tallies
from assay.core.types import Floats
from assay.core.unjudged import counted_at_worst, least_to_settle, movement, swing
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.errors import LabelConflictError, LabelError

Ratings = Sequence[Mapping[str, str]]
WORDS = ("yes", "no", "cannot judge")

# Fleiss (1971), Table 1: 30 patients, 6 psychiatrists each, 5 diagnoses; the paper has 0.430, and
# R's irr::kappam.fleiss(diagnoses) 0.4302445.
PSYCHIATRISTS = """
    444444 222555 233335 555555 222444 113333 333355 113334 114444 555555
    144444 124444 222333 144444 224445 333335 111455 111112 224444 133555
    555555 244444 224555 114444 144445 222224 111155 224444 133333 555555
"""


def by_place(said: Sequence[str]) -> dict[str, str]:
    return {f"rater {place}": each for place, each in enumerate(said)}


def random_ratings(rng: np.random.Generator, reviewers: int) -> Ratings:
    """Items with a leaning each, so that there is something to agree on; some reviewed once."""
    items = []
    for _ in range(rng.integers(2, 9)):
        leaning = rng.choice(WORDS)
        who = rng.permutation(reviewers)[: rng.integers(1, reviewers + 1)]
        said = {str(w): str(leaning if rng.random() < 0.6 else rng.choice(WORDS)) for w in who}
        items.append(said)
    return items


def brute_force(ratings: Ratings) -> tuple[float, float]:
    """Return P and Fleiss' P_e from their meaning: draw items, draw reviewers, compare."""
    shared = [list(item.values()) for item in ratings if len(item) > 1]
    alike = [[a == b for a, b in permutations(item, 2)] for item in shared]
    apart = [[a == b for a, b in product(one, two)] for one, two in product(shared, shared)]
    mean_of_means = [float(np.mean([np.mean(each) for each in pairs])) for pairs in (alike, apart)]
    return mean_of_means[0], mean_of_means[1]


def test_cohens_kappa_is_scikit_learns() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        ann = rng.choice(WORDS, size=30, p=[0.6, 0.3, 0.1])
        bob = np.where(rng.random(30) < 0.7, ann, rng.choice(WORDS, size=30))
        found = agreement_of([{"ann": a, "bob": b} for a, b in zip(ann, bob, strict=True)])
        assert found.kind == "Cohen"
        assert found.raw == pytest.approx((ann == bob).mean())
        assert found.kappa == pytest.approx(cohen_kappa_score(ann, bob))


def test_fleiss_kappa_of_his_psychiatrists() -> None:
    found = agreement_of([by_place(each) for each in PSYCHIATRISTS.split()])
    assert (found.items, found.reviewers) == (30, 6)
    assert found.kappa == pytest.approx(0.4302445, abs=5e-8)


def test_unequal_numbers_of_ratings_as_their_meaning_says() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        ratings = random_ratings(rng, reviewers=4)
        found = agreement_of(ratings)
        if found.kind != "Fleiss":
            continue
        raw, by_chance = brute_force(ratings)
        assert found.raw == pytest.approx(raw)
        if found.kappa is None:
            assert by_chance == pytest.approx(1.0)
            continue
        assert found.kappa == pytest.approx((raw - by_chance) / (1 - by_chance))


@pytest.mark.parametrize(("agreed", "n"), [(0, 7), (7, 7), (3, 7), (95, 100)])
def test_the_interval_is_the_exact_one(agreed: int, n: int) -> None:
    found = agreement_of([{"a": "yes", "b": "yes" if i < agreed else "no"} for i in range(n)])
    exact = binomtest(agreed, n).proportion_ci(0.95, method="exact")
    assert found.interval == pytest.approx((exact.low, exact.high))
    wilson = binomtest(agreed, n).proportion_ci(0.95, method="wilson")
    assert found.interval != pytest.approx((wilson.low, wilson.high))


def test_where_there_is_nothing_to_say() -> None:
    assert agreement_of([]) == Agreement(0, 0)
    assert agreement_of([{"ann": "yes"}, {"bob": "no"}]) == Agreement(0, 0)
    same = agreement_of([{"ann": "yes", "bob": "yes"}] * 3)
    assert (same.raw, same.kappa, same.kind) == (1.0, None, "Cohen")


TOPICS = Vocabulary(
    ("math", "Physics", "q-bio", "10", "007"), aliases={"mathematics": "math", "bio": "q-bio"}
)


@given(st.text(max_size=20))
def test_equal_answers_are_one_object(text: str) -> None:
    answer = Answer(text)
    assert answer is Answer(str(answer)) is Answer(text + "") is copy.deepcopy([answer])[0]
    assert answer is copy.copy(answer) is pickle.loads(pickle.dumps(answer))
    assert answer == text
    assert hash(answer) == hash(text)
    assert type(answer.value) is str
    assert json.loads(json.dumps({answer: answer})) == {text: text}


def test_what_is_judged_and_what_agrees() -> None:
    assert [answer.outcome for answer in answers_to()] == [True, False, None, None]
    assert [answer.judged for answer in answers_to()] == [True, True, False, False]
    assert Answer.BROKEN.category is Answer.CANNOT_JUDGE.category is Answer.CANNOT_JUDGE
    answers = answers_to(TOPICS)
    assert [answer.judged for answer in answers] == [True] * 6 + [False] * 2
    assert {answer.outcome for answer in answers} == {None}
    assert [answer.category for answer in answers[:6]] == list(answers[:6])


SAID: list[tuple[object, str]] = [
    ("math", "math"),
    (" MATH ", "math"),
    ("Mathematics", "math"),
    ("physics", "Physics"),
    ("bio", "q-bio"),
    (10, "10"),
    (10.0, "10"),
    (np.int64(10), "10"),
    (np.float32(10), "10"),
    ("10.00", "10"),
    (7, "007"),  # as a spreadsheet writes it
    ("None of these", "none of these"),
    ("none_of_these", "none of these"),
    ("?", "cannot judge"),
    ("Cannot Judge", "cannot judge"),
    ("broken", "broken"),
]


@pytest.mark.parametrize(("value", "answer"), SAID)
def test_classes_by_name_alias_and_number(value: object, answer: str) -> None:
    assert parse_answer(value, TOPICS) is Answer(answer)


@pytest.mark.parametrize(
    "value", ["yes", "no", "1", True, 1, 0, None, "", float("nan"), "skip", b"x"]
)
def test_yes_and_no_are_no_classes_of_others(value: object) -> None:
    with pytest.raises(LabelError, match="is not an answer"):
        parse_answer(value, TOPICS)


def test_the_nearest_class_is_named() -> None:
    with pytest.raises(LabelError) as refused:
        parse_answers({"a": "math", "b": "phisics"}, "string", TOPICS)
    assert refused.value.hint == "did you mean 'Physics'?"
    assert "5 classes: math, Physics, q-bio, 10, 007" in refused.value.details
    with pytest.raises(LabelConflictError, match="two answers, math and q-bio"):
        parse_answers([("a", "math"), ("a", "bio")], "string", TOPICS)


def test_a_class_may_have_a_name_that_means_something_elsewhere() -> None:
    flags = Vocabulary(("True", "False", "unknown", "1", "?", "nan", "None"))
    assert parse_answer(True, flags) is Answer("True")
    assert parse_answer("TRUE", flags) is Answer("True")
    assert parse_answer(1, flags) is Answer("1")
    assert parse_answer("?", flags) is Answer("?")
    assert parse_answer("nan", flags) is Answer("nan")
    assert find_answer(float("nan"), flags) is find_answer(None, flags) is None
    assert find_answer("0", flags) is None


def test_two_classes_that_are_the_same_number_are_told_apart_by_their_texts() -> None:
    versions = Vocabulary(("1", "1.0", "2"))
    assert parse_answer("1.0", versions) is Answer("1.0")
    assert parse_answer(1, versions) is Answer("1")
    assert find_answer("1.00", versions) is None
    assert parse_answer("2.0", versions) is Answer("2")


def test_yes_and_no_are_what_they_were() -> None:
    yes: list[object] = [True, 1, 1.0, "yes", "Y", " true", "T", "1", "1.0", np.True_, np.int8(1)]
    no: list[object] = [False, 0, 0.0, "no", "N", "false", "f", "0", "0.0", np.False_, np.float32()]
    assert {parse_answer(value) for value in yes} == {Answer.YES}
    assert {parse_answer(value) for value in no} == {Answer.NO}
    for value in ("none of these", "none_of_these", None, 2, float("nan"), "", "positive"):
        assert find_answer(value, YES_OR_NO) is None


@pytest.mark.parametrize("metric", METRICS)
def test_the_worst_case_is_that_of_all_possible_answers(metric: str) -> None:
    N, yes = np.array([50.0, 30.0, 20.0]), np.array([True, True, False])
    n, x, u = np.array([5.0, 4.0, 6.0]), np.array([3.0, 4.0, 1.0]), np.array([2.0, 0.0, 1.0])
    form = ratio(metric, N, yes)
    values = [float(form.value(N * rates)) for rates in every_way(n, x, u)]
    low, high = swing(Tallies(N, n, x, u), form)
    assert (float(low), float(high)) == pytest.approx((min(values), max(values)))
    now = float(form.value(N * x / n))
    farthest = max(abs(value - now) for value in values)
    assert float(movement(Tallies(N, n, x, u), form)) == pytest.approx(farthest)
    assert float(movement(Tallies(N, n, x), form)) == 0


def every_way(n: Floats, x: Floats, u: Floats) -> list[Floats]:
    """Return the rates of the strata by every answer that unjudged items might have had."""
    return [(x + more) / (n + u) for more in product(*(range(int(each) + 1) for each in u))]


def forms() -> dict[str, tuple[Metric, Floats]]:
    """Return every metric, and every difference, over strata of which both, one or none say yes."""
    N = np.array([50.0, 30.0, 20.0, 60.0])
    one, two = np.array([True, True, False, False]), np.array([True, False, True, False])
    found: dict[str, tuple[Metric, Floats]] = {m: (ratio(m, N, one), N) for m in METRICS}
    for metric in ("precision", "recall", "f1", "accuracy"):
        first, second = ratio(metric, N, one), ratio(metric, N, two)
        found[f"{metric} of two"] = subtract(first, second), N
        found[f"{metric} of two, the other way"] = subtract(second, first), N
    return found


@pytest.mark.parametrize("name", forms())
def test_no_answer_is_worse_than_the_worst_counts_or_better_than_the_best(name: str) -> None:
    """With all labels known the worst counts are those of some answers, and of the worst."""
    metric, N = forms()[name]
    rng = np.random.default_rng(3)
    for _ in range(20):
        u = rng.integers(0, 3, 4).astype(float)
        n = rng.integers(1, 9, 4).astype(float)
        x = rng.binomial(n.astype(int), rng.random(4)).astype(float)
        values = [float(metric.value(N * rates)) for rates in every_way(n, x, u)]
        against, in_favour = counted_at_worst(Tallies(N, n, x, u), metric, u)
        low, high = (metric.value(N * counted.x / counted.n) for counted in (against, in_favour))
        # A difference of F1s may bend between two answers; how far, `swing` bounds.
        near = 0.02 if "f1 of two" in name else 1e-12
        assert isclose(float(low.min()), min(values), abs_tol=near)
        assert isclose(float(high.max()), max(values), abs_tol=near)
        least, most = swing(Tallies(N, n, x, u), metric)
        assert least <= min(values) + 1e-12
        assert most >= max(values) - 1e-12
        assert (against.n == n + u).all()


@pytest.mark.parametrize("allowed", [0.01, 0.02, 0.05, 0.1])
def test_so_many_must_be_judged_and_not_one_fewer(allowed: float) -> None:
    """One stratum, whose unjudged items turn out like the rest: counted, not by the formula."""
    n, x, u = 160, 120, 40
    form = ratio("precision", np.array([1000.0]), np.array([True]))

    def moves(judged: int) -> float:
        told = Tallies.trusted(
            np.array([1000.0]),
            np.array([n + judged * 1.0]),
            np.array([x + judged * x / n]),
            np.array([u - judged * 1.0]),
        )
        return float(movement(told, form))

    needed = least_to_settle(u, moves(0), allowed)
    assert moves(needed) <= allowed + 1e-12
    assert moves(needed - 1) > allowed
    assert least_to_settle(u, moves(0), moves(0)) == 0


def test_a_goal_that_unjudged_items_could_undo_is_not_met() -> None:
    reason = np.array([Reason.GO_ON, Reason.GOAL_MET, Reason.GOAL_MET, Reason.BUDGET_SPENT])
    moves = np.array([0.5, 0.019, 0.021, 0.5])
    kept = hold_back(reason, could_move=moves, within=0.02)
    assert kept.tolist() == [0, Reason.GOAL_MET, Reason.UNJUDGED, Reason.BUDGET_SPENT]
    asked = hold_back(reason[:2], could_move=moves[:2], within=None, unsettled=np.array([1, 0]) > 0)
    assert asked.tolist() == [Reason.UNJUDGED, Reason.GOAL_MET]


def test_a_difference_of_recalls_may_move_either_way_where_both_say_no() -> None:
    metric, N = forms()["recall of two"]
    assert isinstance(metric, Ratio)
    told = Tallies(N, [9, 9, 9, 9], [5, 5, 5, 3], [0, 0, 0, 2])
    against, _ = counted_at_worst(told, metric, told.u)
    assert against.x.shape == (2, 4)  # as the estimate has it, and the other way round
