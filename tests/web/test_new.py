"""A new campaign by the page's requests: files, forecasts, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from assay import create_campaign, load_campaign
from assay.web import Options, new_token
from assay.web.serve import make_hub
from tests.web.conftest import ADDRESS
from tests.web.serving import add_token

CSV = "id,p,text\n" + "".join(f"{n},{(n * 0.618) % 1:.3f},words {n}\n" for n in range(400))
FORM: dict[str, Any] = {
    "id": "id",
    "score": "p",
    "threshold": 0.5,
    "metric": "precision",
    "within": 0.1,
}


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'assay.db'}"


@pytest.fixture
def hub(storage: str) -> TestClient:
    local = new_token()
    app = make_hub(storage, Options(every=True, local_token=local))
    client = TestClient(app, base_url=ADDRESS, follow_redirects=False)
    client.headers["Authorization"] = f"Bearer {local}"
    return client


def send(hub: TestClient, content: str = CSV, name: str = "mail.csv") -> Any:
    return hub.post("/api/new/file", params={"name": name}, content=content)


def test_an_empty_storage_leads_to_a_new_campaign(hub: TestClient) -> None:
    assert hub.get("/").headers["location"] == "/new"
    assert "Drop a file here" in hub.get("/new").text


def test_a_campaign_is_what_its_form_says(hub: TestClient, storage: str, tmp_path: Path) -> None:
    proposed = send(hub).json()
    assert (proposed["id"], proposed["score"], proposed["show"]) == ("id", "p", ["text"])
    assert Path(proposed["path"]).read_text() == CSV
    assert Path(proposed["path"]).parent == tmp_path / "assay-files"
    form = {**FORM, "path": proposed["path"], "show": ["text"], "question": "Is it?"}
    forecast = hub.post("/api/new/forecast", json=form).json()
    assert forecast["items"] == 400
    assert 20 < forecast["labels"] <= forecast["random"] * 1.1
    every = hub.post("/api/new/forecast", json={**form, "within": 0.001}).json()
    assert "must be labelled" in every["cautions"][-1]
    assert "--within 0.1 --show text" in forecast["command"]
    assert hub.post("/api/new/start", json=form).json() == {"name": "mail", "next": "/c/mail/"}
    assert hub.post("/api/new/start", json=form).json()["name"] == "mail-2"
    settings = load_campaign("mail", storage=storage).settings
    assert settings.question == "Is it?"
    assert settings.goal.within == 0.1
    assert settings.forecast is not None  # the dashboard says how many labels are left
    assert settings.forecast.labels == forecast["labels"]
    namespace: dict[str, Any] = {}
    made = forecast["python"].replace("question=", f"storage={storage!r}, name='typed', question=")
    exec(made, namespace)  # what is shown is what works
    assert load_campaign("typed", storage=storage).settings.goal == settings.goal


def test_two_files_of_one_name_are_two(hub: TestClient) -> None:
    first, second = send(hub).json()["path"], send(hub, CSV + "400,0.5,more\n").json()["path"]
    assert first != second
    assert Path(first).read_text() == CSV


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("mail.csv", "", "mail.csv"),
        ("mail.docx", "PK", "mail.docx"),
        (".hidden", CSV, "the name of a file"),
        ("", CSV, "the name of a file"),
    ],
)
def test_a_file_that_cannot_be_used_is_not_kept(
    hub: TestClient, tmp_path: Path, name: str, content: str, words: str
) -> None:
    refused = send(hub, content, name)
    assert refused.status_code == 422
    assert words in refused.text
    assert not list(tmp_path.glob("assay-files/*"))


def test_a_name_leads_nowhere_else(hub: TestClient, tmp_path: Path) -> None:
    path = Path(send(hub, name="../../mail.csv").json()["path"])
    assert path == tmp_path / "assay-files" / "mail.csv"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"within": "often"}, "'within' must be a number"),
        ({"show": "text"}, "'show' must be a list"),
        ({"score": "nothing"}, "nothing"),
        ({"path": "/nowhere/at/all.csv"}, "/nowhere/at/all.csv"),
        ({"threshold": None}, "predicted"),
    ],
)
def test_a_form_that_is_wrong(hub: TestClient, changed: dict[str, Any], words: str) -> None:
    form = {**FORM, "path": send(hub).json()["path"], **changed}
    refused = hub.post("/api/new/start", json=form)
    assert refused.status_code == 422
    assert words in refused.text
    assert words in hub.post("/api/new/forecast", json=form).text
    assert hub.get("/").headers["location"] == "/new"  # nothing was made


def test_without_a_forecast_there_is_still_a_command(hub: TestClient) -> None:
    classes = "id,predicted\n" + "".join(f"{n},{'abc'[n % 3]}\n" for n in range(300))
    form = {"path": send(hub, classes).json()["path"], "predicted": "predicted"}
    form |= {"id": "id", "metric": "accuracy", "within": 0.1}
    answer = hub.post("/api/new/forecast", json=form).json()
    assert answer["items"] == 300
    assert "labels" not in answer
    assert answer["command"].endswith("--predicted predicted --metric accuracy --within 0.1")
    assert hub.post("/api/new/start", json=form).status_code == 200


Ask = Callable[[TestClient], Any]
ACTIONS: list[Ask] = [
    lambda hub: hub.get("/new"),
    send,
    *(
        lambda hub, action=action: hub.post(f"/api/new/{action}", json={"path": "x.csv"})
        for action in ("look", "forecast", "start")
    ),
]


@pytest.mark.parametrize("ask", ACTIONS)
def test_nobody_else_makes_campaigns(hub: TestClient, storage: str, ask: Ask) -> None:
    hub.post("/api/new/start", json={**FORM, "path": send(hub).json()["path"]})
    for token, refused in (("wrong", 401), (add_token(storage, "owner", "eve", "mail"), 403)):
        hub.headers["Authorization"] = f"Bearer {token}"
        assert ask(hub).status_code == refused


def test_only_what_the_form_can_say_is_changed_on_the_page(
    hub: TestClient, storage: str, tmp_path: Path
) -> None:
    path = tmp_path / "mail.csv"
    path.write_text(CSV)
    form = {**FORM, "path": str(path), "show": ["text"]}
    hub.post("/api/new/start", json={**form, "name": "plain"})
    create_campaign(path, **FORM, slices=["text"], name="sliced", storage=storage)
    create_campaign(
        {"p": [0.9, 0.2]}, score="p", threshold=0.5, budget=1, name="memory", storage=storage
    )
    assert "Change the campaign" in hub.get("/new?change=plain").text
    for name in ("sliced", "memory"):
        page = hub.get(f"/new?change={name}")
        assert page.status_code == 422
        assert "--replace" in page.text
    changed = {**form, "replaces": "plain", "name": "plain", "question": "Is it a scam?"}
    assert hub.post("/api/new/start", json=changed).json()["name"] == "plain"
    campaign = load_campaign("plain", storage=storage)
    assert campaign.settings.question == "Is it a scam?"
    campaign.tell({campaign.ask(1)[0].id: True})
    assert hub.post("/api/new/start", json=changed).status_code == 503
    assert len(load_campaign("plain", storage=storage).answers()) == 1
    assert hub.post("/delete", data={"name": "plain", "typed": "plan"}).status_code == 422
    assert hub.post("/rename", data={"name": "plain", "new": "sliced"}).status_code == 503
    assert "plain" in hub.get("/").text
