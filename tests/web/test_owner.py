"""The dashboard and the disputes: what they say is what the campaign says."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import assay
from assay import Campaign
from assay.core.answers import Answer
from assay.labelling import history_in, reviewers_in
from assay.results import Shown, Table
from assay.results.progress import HistoryPoint, Pace
from assay.storage import Label
from assay.web import Options
from assay.web import owner as owner_module
from assay.web.serve import ROUTES
from tests.web.conftest import MakeWeb, Web
from tests.web.reading import Read, read
from tests.web.serving import make_campaign

KEYS = (f"key {number}" for number in count())
WITHIN: dict[str, Any] = {"items": 600, "budget": None, "within": 0.1}
TEAM: dict[str, Any] = {"reviewers_per_item": 2, "overlap": 0.5}


def truth(item: Any) -> str:
    number = int(item[1:])
    return "yes" if number % 4 else "no"


def review(campaign: Campaign, who: str, answer: Callable[[Any], str], want: int = 5) -> int:
    """Let somebody judge what they are given; return how much that was."""
    items = campaign.review([], reviewer=who, want=want).items
    said = [Label(str(item.id), answer(item.id), key=next(KEYS)) for item in items]
    campaign.review(said, reviewer=who)
    return len(said)


def careless(item: Any) -> str:
    number = int(item[1:])
    if number % 7 == 0:
        return "broken" if number % 2 else "cannot judge"
    return "no" if number % 5 == 0 else truth(item)


def as_stored(web: Web) -> Campaign:
    """The campaign as somebody else reads it."""
    return assay.load_campaign("spam", storage=web.storage)


def page(web: Web, path: str = "/owner") -> Read:
    answer = web.client("owner").get(path)
    assert answer.status_code == 200, answer.text
    return read(answer.text)


@pytest.fixture(scope="module")
def worked_on(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a campaign in which two people judge half of the items, and may disagree."""
    file = tmp_path_factory.mktemp("team") / "worked-on.db"
    campaign = make_campaign(f"sqlite:///{file}", **WITHIN, **TEAM)
    for _ in range(8):
        review(campaign, "ann", truth)
        review(campaign, "bob", careless)
    return file


@pytest.fixture
def team(worked_on: Path, tmp_path: Path) -> Web:
    """A copy of that campaign, and its page."""
    file = tmp_path / "team.db"
    with closing(sqlite3.connect(worked_on)) as old, closing(sqlite3.connect(file)) as new:
        old.backup(new)
    url = f"sqlite:///{file}"
    return Web(url, assay.load_campaign("spam", storage=url), Options(), ROUTES)


def test_the_numbers_are_the_campaigns(team: Web) -> None:
    shown, campaign = page(team), as_stored(team)
    now = campaign.estimate()
    assert shown.texts["value"] == f"{now.value:.3f}"
    assert shown.texts["interval"] == f"[{now.low:.3f}, {now.high:.3f}]"
    assert shown.texts["half-width"] == f"±{(now.high - now.low) / 2:.4f}"
    assert shown.texts["labels"] == str(len(campaign.answers()))
    assert now.worst_case is not None
    assert shown.texts["worst"] == now.unjudged_words != ""
    unjudged = [answer for answer in campaign.answers().values() if not answer.judged]
    assert shown.texts["unjudged"] == str(len(unjudged)) != "0"
    assert shown.texts["disputes"] == str(len(campaign.disputes())) != "0"
    begun = [review for review in campaign.desk.reviews().values() if 0 < len(review.answers) < 2]
    begun = [review for review in begun if review.wanted == 2]
    assert shown.texts["begun"] == str(len(begun)) != "0"
    assert shown.texts["agreement"].lower() == f"{campaign.agreement()}.".lower()
    assert "at 95% confidence" in shown.words
    reviewers = [
        list(map(str, list(vars(row).values())[:-1]))
        for row in reviewers_in(campaign.desk.current())
    ]
    assert [row[:-1] for row in shown.tables["reviewers stacked"][1:-1]] == reviewers


def test_the_picture_is_also_a_table(team: Web) -> None:
    for dispute in team.campaign.disputes():
        team.campaign.rule(dispute.item.id, "yes", reviewer="eve", key=next(KEYS))
    shown, campaign = page(team), as_stored(team)
    rows = shown.tables["precision by number of labels"][1:]
    points, now = history_in(campaign.desk.current())["precision"], campaign.estimate()
    assert len(points) > 1
    for point in (*points, HistoryPoint(now.labels, now.value, now.low, now.high)):
        told = [point.labels, *(f"{n:.3f}" for n in (point.value or 0.0, point.low, point.high))]
        assert list(map(str, told)) in rows


def answer_all(campaign: Campaign) -> None:
    while review(campaign, "ann", truth, want=20):
        pass


