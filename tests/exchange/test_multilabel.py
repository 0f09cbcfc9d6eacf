"""Several classes of an item in files and tools: every set goes out and comes back."""

import io
import json
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

from assay.campaign.campaign import Campaign
from assay.campaign.create import create_campaign
from assay.campaign.exchange import import_labels, write_batch, write_labels
from assay.core.answers import Answer
from assay.core.vocabulary import Vocabulary
from assay.errors import LabelError

NAMES = ("fraud", "Spam", "C++", "=cmd", "-5", "$text", "a, b; c", 'quo"te', "漢字 😀")
SETS = (("fraud",), ("Spam", "fraud"), (), ("-5", "=cmd", "C++"), ("漢字 😀", 'quo"te', "a, b; c"))
SAID = {
    f"i{number}": Answer(Vocabulary(NAMES, multilabel=True).joined(names))
    for number, names in enumerate(SETS)
}


def campaign_with(names: tuple[str, ...] = NAMES, ids: tuple[str, ...] = tuple(SAID)) -> Campaign:
    score = np.linspace(0.1, 0.9, len(ids) * len(names)).reshape(len(ids), len(names))
    campaign = create_campaign(
        {"id": list(ids), "p": score},
        id="id",
        probabilities="p",
        threshold=0.5,
        classes=names,
        multilabel=True,
        metric="prevalence",
        budget=len(ids),
        storage="sqlite://",
    )
    campaign.ask(len(ids))
    return campaign


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_labels_come_back_as_they_went(format: str) -> None:
    source, target = campaign_with(), campaign_with()
    source.tell(dict(zip(SAID, SETS, strict=True)))
    assert source.answers() == SAID
    written = write_labels(source, format=format)
    assert import_labels(target, written.content).new == len(SAID)
    assert target.answers() == SAID


def test_cells_may_hold_lists_and_names_in_any_order() -> None:
    campaign = campaign_with(ids=("a", "b", "c"))
    table = 'id,label\na,SPAM|fraud\nb,"[""C++"", ""fraud""]"\nc,\n'
    found = import_labels(campaign, table.encode())
    assert (found.new, found.without_label) == (2, 1)
    assert campaign.answers() == {"a": "fraud|Spam", "b": "fraud|C++"}
    line = json.dumps({"id": "c", "label": []})
    import_labels(campaign, line.encode())
    assert campaign.answers()["c"] is Answer.NONE_OF_THESE


def test_a_name_that_is_no_class_is_refused_and_may_be_mapped() -> None:
    campaign = campaign_with(ids=("a",))
    table = b"id,label\na,fraud|scam\n"
    with pytest.raises(LabelError, match="1 row of"):
        import_labels(campaign, table)
    import_labels(campaign, table, map={"scam": "Spam"})
    assert campaign.answers() == {"a": "fraud|Spam"}


def test_label_studio() -> None:
    campaign = campaign_with()
    config = write_batch(campaign, 1, format="label-studio").config
    assert config is not None
    [choices] = [each for each in ElementTree.fromstring(config) if each.get("name") == "answer"]
    assert (choices.tag, choices.get("choice")) == ("Choices", "multiple")
    tasks = []
    for item, names in zip(SAID, SETS, strict=True):
        chosen = [*names] or ["none of these"]
        part = {"from_name": "answer", "type": "choices", "value": {"choices": chosen}}
        told = [{"completed_by": 1, "result": [part]}]
        tasks.append({"data": {"assay_id": item}, "annotations": told})
    import_labels(campaign, json.dumps(tasks).encode())
    assert campaign.answers() == SAID


def test_many_classes_are_a_tree_in_label_studio_of_which_several_can_be_chosen() -> None:
    campaign = campaign_with(tuple(f"class {number}" for number in range(55)), ("a",))
    config = write_batch(campaign, 1, format="label-studio").config
    assert config is not None
    [tree] = [each for each in ElementTree.fromstring(config) if each.get("name") == "answer"]
    assert (tree.tag, tree.get("maxUsages")) == ("Taxonomy", "55")
    chosen = [["class 7"], ["class 3"]]
    part = {"from_name": "answer", "type": "taxonomy", "value": {"taxonomy": chosen}}
    told = [{"completed_by": 1, "result": [part]}]
    import_labels(campaign, json.dumps([{"data": {"assay_id": "a"}, "annotations": told}]).encode())
    assert campaign.answers() == {"a": "class 3|class 7"}


def test_doccano_and_argilla() -> None:
    chosen = {item: [*names] or ["none of these"] for item, names in zip(SAID, SETS, strict=True)}
    lines = [
        json.dumps({"id": 1, "text": "x", "label": names, "assay_id": item})
        for item, names in chosen.items()
    ]
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("all.jsonl", "\n".join(lines))
    campaign = campaign_with()
    import_labels(campaign, held.getvalue())
    assert campaign.answers() == SAID
    records = [
        {
            "id": item,
            "status": "completed",
            "fields": {},
            "responses": {"answer": [{"value": names, "user_id": "u", "status": "submitted"}]},
        }
        for item, names in chosen.items()
    ]
    campaign = campaign_with()
    import_labels(campaign, json.dumps(records).encode())
    assert campaign.answers() == SAID


def test_a_class_beside_cannot_judge_is_refused() -> None:
    campaign = campaign_with(ids=("a",))
    line = json.dumps({"id": 1, "text": "x", "label": ["fraud", "cannot judge"], "assay_id": "a"})
    with pytest.raises(LabelError, match="is not an answer"):
        import_labels(campaign, line.encode(), format="doccano")
    assert not campaign.answers()
