"""The table of rules: each can be broken, says what to do, and names options that there are."""

import pytest

from assay.core.goal import Asked
from assay.core.rules import RULES, Rule, refuse
from assay.errors import DesignError
from assay.options import options_of
from assay.predictions import Columns

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