def test_stop_is_said_when_the_goal_is_met(make_web: MakeWeb) -> None:
    web = make_web(**WITHIN)
    assert "Stop:" not in page(web).words
    review(web.campaign, "ann", truth, want=20)
    assert "Stop:" not in page(web).words
    answer_all(web.campaign)
    shown = page(web)
    assert web.campaign.done
    assert "Done: precision is measured to" in shown.words
    assert "not every goal is reached" not in shown.words
    assert shown.texts["left"] == "0"


def test_a_spent_budget_is_no_success(make_web: MakeWeb) -> None:
    web = make_web(items=600, budget=30, within=0.01)
    answer_all(web.campaign)
    words = page(web).words
    assert "Done: the budget is used up" in words
    assert "not every goal is reached" in words


def test_labels_left_and_an_hour_and_the_bar(make_web: MakeWeb) -> None:
    web = make_web(**WITHIN)
    assert "pace" not in page(web).texts  # nobody knows it before five labels
    for _ in range(6):
        review(web.campaign, "ann", truth)
    with closing(sqlite3.connect(web.storage.removeprefix("sqlite:///"))) as file, file:
        # One label every two minutes.
        file.execute(
            "UPDATE label_event SET told_at = strftime('%Y-%m-%dT%H:%M:%S+00:00', "
            "'2026-11-16 09:00', (2 * id) || ' minutes')"
        )
    web = Web(web.storage, as_stored(web), Options(), ROUTES)
    html = web.client("owner").get("/owner").text
    shown, left = read(html), int(read(html).texts["left"].removeprefix("about "))
    assert shown.texts["pace"] == "30"
    assert "in the last 58 minutes of labelling" in shown.words
    assert f"at this pace {Pace(30, 58).hours(left)} more" in shown.words
    assert f'<progress id="bar" max="{30 + left}" value="30"' in html
    answer_all(web.campaign)
    labels = len(web.campaign.answers())
    done = web.client("owner").get("/owner").text
    assert f'<progress id="bar" max="{labels}" value="{labels}"' in done


def with_columns(**more: Any) -> dict[str, Any]:
    """What makes a campaign of 600 items with other columns beside the score."""
    ids = [f"m{number:03d}" for number in range(600)]
    scores = [(number * 0.6180339887 + 0.1) % 1 for number in range(600)]
    return {**WITHIN, "predictions": {"id": ids, "p": scores, **more}, "show": ("id",)}


def cells(result: Shown) -> list[list[str]]:
    """Return the texts of a result's first table."""
    table = result.document().blocks[0]
    assert isinstance(table, Table)
    return [[cell.text for cell in row] for row in table.shown("dashboard")[1]]


def test_how_good_a_judge_is_stands_under_second_opinions(make_web: MakeWeb) -> None:
    """Of the column that says yes and no; numbers are no verdicts, and reviewers see neither."""
    said = [None if number % 9 == 0 else number % 5 > 0 for number in range(600)]
    columns = with_columns(**{"<judge>": said, "length": [*range(600)]})
    web = make_web(**columns, aux=["<judge>", "length"])
    assert "Second opinions" not in page(web).words
    answer_all(web.campaign)
    (found,) = web.campaign.judges()
    assert found.column == "<judge>"
    assert found.to_dict() == web.campaign.judge("<judge>").to_dict()
    shown = page(web)
    assert f"Second opinions {found.headline}" in shown.words
    rows = cells(found)
    assert shown.tables[found.headline][1:] == rows
    told = str(found.gaps[0])
    assert f"{told[:1].upper()}{told[1:]}." in shown.words
    for path in ("/review", "/owner/disputes"):
        assert "judge>" not in page(web, path).words
    assert web.campaign.settings.source.seen == []


def test_answers_have_the_campaigns_names(make_web: MakeWeb) -> None:
    web = make_web(answers=("<Spam>", "Ham"), reviewers_per_item=2, overlap=1.0)
    for who, said in (("ann", "yes"), ("bob", "no")):
        item = web.campaign.review([], reviewer=who, want=1).items[0]
        web.campaign.review([Label(str(item.id), said, key=next(KEYS))], reviewer=who)
    reviewing, disputes = page(web, "/review").words, page(web, "/owner/disputes").words
    for words in (reviewing, disputes):
        assert "<Spam> y Ham n Cannot judge c" in words
    assert "Answers <Spam> Ham" in disputes
    assert "(yes: <Spam>; no: Ham)" in page(web).words


def test_before_the_first_answer_nothing_is_claimed(web: Web) -> None:
    shown = page(web)
    assert "value" not in shown.texts
    assert "Label the first items" in shown.words
    assert "Nobody has answered yet." in shown.words


