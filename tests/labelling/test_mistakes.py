"""Mistakes of a classifier among the labels, and the weights that labels are handed out with."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.campaign import write_labels, write_mistakes
from assay.campaign.exchange import import_labels
from tests.kinds import finish

SIZE = 1200


def population(seed: int = 3) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    score = rng.uniform(size=SIZE)
    truth = rng.uniform(size=SIZE) < score**2
    table = {
        "p": score,
        "q": 1 - score,
        "text": [f"item {number}" for number in range(SIZE)],
        "lang": np.where(rng.uniform(size=SIZE) < 0.3, "de", "en"),
        "traffic": rng.integers(1, 50, size=SIZE).astype(float),
    }
    return table, truth


def labelled(table: object, truth: np.ndarray, **options: Any) -> assay.Campaign:
    options = {"metric": "accuracy", "budget": 150, **options}
    campaign = assay.create_campaign(table, **options)
    finish(campaign, truth, reviewer="ann")
    return campaign


ONE: dict[str, Any] = {"score": "p", "threshold": 0.6, "show": ["text"], "slices": ["lang"]}


def test_mistakes_are_what_people_say_otherwise_the_surest_first() -> None:
    table, truth = population()
    campaign = labelled(table, truth, **ONE)
    found, answers = campaign.errors(), campaign.answers()
    said = {item: table["p"][item] >= 0.6 for item in answers}
    wrong = {item for item in answers if said[item] != truth[item]}
    assert {each.id for each in found} == wrong and found.judged == len(answers) == 150
    for each in found:
        assert (each.kind == "false positive") == said[each.id]
        assert each.score == pytest.approx(table["p"][each.id])
        p = table["p"][each.id]
        assert each.confidence == pytest.approx(p if said[each.id] else 1 - p)
        assert each.shown == {"text": f"item {each.id}", "lang": table["lang"][each.id]}
        assert each.reviewers == ("ann",)
    sure = [each.confidence or 0.0 for each in found]
    assert sure == sorted(sure, reverse=True) and len(set(sure)) > 10
    assert {"false positive", "false negative"} == {each.kind for each in found}
    parts = {kind: campaign.errors(kind=kind) for kind in ("fp", "fn")}
    assert len(found) == sum(map(len, parts.values()))
    assert {each.kind for each in parts["fn"]} == {"false negative"}
    german = campaign.errors(where={"lang": "de"})
    assert [each.id for each in german] == [each.id for each in found if each.shown["lang"] == "de"]
    assert german.judged == sum(table["lang"][item] == "de" for item in answers)
    with pytest.raises(assay.InputError, match="no kind of mistake 'fpp'"):
        campaign.errors(kind="fpp")


def test_what_is_not_decided_is_left_out_and_counted() -> None:
    table, _ = population()
    campaign = assay.create_campaign(
        table, **ONE, metric="accuracy", budget=40, reviewers_per_item=2, overlap=1.0
    )
    items = [item.id for item in campaign.ask(10, reviewer="ann")]
    campaign.ask(10, reviewer="bob")
    wrong = {item: not (table["p"][item] >= 0.6) for item in items}
    campaign.tell(wrong, reviewer="ann")
    campaign.tell(
        {
            **{item: wrong[item] for item in items[:6]},
            items[6]: not wrong[items[6]],
            items[7]: "cannot judge",
            items[8]: "broken",
        },
        reviewer="bob",
    )
    campaign.rule(items[7], "cannot judge", reviewer="eve", key="k1")
    campaign.rule(items[8], "broken", reviewer="eve", key="k2")
    campaign.rule(items[0], wrong[items[0]], reviewer="eve", key="k3", comment="sure")
    found = campaign.errors()
    assert {each.id for each in found} == set(items[:6]) and found.judged == 6
    assert found.left_out == {
        "could not be judged": 1,
        "broken": 1,
        "disputed": 1,
        "waiting for an answer": 1,
    }
    by_id = {each.id: each for each in found}
    assert by_id[items[0]].reviewers == ("eve",) and by_id[items[0]].comment == "sure"
    assert by_id[items[1]].reviewers == ("ann", "bob")
    assert "not included: 1 could not be judged, 1 broken, 1 disputed" in str(found)


def test_mistakes_of_each_of_several_classifiers() -> None:
    table, truth = population()
    two = {"a": {"score": "p", "threshold": 0.6}, "b": {"score": "q", "threshold": 0.5}}
    campaign = labelled(table, truth, classifiers=two, metrics=["accuracy:a", "accuracy:b"])
    for name, column, threshold in (("a", "p", 0.6), ("b", "q", 0.5)):
        found = campaign.errors(classifier=name)
        said = {item: table[column][item] >= threshold for item in campaign.answers()}
        assert {each.id for each in found} == {item for item in said if said[item] != truth[item]}
        assert all(each.score == pytest.approx(table[column][each.id]) for each in found)
    with pytest.raises(assay.InputError, match="whose mistakes") as caught:
        campaign.errors()
    assert "classifiers: a, b" in str(caught.value)
    frame = campaign.to_frame("labels", backend="polars")
    assert {"predicted:a", "score:a", "predicted:b", "score:b", "weight"} <= set(frame.columns)


def test_mistakes_of_two_versions_side_by_side() -> None:
    table, truth = population()
    old = {"id": list(range(SIZE)), "p": table["q"]}
    new = {"id": list(range(200, SIZE + 100)), "p": [*table["p"][200:], *[0.9] * 100]}
    truth = np.concatenate([truth, np.zeros(100, dtype=bool)])
    campaign = assay.compare_campaign(
        old, new, id="id", score="p", threshold=0.6, budget=120, metric="accuracy"
    )
    finish(campaign, truth)
    for name, values, ids in (("old", old["p"], old["id"]), ("new", new["p"], new["id"])):
        score = dict(zip(ids, values, strict=True))
        said = {item: score[item] >= 0.6 for item in campaign.answers() if item in score}
        found = campaign.errors(classifier=name)
        assert {each.id for each in found} == {item for item in said if said[item] != truth[item]}
        known = [each for each in found if each.score is not None]
        assert known and all(each.score == pytest.approx(score[each.id]) for each in known)


@pytest.mark.parametrize("weight", [None, "traffic"])
def test_weighted_sums_of_labels_are_the_stratified_estimate(weight: str | None) -> None:
    table, truth = population()
    design = assay.Design(
        strata="perc",
        bins=4,
        allocation="pro",
        estimator="unbiased",
        interval="wilson",
        stop="budget",
    )
    campaign = labelled(table, truth, **ONE, sample_weight=weight, design=design, budget=200)
    frame = campaign.to_frame("labels")
    right = frame["positive"] == frame["predicted"]
    assert (frame["weight"] * right).sum() / frame["weight"].sum() == pytest.approx(
        campaign.estimate().value, rel=1e-9
    )
    assert frame["weight"].sum() == pytest.approx(SIZE, rel=1e-6)
    # Unweighted, the labels say something else: they were not drawn alike from all strata.
    equal = replace(design, allocation="equ")
    uneven = labelled(table, truth, **ONE, metric="recall", budget=200, design=equal)
    frame = uneven.to_frame("labels")
    hits = frame["positive"] & frame["predicted"]
    weighted = (frame["weight"] * hits).sum() / (frame["weight"] * frame["positive"]).sum()
    assert weighted == pytest.approx(uneven.estimate().value, rel=1e-9)
    assert abs(hits.sum() / frame["positive"].sum() - uneven.estimate().value) > 1e-3


def test_labels_go_out_with_what_is_known_and_come_back() -> None:
    table, truth = population()
    table["weight"] = table["text"]  # a column that is called like one of ours
    options = {**ONE, "show": ["text", "weight"]}
    campaign = labelled(table, truth, **options)
    rows = [
        json.loads(line) for line in write_labels(campaign, format="jsonl").content.splitlines()
    ]
    assert {"predicted", "score", "weight", "text", "shown weight", "lang"} <= set(rows[0])
    assert sum(row["weight"] for row in rows) == pytest.approx(SIZE)
    copy = assay.create_campaign(table, **options, metric="accuracy", budget=150)
    while batch := copy.ask(50):
        asked = {str(item.id) for item in batch}
        told = [row for row in rows if row["id"] in asked]
        import_labels(copy, "".join(json.dumps(row) + "\n" for row in told).encode())
    assert copy.estimate().to_dict() == campaign.estimate().to_dict()


def test_two_reviewers_share_the_weight_of_an_item() -> None:
    table, truth = population()
    campaign = assay.create_campaign(
        table, **ONE, metric="accuracy", budget=20, reviewers_per_item=2, overlap=1.0
    )
    for who in ("ann", "bob"):
        batch = campaign.ask(20, reviewer=who)
        campaign.tell({item.id: bool(truth[item.id]) for item in batch}, reviewer=who)
    rows = [
        json.loads(line) for line in write_labels(campaign, format="jsonl").content.splitlines()
    ]
    frame = campaign.to_frame("labels")
    assert len(rows) == 2 * len(frame)
    assert sum(row["weight"] for row in rows) == pytest.approx(frame["weight"].sum())


def test_precision_says_that_it_looks_for_no_false_negatives() -> None:
    table, truth = population()
    found = labelled(table, truth, **ONE, metric="precision").errors()
    assert any("false negatives are not found here" in note for note in found.notes)
    assert {each.kind for each in found} == {"false positive"}


def test_mistakes_as_files() -> None:
    table, truth = population()
    table["p"] = table["p"] * 8 - 4  # margins, some negative
    campaign = labelled(table, truth, **{**ONE, "threshold": 0.8})
    found = campaign.errors()
    csv = write_mistakes(found, format="csv").content.decode().splitlines()
    assert csv[0] == "id,kind,score,confidence,stratum,weight,reviewers,comment,tags,text,lang"
    assert len(csv) == len(found) + 1
    lines = write_mistakes(found, format="jsonl").content.splitlines()
    assert [json.loads(line)["score"] for line in lines] == [each.score for each in found]
    read = pq.read_table(io.BytesIO(write_mistakes(found, format="parquet").content)).to_pylist()
    assert [row["id"] for row in read] == [each.id for each in found]
    assert any(line.split(",")[2].startswith("-") for line in csv[1:])  # a number, not a text
    with pytest.raises(assay.InputError, match="cannot be written as 'xls'"):
        write_mistakes(found, format="xls")


def test_scores_that_were_not_kept_are_looked_up(tmp_path: Path) -> None:
    table, truth = population()
    rows = {"id": list(range(SIZE)), "p": table["p"], "lang": table["lang"]}
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table(rows), file)
    scan = assay.Scan(str(file), engine="duckdb")
    campaign = labelled(scan, truth, id="id", score="p", threshold=0.6)
    found = campaign.errors()
    assert found and all(each.score is None for each in found)
    assert any("scores were not stored" in note for note in found.notes)
    known = campaign.errors(predictions=str(file), where={"lang": "de"})
    assert known and all(each.score == pytest.approx(table["p"][each.id]) for each in known)
    assert {each.id for each in known} < {each.id for each in found}


def test_scores_of_the_predicted_class_are_told_as_they_are_used() -> None:
    table, truth = population()
    said = table["p"] >= 0.6
    table["sure"] = 100 * np.where(said, table["p"], 1 - table["p"])
    table["said"] = said
    about = {"score": "sure", "predicted": "said", "score_of": "predicted", "scale": "percent"}
    found = labelled(table, truth, **about).errors()
    for each in found:
        assert each.score == pytest.approx(table["p"][each.id])
        assert each.confidence == pytest.approx(table["sure"][each.id] / 100)
