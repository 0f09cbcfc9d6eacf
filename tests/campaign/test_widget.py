"""Labelling in a notebook: messages in, labels stored, items out; and nothing that would sway."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.campaign.widget import Labeller
from assay.errors import InputError, MissingDependencyError
from tests.web.serving import make_campaign, make_campaign_without_predictions

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\ud800"


def _campaign(folder: Path, **changed: Any) -> assay.Campaign:
    return make_campaign(f"sqlite:///{folder / 'widget.db'}", **changed)


def _answer(item: dict[str, Any], word: str, key: str) -> dict[str, Any]:
    return {"turn": 2, "submits": [{"key": key, "item": item["id"], "answer": word}]}


def _stored(folder: Path) -> list[tuple[str, str, str]]:
    """Return what another process finds in the storage."""
    there = assay.load_campaign("spam", storage=f"sqlite:///{folder / 'widget.db'}")
    return [(label.item_id, label.answer, label.reviewer) for label in there.events()]


def test_an_answer_is_stored_at_once_and_sent_again_it_changes_nothing(tmp_path: Path) -> None:
    campaign = _campaign(tmp_path)
    labeller = Labeller(campaign.desk, "ann")
    first = labeller.reply({"turn": 1, "submits": []})
    assert (first["turn"], first["state"], len(first["items"])) == (1, "go on", 3)
    item = first["items"][0]
    assert item["fields"] == [["subject", f"subject of item {int(item['id'][1:])}"]]
    sent = _answer(item, "yes", "k1")
    reply = labeller.reply(sent)
    assert [receipt["status"] for receipt in reply["receipts"]] == ["saved"]
    assert _stored(tmp_path) == [(item["id"], "yes", "ann")]
    assert item["id"] not in [each["id"] for each in reply["items"]]
    assert (reply["yours"], reply["team"], reply["budget"]) == (1, 1, 30)
    again = labeller.reply(sent)
    assert [receipt["status"] for receipt in again["receipts"]] == ["again"]
    other = labeller.reply(_answer(item, "yes", "k2"))  # without keys it would be a second label
    assert [receipt["status"] for receipt in other["receipts"]] == ["saved"]
    assert len(_stored(tmp_path)) == 2 and reply["yours"] == 1


def test_nothing_tells_what_the_classifier_said(storage: str) -> None:
    """Not even where the owner shows the columns: scores here are found nowhere else."""
    columns = {
        "id": [f"m{number}" for number in range(60)],
        "p": [round(0.5017 + number / 1000, 4) for number in range(60)],
        "guess": ["classifier-says-so"] * 60,
        "subject": [f"subject {number}" for number in range(60)],
    }
    said: dict[str, Any] = {
        "predicted": "guess",
        "positive": "classifier-says-so",
        "answers": ("Spam", "No spam"),
    }
    shown = {"show": ["subject", "p", "guess"], "question": "Is it unwanted?", "budget": 10}
    campaign = assay.create_campaign(
        columns, id="id", score="p", storage=storage, **{**said, **shown}
    )
    labeller = Labeller(campaign.desk, "ann")
    words = json.dumps(labeller.words)
    for number in range(12):
        reply = labeller.reply({"submits": []})
        words += json.dumps(reply)
        for item in reply["items"][:1]:
            words += json.dumps(labeller.reply(_answer(item, "yes", f"k{number}")))
    assert words.count('["subject", "subject') > 10
    assert '"Spam"' in words and '"No spam"' in words and '"done"' in words
    for told in ("classifier-says-so", "guess", "0.50", "0.51", "0.52", "0.53", "0.54", "0.55"):
        assert told not in words
    assert "0.5" in str(campaign.to_frame()["score"][0])  # which the owner sees, and would be found


def test_hostile_texts_are_carried_as_texts(tmp_path: Path) -> None:
    ids = [f"m{number}" for number in range(20)]
    columns = {"id": ids, "p": [0.9] * 20, HOSTILE[:-1]: [HOSTILE] * 20}
    campaign = assay.create_campaign(
        columns,
        id="id",
        score="p",
        threshold=0.5,
        show=[HOSTILE[:-1]],
        budget=5,
        question=HOSTILE[:-1],
        storage=f"sqlite:///{tmp_path / 'hostile.db'}",
    )
    labeller = Labeller(campaign.desk, "ann")
    reply = labeller.reply({"submits": []})
    ((name, value),) = reply["items"][0]["fields"]
    assert name == labeller.words["question"] == HOSTILE[:-1]
    assert value[:-1] == HOSTILE[:-1]
    json.dumps(reply, ensure_ascii=False).encode()  # as notebooks send it: half a pair would fail
    with pytest.raises(UnicodeEncodeError):
        HOSTILE.encode()


NO_MESSAGES: list[object] = [
    None,
    "yes",
    {"submits": "yes"},
    {"submits": [{"item": "m001", "answer": "yes"}]},
    {"submits": [{"item": 1, "answer": "yes", "key": "k"}]},
    {"submits": [{"item": "m001", "answer": "perhaps", "key": "k"}]},
    {"submits": [{"item": "m001", "answer": "yes", "key": ""}]},
    {"submits": [{"item": "m001", "answer": "yes", "key": "k"}] * 501},
]


def test_what_is_no_message_is_told_and_stores_nothing(tmp_path: Path) -> None:
    labeller = Labeller(_campaign(tmp_path).desk, "ann")
    for message in NO_MESSAGES:
        reply = labeller.reply(message)
        assert reply["error"] and "items" not in reply
    receipts = labeller.reply(_answer({"id": "m001"}, "yes", "k"))["receipts"]
    assert [receipt["status"] for receipt in receipts] == ["refused"]  # it was never given
    assert _stored(tmp_path) == []
    with pytest.raises(InputError):
        Labeller(labeller._desk, " ")


def test_where_items_run_out_nothing_is_told_of_the_predictions(tmp_path: Path) -> None:
    campaign = make_campaign_without_predictions(f"sqlite:///{tmp_path / 'short.db'}")
    labeller = Labeller(campaign.desk, "ann")
    for number in range(60):
        reply = labeller.reply({"submits": []})
        if "error" in reply:
            break
        labeller.reply(_answer(reply["items"][0], "yes", f"k{number}"))
    assert reply["error"] == "there are no more items now; campaign.ask() says why"
    assert campaign.desk.labelling.trouble


def test_the_widget_answers_its_page_and_keeps_no_item_in_its_state(tmp_path: Path) -> None:
    pytest.importorskip("anywidget")
    campaign = _campaign(tmp_path)
    widget, replies = campaign.widget(reviewer="ann"), list[Any]()
    widget.send = replies.append
    widget._handle_custom_msg({"turn": 1, "submits": []}, [])
    (item, *_) = replies[0]["items"]
    widget._handle_custom_msg(_answer(item, "no", "k1"), [])
    assert replies[1]["receipts"][0]["status"] == "saved"
    assert _stored(tmp_path) == [(item["id"], "no", "ann")]
    state = widget.get_state()
    assert state["words"] == Labeller(campaign.desk, "ann").words
    assert "export default" in state["_esm"] and ".assay-label" in state["_css"]
    saved = {name: value for name, value in state.items() if name not in ("_esm", "_css")}
    assert item["id"] not in repr(saved) and "subject" not in repr(saved)
    for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert name not in state["_esm"]


def test_without_anywidget_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingDependencyError, match=r"assay-eval\[notebook\]"):
        _campaign(tmp_path).widget(reviewer="ann")