def test_a_look_at_nothing_new_costs_nothing(team: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    client = team.client("owner")
    first = client.get("/owner/live")
    assert read(first.text).texts["value"] == page(team).texts["value"]
    known = {"if-none-match": first.headers["etag"]}

    def look(_campaign: Campaign) -> None:
        raise AssertionError("looked again")

    with monkeypatch.context() as patched:
        patched.setattr(owner_module, "dashboard_of", look)
        assert client.get("/owner/live", headers=known).status_code == 304
    review(as_stored(team), "ann", truth, want=1)
    again = client.get("/owner/live", headers=known)
    assert again.status_code == 200
    assert again.headers["etag"] != first.headers["etag"]


# Disputes ----------------------------------------------------------------------------------------


def rule(client: TestClient, item: object, answer: object, key: object = None) -> Any:
    document = {"item": item, "answer": answer, "key": next(KEYS) if key is None else key}
    return client.post("/api/ruling", json=document)


def test_a_dispute_is_shown_without_names_first(team: Web) -> None:
    dispute = team.campaign.disputes()[0]
    html = team.client("owner").get("/owner/disputes").text
    shown = read(html)
    assert f"Item {dispute.item.id}" in shown.words
    assert f"Dispute 1 of {len(team.campaign.disputes())}" in shown.words
    said = shown.texts["case"].split("Show who answered what")[0]
    assert "ann" not in said
    assert "bob" not in said
    assert {answer.value for answer in dispute.answers.values()} <= set(said.split())
    assert shown.tables[""][1:] == [
        [name, answer.value] for name, answer in sorted(dispute.answers.items())
    ]
    assert dispute.item["subject"] in html


def test_rulings_empty_the_queue_and_move_the_estimate(team: Web) -> None:
    client, before = team.client("owner"), team.campaign.estimate()
    waiting = [dispute.item.id for dispute in team.campaign.disputes()]
    assert len(waiting) > 1
    for left, item in reversed(list(enumerate(reversed(waiting)))):
        assert f"Item {item}" in page(team, "/owner/disputes").words
        told = rule(client, item, "yes").json()
        assert (told["receipt"]["status"], told["left"]) == ("saved", left)
    assert "No disputes" in page(team, "/owner/disputes").words
    campaign = as_stored(team)
    assert all(campaign.answers()[item] is Answer.YES for item in waiting)
    after = campaign.estimate()
    assert after.labels == before.labels + len(waiting)
    assert page(team).texts["value"] == f"{after.value:.3f}"
    assert [event.reviewer for event in campaign.events() if event.ruling] == ["owner ann"] * len(
        waiting
    )


def test_a_ruling_counts_once_and_can_be_changed(team: Web) -> None:
    client, item = team.client("owner"), team.campaign.disputes()[0].item.id
    assert rule(client, item, "yes", "k").json()["receipt"]["status"] == "saved"
    assert rule(client, item, "yes", "k").json()["receipt"]["status"] == "again"
    assert rule(client, item, "no", "k").json()["receipt"]["status"] == "conflict"
    assert as_stored(team).answers()[item] is Answer.YES
    assert rule(client, item, "no").json()["receipt"]["status"] == "saved"
    assert as_stored(team).answers()[item] is Answer.NO
    assert len([event for event in team.campaign.events() if event.ruling]) == 2


def test_odd_rulings_are_refused(team: Web) -> None:
    before, client = team.rows(), team.client("owner")
    for item, answer, key in (
        ("m001", "perhaps", "k"),
        ("m001", "skip", "k"),
        ("m001", "withdrawn", "k"),
        (1, "yes", "k"),
        (None, "yes", "k"),
        ("m001", "yes", 7),
        ("m001", "yes", "k" * 101),
    ):
        assert rule(client, item, answer, key).status_code == 422
    ruling = {"item": "m001", "answer": "yes", "key": "k", "comment": "x" * 2_001}
    assert client.post("/api/ruling", json=ruling).status_code == 422
    assert rule(client, "never-dealt", "yes").json()["receipt"]["status"] == "refused"
    assert team.rows() == before


def test_any_place_in_the_queue_can_be_asked_for(team: Web) -> None:
    last = len(team.campaign.disputes())
    assert last > 2
    places = {"0": 1, "2": 2, "999999": last, "-1": 1, "²": 1, "1e3": 1, "": 1, "9" * 50: 1}
    for at, place in places.items():
        words = page(team, f"/owner/disputes?at={at}").words
        assert f"Dispute {place} of {last}" in words


def test_where_nobody_can_disagree_that_is_said(web: Web) -> None:
    assert "every item has one reviewer" in page(web, "/owner/disputes").words
    assert "begun" not in page(web).texts


def test_what_to_do_next_follows_the_campaign(make_web: MakeWeb) -> None:
    web = make_web(budget=4)

    def steps() -> list[str]:
        return re.findall(r'<li><a href="([^"]*)">', _part(web, "steps"))

    assert steps() == ["/review", "#invite", "/owner/curve"]
    review(web.campaign, "ann", truth)
    assert steps() == ["/owner/report", "/owner/errors", "/owner/curve"]


def _part(web: Web, name: str) -> str:
    html = web.client("owner").get("/owner").text
    return html[html.index(f'id="{name}"') :].partition("</ol>")[0]
