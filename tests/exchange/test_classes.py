"""Classes in files and tools: every name goes out and comes back, and none is guessed."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.campaign.campaign import Campaign
from assay.campaign.exchange import import_labels, read_labels, write_batch
from assay.core.answers import Answer, answers_to
from assay.core.vocabulary import Vocabulary
from assay.errors import LabelError
from tests.exchange.campaigns import campaign_of, campaign_of_classes, campaign_of_sets
from tests.exchange.test_round_trip import CLASSES as TOPICS

ANSWERS = answers_to(TOPICS)
IDS = [f"i{number}" for number in range(len(ANSWERS))]
SAID = dict(zip(IDS, ANSWERS, strict=True))


def campaign_with(
    classes: Vocabulary = TOPICS, ids: list[str] = IDS, per_item: int = 1
) -> Campaign:
    return campaign_of_classes(ids, classes, per_item=per_item)


def annotated(item: str, *chosen: list[str]) -> dict[str, object]:
    part = {"from_name": "answer", "type": "taxonomy", "value": {"taxonomy": [*chosen]}}
    return {"data": {"assay_id": item}, "annotations": [{"completed_by": 1, "result": [part]}]}


def test_a_taxonomy_of_label_studio_says_its_last_level() -> None:
    campaign = campaign_with()
    tasks = [annotated(item, ["Science", answer]) for item, answer in SAID.items()]
    import_labels(campaign, json.dumps(tasks).encode())
    assert campaign.answers() == SAID


def test_several_classes_can_be_chosen_in_label_studio() -> None:
    for names, tag, most in (
        (("fraud", "spam", "toxic"), "Choices", "multiple"),
        (tuple(f"class {number}" for number in range(55)), "Taxonomy", "55"),
    ):
        campaign = campaign_of_sets(["a"], names)
        config = write_batch(campaign, 1, format="label-studio").config
        assert config is not None
        [tree] = [each for each in ElementTree.fromstring(config) if each.get("name") == "answer"]
        assert (tree.tag, tree.get("choice") or tree.get("maxUsages")) == (tag, most)
    import_labels(campaign, json.dumps([annotated("a", ["class 7"], ["class 3"])]).encode())
    assert campaign.answers() == {"a": "class 3|class 7"}


def test_cells_may_hold_lists_and_names_in_any_order() -> None:
    campaign = campaign_of_sets(("a", "b", "c", "d"), ("fraud", "Spam", "C++"))
    table = b'id,label\na,SPAM|fraud\nb,"[""C++"", ""fraud""]"\nc,\n'
    found = import_labels(campaign, table)
    assert (found.new, found.without_label) == (2, 1)
    assert campaign.answers() == {"a": "fraud|Spam", "b": "fraud|C++"}
    import_labels(campaign, json.dumps({"id": "c", "label": []}).encode())
    assert campaign.answers()["c"] is Answer.NONE_OF_THESE
    with pytest.raises(LabelError, match="1 row of"):
        import_labels(campaign, b"id,label\nd,fraud|scam\n")
    line = json.dumps({"id": 1, "text": "x", "label": ["fraud", "cannot judge"], "assay_id": "d"})
    with pytest.raises(LabelError, match="is not an answer"):
        import_labels(campaign, line.encode(), format="doccano")
    assert len(campaign.events()) == 3
    import_labels(campaign, b"id,label\nd,fraud|scam\n", map={"scam": "Spam"})
    assert campaign.answers()["d"] == "fraud|Spam"


def control(classes: Vocabulary) -> tuple[ElementTree.Element, ElementTree.Element]:
    campaign = campaign_with(classes, ["a"])
    config = write_batch(campaign, 1, format="label-studio").config
    assert config is not None
    view = ElementTree.fromstring(config)
    [found] = [each for each in view if each.get("name") == "answer"]
    return view, found


def test_few_classes_have_keys() -> None:
    view, choices = control(Vocabulary(("math", "q-bio", "2")))
    assert choices.tag == "Choices"
    keys = {each.get("value"): each.get("hotkey") for each in choices}
    assert keys == {
        "math": "1",
        "q-bio": "2",
        "2": "3",
        "none of these": "0",
        "cannot judge": "c",
        "broken": "b",
    }
    assert view.find("Filter") is None


def test_more_classes_have_a_filter_and_many_a_tree() -> None:
    view, choices = control(TOPICS)
    assert choices.tag == "Choices"
    assert [each.get("toName") for each in view.iter("Filter")] == ["answer"]
    # What a name of a variable would be is shown otherwise, and comes back as it is.
    said = [each.get("alias") or each.get("value") for each in choices]
    assert said == list(ANSWERS)
    assert not any("$" in each.get("value", "") for each in choices)
    assert [each.get("hint") for each in choices][:2] == ["proofs & <b>", None]
    many = Vocabulary(tuple(f"class {number}" for number in range(1000)))
    view, tree = control(many)
    assert (tree.tag, tree.get("maxUsages"), tree.get("required")) == ("Taxonomy", "1", "true")
    assert [each.get("value") for each in tree] == list(answers_to(many))
    assert view.find("Filter") is None
    assert not any(each.get("hotkey") for each in tree)


def test_doccano_and_argilla_are_told_the_classes() -> None:
    few = campaign_with(Vocabulary(("math", "q-bio")), ["a"])
    written = write_batch(few, 1, format="doccano")
    assert written.config_suffix == ".labels.json"
    labels = json.loads(written.config or b"")
    keys = {each["text"]: each["suffix_key"] for each in labels}
    none, cannot, broken = "none of these", "cannot judge", "broken"
    assert keys == {"math": "1", "q-bio": "2", none: "0", cannot: "c", broken: "b"}
    many = json.loads(write_batch(campaign_with(), 1, format="doccano").config or b"")
    assert [each["text"] for each in many] == list(ANSWERS)
    assert [each["suffix_key"] for each in many] == [None] * len(TOPICS) + ["0", "c", "b"]
    labels = json.loads(write_batch(campaign_with(), 1, format="argilla").config or b"")
    assert labels == list(ANSWERS)
    for format in ("doccano", "argilla"):
        assert write_batch(campaign_of(["a"]), 1, format=format).config is None


def test_unknown_names_are_refused_with_the_nearest() -> None:
    campaign = campaign_with()
    content = b"id,label\ni0,math\ni1,phisics\ni2,zzz\n"
    with pytest.raises(LabelError, match="2 rows of") as refused:
        import_labels(campaign, content)
    assert refused.value.details.startswith("line 3: 'phisics' is not an answer")
    assert refused.value.hint == (
        "give the class of each: map={'phisics': 'Physics', 'zzz': '...'}"
    )
    assert campaign.events() == []
    imported = import_labels(campaign, content, map={"PHISICS": "Physics", "zzz": "none of these"})
    assert imported.new == 3
    assert campaign.answers() == {"i0": "math", "i1": "Physics", "i2": "none of these"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("words.json", '{"A": "math", "B": "none of these"}'),
        ("words.csv", "word,answer\nA,math\nB,none of these\n"),
        ("words.tsv", "number\tword\tanswer\n1\tA\tmath\n2\tB\tnone of these\n"),
        ("words.csv", "theirs;ours\nA;math\nB;none of these\n"),
    ],
)
def test_a_file_says_what_words_mean(tmp_path: Path, name: str, content: str) -> None:
    file = tmp_path / name
    file.write_text(content)
    campaign = campaign_with()
    import_labels(campaign, b"id,label\ni0,A\ni1,B\n", map=file)
    assert campaign.answers() == {"i0": "math", "i1": "none of these"}


def test_names_that_numbers_are_written_as() -> None:
    codes = Vocabulary(("1", "2", "10"))
    campaign = campaign_with(codes, ["a", "b"])
    found = read_labels(b"id,label\na,1.0\nb,10\n", campaign=campaign)
    assert [row.answer for row in found.rows] == ["1", "10"]


def test_what_was_wrong_and_what_is_known_of_labels() -> None:
    predicted = ["art", "art", "art", "math", "math", "math"]
    classes, ids = Vocabulary(("math", "art")), [*range(6)]
    campaign = campaign_of_classes(ids, classes, said=predicted)
    said = ["art", "math", "none of these", "math", "art", "?"]
    campaign.tell(zip(ids, said, strict=True))
    mistakes = campaign.errors()
    assert mistakes.headline == "3 mistakes among 5 judged items"
    assert {each.id: each.kind for each in mistakes} == {
        1: "math, predicted art",
        2: "none of these, predicted art",
        4: "art, predicted math",
    }
    assert {each.id for each in campaign.errors(kind="MATH")} == {1, 4}
    assert len(campaign.errors(kind="none of these")) == 1
    with pytest.raises(LabelError, match="'fp' is not a class"):
        campaign.errors(kind="fp")
    frame = campaign.to_frame(backend="polars").sort("id")
    assert frame.columns[:4] == ["id", "answer", "stratum", "comment"]
    assert frame["predicted"].to_list() == predicted
    assert frame["answer"].to_list() == [*said[:5], "cannot judge"]
