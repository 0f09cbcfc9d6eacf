"""The whole way through the real Label Studio, where there is one: out, judged there, and in again.

Set LABEL_STUDIO to the program's path to have this run (`pip install label-studio`: 1 GB).
"""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.campaign.campaign import Campaign
from assay.campaign.exchange import Imported, import_labels, write_batch
from assay.core.answers import Answer
from assay.errors import InputError
from tests.exchange.campaigns import AWKWARD, campaign_of
from tests.exchange.label_studio_server import LabelStudio, answered, running

PROGRAM = os.environ.get("LABEL_STUDIO") or shutil.which("label-studio")
COLUMNS = ("body text", 'quo"ted & <b>', "$price", "label")

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="Label Studio is not installed: no label-studio, no LABEL_STUDIO"
)


def test_a_batch_goes_through_label_studio_and_comes_back(tmp_path: Path) -> None:
    texts = {column: [f"{column} of {id}" for id in AWKWARD] for column in COLUMNS}
    campaign = campaign_of(AWKWARD, texts, per_item=2)
    batch = write_batch(campaign, 100, format="label-studio", reviewer="nobody")
    assert batch.count == len(AWKWARD)
    with running(str(PROGRAM), tmp_path) as server:
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
    server: LabelStudio, content: bytes, config: bytes | None
) -> tuple[int, list[dict[str, Any]]]:
    """Make a project with the configuration, upload the tasks, and return them."""
    assert config is not None
    made = server.call("POST", "/api/projects", {"title": "assay", "label_config": config.decode()})
    server.upload(made["id"], "batch.json", content)
    found = server.call("GET", f"/api/tasks?project={made['id']}&page_size=100&fields=all")
    return made["id"], found["tasks"]


def judge(server: LabelStudio, numbers: dict[str, int]) -> None:
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


def snapshot_of(server: LabelStudio, project: int) -> bytes:
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
    reviews = campaign.reviews()
    assert set(reviews) == {disputed, agreed, *others}
    assert reviews[disputed].answers == {
        "label-studio:1": Answer.NO,
        "label-studio:2": Answer.CANNOT_JUDGE,
    }
    assert campaign.answers() == {agreed: Answer.NO}
    assert [each.item.id for each in campaign.disputes()] == [disputed]
