"""Telling formats apart, and keeping what strangers send within limits."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.campaign.exchange import read_labels
from assay.errors import AssayError
from assay.exchange import FORMATS
from assay.files import LimitError, Limits
from tests.exchange.campaigns import campaign_of, workbook

KNOWN = {
    "labels.csv": ("id,label\na,yes\n", "csv"),
    "labels.txt": ("id,label\na,yes\n", "csv"),
    "brackets.csv": ('[id],label,id\n"[",yes,a\n', "csv"),
    "labels.jsonl": ('{"id": "a", "label": "yes"}', "jsonl"),
    "mine.json": ('{"id": "a", "label": null}\n', "jsonl"),
    "export.jsonl": ('\n{"id": 1, "text": "", "label": ["yes"], "assay_id": "a"}', "doccano"),
    "export.json": ('[{"data": {"assay_id": "a"}, "annotations": []}]', "label-studio"),
    "no_ending": ('\ufeff [{"id": "a", "fields": {}, "responses": {}}]', "argilla"),
    "flat.json": ('[{"id": "a", "_server_id": null, "text_1": ""}]', "argilla"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_formats_are_told_from_names_and_content(name: str, tmp_path: Path) -> None:
    content, format = KNOWN[name]
    (tmp_path / name).write_text(content, encoding="utf-8")
    campaign = campaign_of(["a"])
    assert read_labels(tmp_path / name, campaign=campaign).format == format
    if name != "brackets.csv":  # an upload has no name
        assert read_labels(content.encode(), campaign=campaign).format == format
    assert campaign.events() == []


def of_rows(rows: int, text: str = "x") -> dict[str, bytes]:
    """Return files of so many rows, each of which holds a text."""
    lines = [{"id": "a", "label": None, "text": text} for _ in range(rows)]
    tasks = [{"data": {"assay_id": "a", "text": text}, "annotations": []} for _ in range(rows)]
    records = [{"id": "a", "fields": {"text": text}, "responses": {}} for _ in range(rows)]
    noted = [{"assay_id": "a", "text": text, "label": []} for _ in range(rows)]
    return {
        "csv": b"id,label,text\n" + f"a,,{text}\n".encode() * rows,
        "jsonl": "\n".join(map(json.dumps, lines)).encode(),
        "label-studio": json.dumps(tasks).encode(),
        "doccano": "\n".join(map(json.dumps, noted)).encode(),
        "argilla": json.dumps(records).encode(),
        "xlsx": workbook([["id", "label", "text"], *([["a", "", text]] * rows)]),
    }


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "parquet"])
def test_limits_hold_in_every_format(format: str) -> None:
    campaign = campaign_of(["a"])
    limits = Limits(rows=5, field=100)
    assert read_labels(of_rows(5)[format], campaign=campaign, limits=limits).without_label == 5
    with pytest.raises(LimitError, match="more than 5 rows"):
        read_labels(of_rows(6)[format], campaign=campaign, limits=limits)
    assert read_labels(of_rows(1, "x" * 100)[format], campaign=campaign, limits=limits)
    with pytest.raises(LimitError, match="a field of 101 characters"):
        read_labels(of_rows(1, "x" * 101)[format], campaign=campaign, limits=limits)


def test_many_annotations_of_few_tasks_are_many_rows() -> None:
    annotations = [{"result": [], "completed_by": number} for number in range(6)]
    tasks = json.dumps([{"data": {"assay_id": "a"}, "annotations": annotations}]).encode()
    with pytest.raises(LimitError, match="more than 5 rows"):
        read_labels(tasks, campaign=campaign_of(["a"]), limits=Limits(rows=5))


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                [
                    *("id", "label", "data", "assay_id", "annotations", "result", "value", "type"),
                    *("choices", "completed_by", "updated_at", "fields", "responses", "answer"),
                    *("status", "answer.responses", "answer.responses.users", "user_id", "meta"),
                    *("reviewer", "ruling", "was_cancelled", "completions"),
                ]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(st.lists(json_values, max_size=3), st.sampled_from(list(FORMATS)))
def test_any_json_is_labels_or_an_assay_error(values: list[object], format: str) -> None:
    campaign = CAMPAIGN
    for content in (json.dumps(values), "\n".join(map(json.dumps, values))):
        for name in (format, None):
            try:
                read_labels(content.encode(), campaign=campaign, format=name)
            except AssayError as error:
                assert error.problem


CAMPAIGN = campaign_of(["a"])
