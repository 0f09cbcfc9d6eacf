"""The whole way through the real Label Studio, where there is one: out, judged there, and in again.

Set LABEL_STUDIO to the program's path to have this run (`pip install label-studio`: 1 GB).
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.campaign.campaign import Campaign
from assay.campaign.create import create_campaign
from assay.campaign.exchange import Imported, import_labels, write_batch
from assay.campaign.studio import Connection
from assay.core.answers import Answer
from assay.errors import InputError
from assay.exchange.studio import HEADER, LabelStudio
from assay.exchange.webhook import Webhook
from tests.exchange.campaigns import AWKWARD, campaign_of
from tests.exchange.label_studio_server import Server, answered, running

PROGRAM = os.environ.get("LABEL_STUDIO") or shutil.which("label-studio")
COLUMNS = ("body text", 'quo"ted & <b>', "$price", "label")

pytestmark = [
    pytest.mark.skipif(
        PROGRAM is None, reason="Label Studio is not installed: no label-studio, no LABEL_STUDIO"
    ),
    pytest.mark.xdist_group("label-studio"),
]


def test_a_batch_goes_through_label_studio_and_comes_back(server: Server) -> None:
    texts = {column: [f"{column} of {id}" for id in AWKWARD] for column in COLUMNS}
    campaign = campaign_of(AWKWARD, texts, per_item=2)
    batch = write_batch(campaign, 100, format="label-studio", reviewer="nobody")
    assert batch.count == len(AWKWARD)
    project, tasks = set_up(server, batch.content, batch.config)
    sent = {task["data"]["assay_id"]: task["data"] for task in json.loads(batch.content)}
    assert sent.keys() == set(AWKWARD)
    assert {task["data"]["assay_id"]: task["data"] for task in tasks} == sent
    assert not any(task["predictions"] for task in tasks)
    numbers = {task["data"]["assay_id"]: task["id"] for task in tasks}
    judge(server, numbers)
    export = f"/api/projects/{project}/export?download_all_tasks=true&exportType="
    exported = server.raw("GET", f"{export}JSON", None, "")
    minimal = server.raw("GET", f"{export}JSON_MIN", None, "")
    snapshot = snapshot_of(server, project)
    if keep := os.environ.get("KEEP_EXPORT"):  # how tests/exchange/data came to be
        Path(keep, "label_studio_export.json").write_bytes(exported)
        Path(keep, "label_studio_snapshot.json").write_bytes(snapshot)
        Path(keep, "label_studio_minimal.json").write_bytes(minimal)
    check(campaign, exported)
    assert import_labels(campaign, snapshot).unchanged == len(AWKWARD) - 2 + 2
    with pytest.raises(InputError, match="JSON-MIN"):
        import_labels(campaign, minimal)


def set_up(
    server: Server, content: bytes, config: bytes | None
) -> tuple[int, list[dict[str, Any]]]:
    """Make a project with the configuration, upload the tasks, and return them."""
    assert config is not None
    made = server.call("POST", "/api/projects", {"title": "assay", "label_config": config.decode()})
    server.upload(made["id"], "batch.json", content)
    found = server.call("GET", f"/api/tasks?project={made['id']}&page_size=100&fields=all")
    return made["id"], found["tasks"]


def judge(server: Server, numbers: dict[str, int]) -> None:
    """Judge all tasks but one: two are left by one of two users, and one is answered twice."""
    second = server.call(
        "POST", "/api/users", {"email": "two@example.org", "username": "two", "password": "a" * 12}
    )["id"]
    left, skipped, *others = AWKWARD
    server.annotate(numbers[skipped], "yes", was_cancelled=True)
    for item in others:
        server.annotate(numbers[item], "no")
    changed = server.annotate(numbers[others[0]], "no", completed_by=second)
    path = f"/api/annotations/{changed}/"
    server.call("PATCH", path, {"result": [answered("cannot judge")]})
    server.annotate(numbers[others[1]], "no", completed_by=second)
    assert left in numbers


def snapshot_of(server: Server, project: int) -> bytes:
    """Return the other kind of export, which tells users' addresses."""
    options = {"serialization_options": {"annotations__completed_by": {"only_id": False}}}
    made = server.call("POST", f"/api/projects/{project}/exports/", options)["id"]
    path = f"/api/projects/{project}/exports/{made}/download?exportType=JSON"
    return server.raw("GET", path, None, "")


