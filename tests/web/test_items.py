"""How items are shown: by what the owner said of a column, or by what a value is."""

import json

import pytest

from assay.web import Options
from assay.web.items import kind_of

TURNS = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "*Hello*"}]
DEEP = "[" * 100_000

KINDS = {
    "turns": (json.dumps(TURNS), "conversation"),
    "other turns": (json.dumps([{"from": "human", "value": "Hi"}]), "conversation"),
    "mixed": (json.dumps([TURNS[0], {"from": "gpt", "value": "x"}]), "json"),
    "no text": (json.dumps([{"role": "user", "content": 5}]), "json"),
    "an object": ('{"a": 1.50, "a": 2}', "json"),
    "empty": ("[]", "text"),
    "a number": ("12", "text"),
    "a quoted text": ('"Hi"', "text"),
    "not JSON": ("[citation needed]", "text"),
    "half": ('{"a": ', "text"),
    "deep": (DEEP, "text"),
    "long": (json.dumps(["x" * 200_001]), "text"),
    "nothing": ("", "text"),
}


@pytest.mark.parametrize(("text", "kind"), KINDS.values(), ids=KINDS)
def test_a_value_that_says_itself_what_it_is(text: str, kind: str) -> None:
    assert kind_of("column", text, Options()) == kind
    assert kind_of("column", text, Options(kinds={"column": "text"})) == "text"


def test_what_the_owner_says_comes_first() -> None:
    def kind(said: str, text: str) -> str:
        return kind_of("column", text, Options(kinds={"column": said}))

    turns = json.dumps(TURNS)
    assert kind("json", turns) == "json"
    assert kind("conversation", turns) == "conversation"
    assert kind("conversation", "Hi") == "text"
    assert kind("code", turns) == "code"
    assert kind("markdown", "# Hi") == "markdown"
    assert kind("markdown", "x" * 200_001) == "text"
