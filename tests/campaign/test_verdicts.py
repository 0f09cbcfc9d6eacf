"""A judge asked about a part of the items: items out, verdicts in, labels kept."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import assay
from assay.campaign import Campaign, import_verdicts, write_unjudged
from assay.cli import app
from assay.core.deck import number
from assay.errors import AssayError, InputError
from assay.labelling import waiting_in
from tests.kinds import finish

SIZE = 1_600


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with predictions, and their truth in truth.json."""
    rng = np.random.default_rng(3)
    quality = rng.normal(size=SIZE)
    spam = rng.random(SIZE) < 1 / (1 + np.exp(-5 * quality))
    url = [f"page-{number}" for number in range(SIZE)]
    score = 1 / (1 + np.exp(-(quality + rng.normal(size=SIZE))))
    table = pa.table({"url": url, "title": [f"Page {each}" for each in url], "p": score})
    pq.write_table(table, tmp_path / "predictions.parquet")
    told = dict(zip(url, spam.tolist(), strict=True))
    (tmp_path / "truth.json").write_text(json.dumps(told))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def truth() -> dict[str, bool]:
    return dict(json.loads(Path("truth.json").read_text()))


def create(table: object = "predictions.parquet", **given: Any) -> Campaign:
    given = {"within": 0.05, "metric": "accuracy", "name": "spam", "seed": 7, **given}
    columns: dict[str, Any] = {"id": "url", "score": "p", "threshold": 0.5}
    return assay.create_campaign(table, **columns, storage="sqlite:///assay.db", **given)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--storage", "sqlite:///assay.db"])


def label(campaign: Campaign, labels: int) -> None:
    finish(campaign, truth(), 60, most=labels)


@pytest.mark.usefixtures("folder")
def test_items_for_a_judge_are_the_first_of_an_order_of_their_own() -> None:
    campaign = create(show=["title", "p"])
    key = campaign.settings.seed ^ 4
    order = sorted(truth(), key=lambda id: number(id, key))
    items = campaign.unjudged(50)
    assert [item.id for item in items] == order[:50]
    assert items[0].shown == {"title": f"Page {order[0]}"}
    written = write_unjudged(campaign, 50)
    assert written.sheet.columns == ("id", "title", "verdict")  # neither score nor prediction
    assert written.sheet.rows[0] == (order[0], f"Page {order[0]}", None)
    assert len(campaign.unjudged(SIZE + 9)) == SIZE
    dealt = [item.id for item in campaign.ask(50)]
    assert len(set(dealt) & set(order[:50])) < 10  # it is not the order in which people label


@pytest.mark.usefixtures("folder")
def test_a_part_is_of_what_the_metric_is_about() -> None:
    campaign = create(metric="precision")
    table = pq.read_table("predictions.parquet").to_pydict()
    said = {id for id, p in zip(table["url"], table["p"], strict=True) if p >= 0.5}
    assert {item.id for item in campaign.unjudged(SIZE)} == said


