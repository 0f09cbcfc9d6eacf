"""A batch goes out in every format, is judged as the tool would have it, and comes back exactly."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from assay.campaign.campaign import Campaign
from assay.campaign.exchange import Imported, import_labels, write_batch, write_labels
from assay.core.answers import Answer, answers_to
from assay.core.vocabulary import Vocabulary
from assay.errors import LabelError
from assay.exchange import FORMATS
from tests.exchange.campaigns import AWKWARD, campaign_of, campaign_of_classes, campaign_of_sets

TOPICS = (
    *(
        "math",
        "Physics",
        "q-bio",
        "C++",
        "=cmd",
        "-5",
        "$text",
        "a, b; c",
        'quo"te',
        "漢字 😀",
        "2",
    ),
)
CLASSES = Vocabulary(TOPICS, aliases={"mathematics": "math"}, guidelines={"math": "proofs & <b>"})
SETS = (("math",), ("Physics", "math"), (), ("-5", "=cmd"), ("漢字 😀", 'quo"te', "a, b; c"))
TEXTS = [f"{id}\n<script>é😀\u2028 of {place}" for place, id in enumerate(AWKWARD)]
SHOWN = dict(zip(AWKWARD, TEXTS, strict=True))
Chosen = Mapping[str, Sequence[str]]
Judge = Callable[[bytes, Chosen], bytes]


def chosen(every: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Return the names that are said of each item; where there is none, that none is of it."""
    found = (every[place % len(every)] for place in range(len(AWKWARD)))
    return {id: [*names] or ["none of these"] for id, names in zip(AWKWARD, found, strict=True)}


def yes_and_no() -> Campaign:
    return campaign_of(AWKWARD, {"text": TEXTS})


def of_classes() -> Campaign:
    return campaign_of_classes(AWKWARD, CLASSES, columns={"text": TEXTS})


def of_sets() -> Campaign:
    return campaign_of_sets(AWKWARD, TOPICS, columns={"text": TEXTS})


SAID: dict[Callable[[], Campaign], dict[str, list[str]]] = {
    yes_and_no: chosen([[answer.value] for answer in answers_to()]),
    of_classes: chosen([[answer.value] for answer in answers_to(CLASSES)]),
    of_sets: chosen(SETS),
}


def answers(make: Callable[[], Campaign]) -> dict[str, str]:
    """Return the answers that SAID means, as they are stored."""
    order = {name: place for place, name in enumerate(TOPICS)}
    return {
        id: "|".join(sorted(names, key=lambda name: order.get(name, 0)))
        for id, names in SAID[make].items()
    }


def one_or_all(names: Sequence[str]) -> str | Sequence[str]:
    return names[0] if len(names) == 1 else names


def judged_csv(content: bytes, said: Chosen) -> bytes:
    """Whoever judges fills in the last column and leaves all else alone."""
    header, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    out = io.StringIO(newline="")
    by_place = {row[1]: row for row in rows}
    for id, text in zip(AWKWARD, TEXTS, strict=True):
        by_place[guarded(text)][-1] = guarded("|".join(said[id]))
    csv.writer(out).writerows([header, *rows])
    return out.getvalue().encode()


def guarded(text: str) -> str:
    return f"'{text}" if text[0] in "=+-@\t\r'" else text


def judged_jsonl(content: bytes, said: Chosen) -> bytes:
    records = [json.loads(line) for line in content.decode().split("\n") if line]
    assert {record["id"]: record["shown"]["text"] for record in records} == SHOWN
    return "\n".join(
        json.dumps({**r, "label": one_or_all(said[r["id"]])}) for r in records
    ).encode()


def judged_label_studio(content: bytes, said: Chosen) -> bytes:
    tasks = json.loads(content)
    assert {task["data"]["assay_id"]: task["data"]["text_1"] for task in tasks} == SHOWN
    assert not any("predictions" in task for task in tasks)
    for number, task in enumerate(tasks, start=1):
        choice = {"choices": said[task["data"]["assay_id"]]}
        result = [{"from_name": "answer", "to_name": "item", "type": "choices", "value": choice}]
        task |= {"id": number, "annotations": [{"result": result, "was_cancelled": False}]}
    return json.dumps(tasks).encode()


