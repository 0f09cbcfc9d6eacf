"""What the core refuses: values that nobody can give, options beside others, and odd JSON."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from assay.core.allocation import round_to_total
from assay.core.cells import Heap, assign_strata, profile_heaps
from assay.core.cut_methods import canonical_method, cut
from assay.core.cuts import Cuts
from assay.core.deck import digest, mix
from assay.core.forms import ratio
from assay.core.goal import Asked
from assay.core.profile import Profile, as_scores, profile_of, score_range
from assay.core.recycling.samples import sample_size
from assay.core.rules import RULES, Rule, refuse
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.tallies import Tallies
from assay.core.tally import cells_of
from assay.core.types import Ints, Words, read_json
from assay.errors import AssayError, DesignError
from assay.options import options_of
from assay.predictions import Columns

NAN, INF = float("nan"), float("inf")
ONE, TWO, NONE = np.array([1]), np.array([1, 2]), np.array([])
WHOLE, HALVES = Cuts("perc", (), (0,)), Cuts("equal", (0.5,), (0, 1))
NAMES = ("cnn", "mve", "logreg")
SIDES = Strata.of_sides("score", {True: HALVES, False: HALVES}, (3, 4, 5, 6))
SCORES, COUNTS = np.array([0.1, 0.5, 0.9]), np.array([2, 1, 4])
CELLS = cells_of(np.array([0.1, 0.9]), np.zeros(2, dtype=bool), digest([1, 2]))


def cells(**changed: Any) -> Profile:
    return Profile(**{"low": SCORES, "high": SCORES, "mean": SCORES, "count": COUNTS} | changed)


def counted(N: Any, n: Any, x: Any) -> Tallies:
    return Tallies(N=N, n=n, x=x)


def strata(heaps: Any, *parts: tuple[int, int, int]) -> Strata:
    return Strata(NAMES, heaps, parts)


def assigned(values: Any, predicted: Any) -> Ints:
    return SIDES.assign(np.array(values), np.array(predicted))


def profiled(*heaps: tuple[int, ...]) -> list[Profile]:
    return profile_heaps(np.linspace(0, 1, 4), np.array([0, 1, 0, 1]), heaps)


GUARDS: list[tuple[Callable[[], object], str]] = [
    *((lambda bad=bad: round_to_total([bad, 1.0], 5, [9, 9]), "finite") for bad in (NAN, INF, -1)),
    # Cells and heaps
    (lambda: profiled((0, 1), (1,)), "code 1 is in two heaps"),
    (lambda: profiled((0,), (3,)), "no scores to profile"),
    *((lambda it=it: Heap(it, WHOLE), "ascending") for it in ((), (2, 1), (1, 1), (-1,))),
    (lambda: assign_strata(np.zeros(2), cast(Ints, NONE), [Heap((0,), WHOLE)]), "codes are float"),
    (lambda: assign_strata(np.zeros(2), COUNTS, [Heap((0,), WHOLE)]), r"of shape \(3,\)"),
    # Cuts
    *(
        (lambda points=points: Cuts("equal", points, (0, 1, 2)[: len(points) + 1]), "ascending")
        for points in ((0.5, 0.5), (0.5, 0.4), (NAN,), (INF,))
    ),
    (lambda: Cuts("equal", (0.5,), (0,)), "1 cut points with 1 owners"),
    *((lambda it=it: Cuts("equal", (0.5,), it), "without a gap") for it in ((0, 2), (-1, 0))),
    (lambda: HALVES.assign(np.array([0.1, NAN])), "score 1 is nan"),
    (lambda: cut(profile_of(SCORES), "kmn", 2), "methods: equal, perc, sqrt, cbrt, wtmn, km, gmm"),
    (lambda: canonical_method("percs"), "did you mean 'perc'"),
    *(
        (lambda bins=bins: cut(profile_of(SCORES), "equal", bins), "whole number, at least 1")
        for bins in cast(Any, (0, 2.0, True, "4", None))
    ),
    # Decks
    *(
        (lambda ids=ids: digest(ids), "")
        for ids in cast(Any, ("abc", b"abc", 7, None, {7, 8}, np.array(7), np.zeros(2)))
    ),
    (lambda: mix(cast(Words, TWO)), "int64"),
    # Profiles
    *(
        (lambda bad=bad: profile_of(np.array([0.1, bad])), f"score 1 is {bad}\n1 of 2 scores")
        for bad in (NAN, INF, -INF)
    ),
    (lambda: profile_of(NONE), "no scores"),
    (lambda: score_range(NONE), "no scores"),
    (lambda: profile_of(np.array([0.5, 1.1]), "probability"), "(?s)run from .*between 0 and 1"),
    *(
        (lambda bad=bad: as_scores(np.array(bad)), "must be numbers in one dimension")
        for bad in cast(Any, (["a"], [[0.5]], [True], [None]))
    ),
    (lambda: cells(low=np.array([0.1, NAN, 0.9])), "score 1 is nan"),
    (lambda: cells(high=np.array([0.1, 0.5])), "high has 2 cells"),
    (lambda: cells(low=np.array([0.1, 0.6, 0.9])), "not in order"),
    (lambda: cells(high=np.array([0.1, 0.9, 0.9])), "not in order"),
    (lambda: cells(mean=np.array([0.1, 0.5, 1.0])), "not in order"),
    (lambda: cells(count=np.array([2, 0, 4])), "counts run from 0 to 4"),
    (lambda: cells(count=np.array([2, 1, 2**62])), f"counts run from 1 to {2**62}"),
    (lambda: cells(count=SCORES), "count is float64"),
    (lambda: cells(count=TWO), r"of shape \(2,\)"),
    (lambda: cells(low=NONE, high=NONE, mean=NONE), "low has 0 cells"),
    (lambda: cells_of(np.array([0.5, NAN]), CELLS.yes, CELLS.digest), "score 1 is nan"),
    (lambda: CELLS.profile(True), "no item is predicted yes"),
    (lambda: replace(CELLS, bin=CELLS.bin[::-1]), "not in order"),
    (lambda: replace(CELLS, bin=CELLS.bin[[0, 0]]), "not in order"),
    # Strata
    *(
        (lambda given=given: assigned(*given), "")
        for given in (
            ([0.1, NAN], [True, False]),
            ([0.1, 0.2], [True]),
            (["a", "b"], [True, False]),
        )
    ),
    (lambda: stratify({}, variable="score", method="perc", bins=4), "layers are of the predicted"),
    (lambda: strata(()), "0 heaps"),
    (lambda: strata((Heap((1,), WHOLE), Heap((1, 2), WHOLE)), (0, 1, 1), (1, 2, 1)), "in one only"),
    (lambda: strata((Heap((8,), WHOLE),), (0, 8, 1)), "below 2.3 for 3 classifiers"),
    (lambda: strata((Heap((1,), WHOLE),), (0, 2, 1)), "stratum 0 and code 2"),
    (lambda: strata((Heap((1,), WHOLE),), (1, 1, 1)), "stratum 1 and code 1"),
    (lambda: strata((Heap((1,), WHOLE),), (0, 1, 0)), "has 0 items"),
    (lambda: strata((Heap((1,), HALVES),), (0, 1, 1)), "each of the 2 strata"),
    (lambda: strata((Heap((1,), HALVES),), (1, 1, 1), (0, 1, 1)), "ascending"),
    (lambda: strata((Heap((1,), WHOLE),), (0, 1, 1), (0, 1, 2)), "same stratum and code"),
    (lambda: strata((Heap((1,), WHOLE),), (0, 1, 1)).part_of(0, 2), "no item with the code 2"),
    (lambda: ratio("precision", np.array([5.0]), None), "mix predicted labels"),
    # Counts of answers
    (lambda: counted([5], [1], [2]), "more outcomes than labels"),
    (lambda: counted([0], [0], [0]), "every stratum needs one"),
    (lambda: counted([5], [-1], [0]), "at least 0"),
    *(
        (lambda it=it: counted(*it), "whole numbers")
        for it in (([5], [0.5], [0]), ([2.0**60], 0, 0))
    ),
    *((lambda N=N: counted([N], [0], [0]), "finite numbers") for N in (NAN, INF)),
    (lambda: counted(["a"], [0], [0]), "must hold numbers"),
    (lambda: counted([], [], []), "at least one stratum"),
    (lambda: counted([5, 5], [1, 1, 1], [0]), "different shapes"),
    # Paper 3's samples
    *(
        (lambda given=given: sample_size(*given), "cannot be used")
        for given in ((0, 0.05, 0.5), (0.03, 1, 0.5), (0.03, 0.05, 1), (NAN, 0.05, 0.5))
    ),
]


@pytest.mark.parametrize("place", range(len(GUARDS)))
def test_it_is_refused(place: int) -> None:
    call, words = GUARDS[place]
    with pytest.raises(AssayError, match=words or None):
        call()


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "b": 2, "a": 1}', '[{"b": [{"x": {}, "a": 1, "a": 2}]}]', '{"a":1,"\\u0061":2}'],
)
def test_a_key_that_is_there_twice_is_refused_at_any_depth(text: str) -> None:
    json.loads(text)  # which takes the last
    with pytest.raises(ValueError, match="the key 'a' occurs twice in one object"):
        read_json(text)


def test_the_same_key_in_two_objects_is_read() -> None:
    text = '[{"a": 1, "b": {"a": null}}, {"a": "x"}]'
    assert read_json(text) == json.loads(text)


def test_more_values_than_wanted_are_refused_before_they_are_made() -> None:
    assert read_json("[[], {}, 1]", at_most=5) == [[], {}, 1]
    with pytest.raises(ValueError, match="more than 4 values"):
        read_json("[[], {}, 1]", at_most=4)


FOLLOWS = {"several", "bet", "bets", "recycled", "cut", "classes"}  # from options and predictions


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.option} beside {rule.beside}")
def test_every_rule_is_refused_in_words_that_name_the_option(rule: Rule) -> None:
    given = {rule.option: "x", rule.beside: "y"}
    with pytest.raises(DesignError) as error:
        refuse(given)
    assert "{" not in str(error.value)
    assert rule.option.partition("_")[0] in str(error.value)
    assert error.value.hint


@pytest.mark.parametrize("nothing", [None, False, (), []])
def test_what_is_not_given_breaks_no_rule(nothing: object) -> None:
    for rule in RULES:
        refuse({rule.option: nothing, rule.beside: "y"})
        refuse({rule.option: "x", rule.beside: nothing})


def test_no_rule_stands_twice_and_all_are_about_options() -> None:
    pairs = [(rule.option, rule.beside) for rule in RULES]
    assert len(set(pairs)) == len(pairs)
    known = {option.keyword for each in (Asked, Columns) for option in options_of(each)}
    beside = {other for _, other in pairs} - FOLLOWS
    assert beside <= known | {"labels", "labels_from"}