def test_verdicts_come_back_and_the_campaign_goes_on_with_them(folder: Path) -> None:
    """Asked twice, half of the items each time; the second time one verdict is another."""
    people = truth()
    label(create(show=["title", "p"]), 60)
    out = run("export", "spam", "--what", "judge", "-n", "800", "-o", "todo.csv")
    assert out.exit_code == 0, out.output
    first = [line.split(",")[0] for line in Path("todo.csv").read_text().split()[1:]]
    first = [id for id in first if id.startswith("page-")]
    rows = [f"{id},{'spam' if people[id] else 'fine'}" for id in first]
    Path("judged.csv").write_text("\n".join(["url,said", *rows, "page-0,"]) + "\n")
    words = ("--judge", "judged.csv", "--id-column", "url", "--verdict-column", "said")
    said = run("import", "spam", *words, "--map", "spam=yes", "--map", "fine=no")
    assert said.exit_code == 0, said.output
    told = " ".join(said.output.split())
    assert "800 new" in told and "spam continues with judge as a second opinion" in told
    file = folder / "spam.judge.parquet"
    assert pq.read_table(file).num_rows == 800

    campaign = assay.load_campaign("spam", storage="sqlite:///assay.db")
    assert campaign.settings.source.aux == ("judge",)
    assert campaign.settings.before is not None and campaign.settings.before.judged == 60
    assert len(campaign.answers()) > 30  # the others wait
    rest = [str(item.id) for item in campaign.unjudged(SIZE)]
    assert set(rest) == set(people) - set(first)
    assert rest == sorted(rest, key=lambda id: number(id, campaign.settings.seed ^ 4))

    lines = [{"id": id, "verdict": people[id]} for id in rest]
    again = {"id": first[0], "verdict": not people[first[0]]}
    Path("more.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*lines, again]))
    more = run("import", "spam", "--judge", "more.jsonl", "--json")
    assert more.exit_code == 0, more.output
    counted = json.loads(more.output)
    assert (counted["new"], counted["replaced"], counted["in_all"]) == (800, 1, SIZE)
    campaign = assay.load_campaign("spam", storage="sqlite:///assay.db")
    assert campaign.settings.source.aux == ("judge",)
    assert campaign.unjudged(5) == []
    label(campaign, 1_000)
    assert campaign.done
    assert campaign.settings.source.model is not None  # it has learned what the judge is worth
    now = campaign.estimate()
    assert now.low is not None and now.high is not None
    table = pq.read_table("predictions.parquet").to_pydict()
    right = [people[id] == (p >= 0.5) for id, p in zip(table["url"], table["p"], strict=True)]
    assert now.low < np.mean(right) < now.high


@pytest.mark.usefixtures("folder")
def test_after_new_strata_verdicts_are_learned_from_anew() -> None:
    people = truth()
    lines = [json.dumps({"id": id, "verdict": said}) + "\n" for id, said in people.items()]
    Path("half.jsonl").write_text("".join(lines[: SIZE // 2]))
    create(within=0.02)
    taken = import_verdicts("spam", "half.jsonl", storage="sqlite:///assay.db")
    label(taken.campaign, 121)
    campaign = assay.load_campaign("spam", storage="sqlite:///assay.db")
    assert campaign.settings.source.model is not None
    assert campaign.settings.source.scale == "margin"
    Path("rest.jsonl").write_text("".join(lines[SIZE // 2 :]))
    taken = import_verdicts("spam", "rest.jsonl", storage="sqlite:///assay.db")
    source = taken.campaign.settings.source
    assert source.model is None and source.scale == "probability"
    assert taken.campaign.desk.recut_is_due


def test_a_query_and_a_condition_stay_what_they_are(folder: Path) -> None:
    scan = assay.Scan("SELECT url, p, title FROM 'predictions.parquet';", where="p > 0.3")
    create(scan, within=None, budget=50)
    rows = assay.load_campaign("spam", storage="sqlite:///assay.db").settings.source.rows
    rows_of_judge = (f'{{"id": "page-{number}", "score": 0.7}}\n' for number in range(20))
    Path("j.jsonl").write_text("".join(rows_of_judge))
    into = folder / "other" / "it's [v].parquet"
    into.parent.mkdir()
    taken = import_verdicts(
        "spam", "j.jsonl", storage="sqlite:///assay.db", into=into, column="p_judge"
    )
    assert taken.campaign.settings.source.rows == rows
    assert taken.campaign.settings.source.aux == ("p_judge",)
    assert sorted(each.name for each in into.parent.iterdir()) == [into.name]


@pytest.mark.usefixtures("folder")
def test_predictions_in_memory_are_joined_by_who_has_them() -> None:
    pages = {"url": ["a", "b"], "p": [0.9, 0.2]}
    create(pages, within=None, budget=2)
    Path("j.jsonl").write_text('{"id": "a", "score": 0.7}\n')
    with pytest.raises(AssayError, match="these were given in memory") as told:
        import_verdicts("spam", "j.jsonl", storage="sqlite:///assay.db")
    assert "rebase_campaign(..., predictions=..., aux=['judge'])" in told.value.hint
    joined = {**pages, "judge": [0.7, None]}
    campaign = assay.rebase_campaign(
        "spam", storage="sqlite:///assay.db", predictions=joined, aux=["judge"]
    )
    assert [item.id for item in campaign.unjudged(5)] == ["b"]
    with pytest.raises(InputError, match="'jugde' is not an aux column"):
        campaign.unjudged(5, column="jugde")


@pytest.mark.usefixtures("folder")
def test_verdicts_are_taken_by_a_campaign_of_several_metrics() -> None:
    campaign = create(metric="precision", metrics=["precision", "recall"], within=0.06)
    label(campaign, 120)
    people = truth()
    items = campaign.unjudged(SIZE)
    rows = [f"{item.id},{'yes' if people[str(item.id)] else 'no'}" for item in items]
    Path("verdicts.csv").write_text("\n".join(["id,verdict", *rows]))
    taken = import_verdicts("spam", "verdicts.csv", storage="sqlite:///assay.db")
    assert taken.new == SIZE
    assert len(taken.campaign.answers()) + len(waiting_in(taken.campaign.desk.current())) == 120
    label(taken.campaign, SIZE)
    assert taken.campaign.settings.source.model is not None
    assert "judge" in taken.campaign.settings.source.model.columns
    assert assay.verify_campaign("spam", storage="sqlite:///assay.db").clean