def judged_doccano(content: bytes, said: Chosen) -> bytes:
    """As doccano does it: all but text and label is metadata, and pandas writes the export."""
    content.decode("ascii")  # doccano guesses at any other encoding
    kept = []
    for number, line in enumerate(content.decode().splitlines(), start=1):
        meta: dict[str, Any] = json.loads(line)
        text, label = meta.pop("text"), meta.pop("label")
        assert text == SHOWN[meta["assay_id"]] and label == []
        labels = said[meta["assay_id"]]
        kept.append({"id": number, "text": text, **meta, "label": labels, "Comments": []})
    return bytes(
        pd.DataFrame(kept).to_json(orient="records", force_ascii=False, lines=True).encode()
    )


def judged_argilla(content: bytes, said: Chosen) -> bytes:
    records = json.loads(content)
    assert {record["id"]: record["fields"]["text_1"] for record in records} == SHOWN
    assert not any(record.get("suggestions") for record in records)
    for record in records:
        value = one_or_all(said[record["id"]])
        told = {"value": value, "user_id": None, "status": "submitted"}
        record["responses"] = {"answer": [told]}
    return json.dumps(records).encode()


JUDGES: dict[str, Judge] = {
    "csv": judged_csv,
    "jsonl": judged_jsonl,
    "label-studio": judged_label_studio,
    "doccano": judged_doccano,
    "argilla": judged_argilla,
}


def test_every_format_that_is_written_is_tried() -> None:
    assert list(JUDGES) == [name for name, format in FORMATS.items() if format.write_batch]


@pytest.mark.parametrize("format", JUDGES)
@pytest.mark.parametrize("make", SAID)
def test_ids_texts_and_answers_are_exact(make: Callable[[], Campaign], format: str) -> None:
    campaign = make()
    batch = write_batch(campaign, 100, format=format)
    assert batch.count == len(AWKWARD)
    answered = JUDGES[format](batch.content, SAID[make])
    once = import_labels(campaign, answered, reviewer="ann")
    assert once == Imported(len(AWKWARD), 0, 0, 0, format=format)
    assert campaign.answers() == answers(make)
    assert all(answer is Answer(answer.value) for answer in campaign.answers().values())
    assert {event.reviewer for event in campaign.events()} == {"ann"}
    again = import_labels(campaign, answered, reviewer="ann")
    assert again == Imported(0, 0, len(AWKWARD), 0, format=format)
    assert len(campaign.events()) == len(AWKWARD)


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("make", SAID)
def test_labels_come_back_as_they_went(make: Callable[[], Campaign], format: str) -> None:
    source, target = make(), make()
    source.tell({id: one_or_all(names) for id, names in SAID[make].items()})
    assert import_labels(target, write_labels(source, format=format).content).new == len(AWKWARD)
    assert target.answers() == source.answers() == answers(make)


@pytest.mark.parametrize("format", JUDGES)
def test_integers_travel_as_strings_too(format: str) -> None:
    ids = [0, -5, 2**63 - 1]
    campaign = campaign_of(ids)
    content = write_batch(campaign, 100, format=format).content
    for id in ids[1:]:
        assert f"{id}".encode() in content
    if format == "csv":
        return
    records = [json.loads(line) for line in content.splitlines()] if content[:1] == b"{" else None
    for record in records or json.loads(content):
        found = record.get("data", record)
        assert isinstance(found.get("assay_id", found.get("id")), str)


@pytest.mark.parametrize("format", ["csv", "jsonl", "doccano"])
def test_ids_that_a_table_reader_mended_are_noticed(format: str) -> None:
    """The wrong variant: a tool that takes 007 for 7 and NA for nothing."""
    campaign = yes_and_no()
    answered = JUDGES[format](write_batch(campaign, 100, format=format).content, SAID[yes_and_no])
    with pytest.raises(LabelError, match=r"'7'|7 is not a string"):
        spoiled = answered.replace(b'"007"', b"7").replace(b"\n007,", b"\n7,")
        import_labels(campaign, spoiled, format=format)
    assert campaign.events() == []