def check(campaign: Campaign, exported: bytes) -> None:
    """Check what is known after the export was taken in, once and again."""
    once = import_labels(campaign, exported)
    told = len(AWKWARD) - 2 + 2
    assert once == Imported(
        new=told, revised=0, unchanged=0, without_label=1, skipped=1, format="label-studio"
    )
    assert import_labels(campaign, exported).unchanged == told
    _, _, disputed, agreed, *others = AWKWARD
    reviews = campaign.desk.reviews()
    assert set(reviews) == {disputed, agreed, *others}
    assert reviews[disputed].answers == {
        "label-studio:1": Answer.NO,
        "label-studio:2": Answer.CANNOT_JUDGE,
    }
    assert campaign.answers() == {agreed: Answer.NO}
    assert [each.item.id for each in campaign.disputes()] == [disputed]


# The connection that lasts (`assay connect`): what the real server makes of it.


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One that lets nobody's webhook into its own network, as it is by default."""
    with running(str(PROGRAM), tmp_path_factory.mktemp("studio")) as started:
        yield started


def made(name: str, **more: Any) -> Campaign:
    """Return a campaign in memory."""
    columns = {"p": [0.55 + 0.004 * k for k in range(100)], "text": [f"of {k}" for k in range(100)]}
    options = {"budget": 30, "storage": "sqlite://", "name": name, **more}
    return create_campaign(columns, score="p", threshold=0.5, show=["text"], **options)


def tasks_of(server: Server, connection: Connection) -> dict[str, dict[str, Any]]:
    """Return the tasks of a connection's project, by their items; each has one."""
    path = f"/api/tasks?project={connection.standing().project}&page_size=1000&fields=all"
    tasks = server.call("GET", path)["tasks"]
    found = {task["data"].get("assay_id", ""): task for task in tasks}
    assert len(found) == len(tasks)
    return found


def test_answers_skips_changes_and_deletions_come_as_they_are_made(server: Server) -> None:
    campaign = made("as they come", reviewers_per_item=2, overlap=0.5)
    token = server.call("POST", "/api/token/", {})["token"]  # a personal one
    said: list[str] = []
    connection = Connection(
        campaign, LabelStudio(server.address, token), batch=20, ahead=0, tell=said.append
    )
    connection.step()
    connection.step()
    tasks = tasks_of(server, connection)
    assert sorted(int(item) for item in tasks) == sorted(
        item.id for item in campaign.ask(20, reviewer="label-studio")
    )
    assert not any(task["predictions"] for task in tasks.values())
    wanted = {item: campaign.settings.reviewers_wanted(item) for item in tasks}
    assert {item: task["overlap"] for item, task in tasks.items()} == wanted
    assert set(wanted.values()) == {1, 2}
    alone = [item for item, people in wanted.items() if people == 1]
    first = server.annotate(tasks[alone[0]]["id"], "yes")
    server.annotate(tasks[alone[1]]["id"], "yes", was_cancelled=True)
    gone = server.annotate(tasks[alone[2]]["id"], "no")
    data = {**tasks[alone[0]]["data"], "assay_id": "foreign"}
    server.call("POST", "/api/tasks", {"project": connection.standing().project, "data": data})
    connection.step()
    assert now(campaign) == {alone[0]: "yes", alone[2]: "no"}
    server.call("PATCH", f"/api/annotations/{first}/", {"result": [answered("broken")]})
    server.raw("DELETE", f"/api/annotations/{gone}/", None, "")
    connection.step()
    assert now(campaign) == {alone[0]: "broken", alone[2]: "no"}
    assert any("was deleted in Label Studio" in line for line in said)
    standing = connection.standing()
    assert (standing.taken, standing.revised, standing.skipped) == (2, 1, 1)
    campaign.tell({int(alone[3]): "no"}, reviewer="ann")
    connection.step()
    left = tasks_of(server, connection)
    assert left.keys() == {*tasks, "foreign"} - {alone[3]}
    assert left[alone[0]]["is_labeled"] is True


def now(campaign: Campaign) -> dict[str, str]:
    """Return the answers that count."""
    return {str(item): answer.value for item, answer in campaign.answers().items()}


def test_a_webhook_that_the_server_refuses_is_done_without(server: Server) -> None:
    said: list[str] = []
    studio = LabelStudio(server.address, server.token)
    connection = Connection(made("refused"), studio, batch=10, tell=said.append)
    hook = Webhook("127.0.0.1", 0, header=HEADER)
    try:
        next(iter(connection.run(every=0.1, webhook=hook)))
    finally:
        hook.close()
    assert any("SSRF_PROTECTION_ENABLED=false" in line for line in said)
    assert len(tasks_of(server, connection)) == 10


def test_a_token_that_the_server_does_not_know_is_told(server: Server) -> None:
    for token in ("0" * 40, "a.b.c"):
        with pytest.raises(InputError, match="refuses the access token"):
            LabelStudio(server.address, token).projects()
    with pytest.raises(InputError, match="no project 9999"):
        studio = LabelStudio(server.address, server.token)
        Connection(made("nowhere"), studio, project=9999).step()
