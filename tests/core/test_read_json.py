"""JSON of somebody else: no key twice, and no more values than are wanted."""

import json

import pytest

from assay.core.types import read_json


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "b": 2, "a": 1}', '[{"b": [{"x": {}, "a": 1, "a": 2}]}]', '{"a":1,"\\u0061":2}'],
)
def test_a_key_that_is_there_twice_is_refused_at_any_depth(text: str) -> None:
    json.loads(text)  # which takes the last
    with pytest.raises(ValueError, match="the key 'a' is there twice in one object"):
        read_json(text)


def test_the_same_key_in_two_objects_is_read() -> None:
    text = '[{"a": 1, "b": {"a": null}}, {"a": "x"}]'
    assert read_json(text) == json.loads(text)


def test_more_values_than_wanted_are_refused_before_they_are_made() -> None:
    assert read_json("[[], {}, 1]", at_most=5) == [[], {}, 1]
    with pytest.raises(ValueError, match="more than 4 values"):
        read_json("[[], {}, 1]", at_most=4)
