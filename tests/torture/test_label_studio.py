"""A thousand answers given in a real Label Studio, with both sides killed: none lost, none twice.

People answer through Label Studio's SDK and through its API; `assay connect` is started as a person
would. Set LABEL_STUDIO to the program's path to have this run.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from assay.campaign import create_campaign, load_campaign
from tests.exchange.label_studio_server import Server, answered, running
from tests.torture.sizes import report, sized

PROGRAM = os.environ.get("LABEL_STUDIO") or shutil.which("label-studio")
ANSWERS, BATCH = sized(60, 1_000), sized(10, 25)
KILLS = sized(2, 10)  # of either side in turn
MOST_SECONDS = 2.0  # from the last answer of a batch to the next one's tasks
PATIENCE = 180.0
SEED = 19

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="Label Studio is not installed"),
    pytest.mark.xdist_group("label-studio"),
]

SDK = """
import json, sys
from label_studio_sdk import LabelStudio
client = LabelStudio(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
print("ready", flush=True)
for line in sys.stdin:
    task, result, person = json.loads(line)
    try:
        client.annotations.create(id=task, result=result, completed_by=person)
        print("saved", flush=True)
    except Exception as error:
        print(f"failed {type(error).__name__}", flush=True)
"""


class Command:
    """The command ``assay connect``, in a process that can be killed and started again."""

    def __init__(self, server: Server, storage: str, folder: Path) -> None:
        self._words = ["connect", "spam", "--storage", storage, "--to", server.address]
        self._words += ["--batch", str(BATCH), "--ahead", "0"]
        self._environment = {**os.environ, "LABEL_STUDIO_API_KEY": server.token}
        self._log = folder / "connect.log"

    def start(self, *words: str) -> None:
        """Start it."""
        command = [sys.executable, "-m", "assay", *self._words, *words]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self._environment, stdout=subprocess.PIPE, stderr=log
            )

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        self.process.kill()
        self.process.communicate()

    def end(self) -> None:
        """Wait until it ends by itself."""
        self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, self.log()

    def log(self) -> str:
        """Return what it has said so far."""
        return self._log.read_text()


@dataclass
class Team:
    """Three people: one uses the SDK, two the API. All say what the item's id tells them to."""

    server: Server
    sdk: "subprocess.Popen[str]"
    people: Sequence[int]
    given: dict[str, str] = field(default_factory=dict)  # what the server has called saved
    failed: int = 0

    def answer(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Answer tasks, each once; where the server fails, it may have taken the answer or not."""
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(self._answer, range(3), [tasks[k::3] for k in range(3)]))

    def _answer(self, who: int, tasks: Sequence[Mapping[str, Any]]) -> None:
        for task in tasks:
            item, number = task["data"]["assay_id"], task["id"]
            said = says(item)
            try:
                if who == 0:
                    self._by_sdk(number, said)
                else:
                    self.server.annotate(number, said, completed_by=self.people[who])
            except (OSError, ValueError, AssertionError):
                self.failed += 1
                return
            self.given[item] = said

    def _by_sdk(self, task: int, said: str) -> None:
        assert self.sdk.stdin is not None
        assert self.sdk.stdout is not None
        self.sdk.stdin.write(json.dumps([task, [answered(said)], self.people[0]]) + "\n")
        self.sdk.stdin.flush()
        assert self.sdk.stdout.readline() == "saved\n"


def says(item: str) -> str:
    """Return the answer to an item."""
    return ("yes", "yes", "yes", "no", "cannot judge")[int(item.removeprefix("u")) % 5]


@contextmanager
def team(server: Server) -> Iterator[Team]:
    """Let people log in."""
    people = [1]
    for name in ("two", "three"):
        user = {"email": f"{name}@example.org", "username": name, "password": "a" * 12}
        people.append(server.call("POST", "/api/users", user)["id"])
    python = str(Path(str(PROGRAM)).with_name("python"))
    command = [python, "-c", SDK, server.address, server.token]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=nowhere) as sdk:
        assert sdk.stdout is not None
        try:
            assert sdk.stdout.readline() == "ready\n"
            yield Team(server, sdk, people)
        finally:
            sdk.kill()


def tasks_of(server: Server, most: int = 10 * ANSWERS) -> list[dict[str, Any]]:
    """Return the newest tasks of the campaign's project, with their annotations."""
    query = quote(json.dumps({"ordering": ["-tasks:id"]}))
    for project in server.call("GET", "/api/projects?include=id,title")["results"]:
        if project["title"] == "Assay: spam":
            path = f"/api/tasks?project={project['id']}&page_size={most}&fields=all&query={query}"
            found: list[dict[str, Any]] = server.call("GET", path)["tasks"]
            return found
    return []


def open_tasks(server: Server) -> list[dict[str, Any]]:
    """Return those that nobody has answered: of the last batch, as it waits for all of them."""
    return [task for task in tasks_of(server, BATCH) if not task["annotations"]]


def test_a_thousand_answers_with_kills_of_either_side(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'assay.db'}"
    rng = random.Random(SEED)
    ids = [f"u{number}" for number in range(20 * ANSWERS)]
    predictions = tmp_path / "predictions.csv"
    rows = [f"{each},{rng.random():.3f},text of {each}" for each in ids]
    predictions.write_text("\n".join(["id,p,text", *rows]))
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "show": ["text"]}
    create_campaign(predictions, **columns, budget=ANSWERS, name="spam", storage=storage)
    with running(str(PROGRAM), tmp_path, SSRF_PROTECTION_ENABLED="false") as server:
        with team(server) as people:
            quiet, kills = drive(server, Command(server, storage, tmp_path), people, rng)
        left = tasks_of(server)
    campaign = load_campaign("spam", storage=storage)
    assert campaign.done
    check(campaign.events(), left, people.given)
    assert max(quiet) <= MOST_SECONDS, [round(each, 2) for each in sorted(quiet)]
    report(
        f"{ANSWERS:,} answers in Label Studio, {kills[0]} kills of assay connect and {kills[1]} of "
        f"the server, {people.failed} requests of people that failed: none lost, none twice; "
        f"next batch {sum(quiet) / len(quiet):.2f} s after the last answer on average, "
        f"{max(quiet):.2f} s at most, of {len(quiet)} undisturbed ones"
    )


def drive(
    server: Server, command: Command, people: Team, rng: random.Random
) -> tuple[list[float], tuple[int, int]]:
    """Answer batch after batch; return the undisturbed waits, and how often each side was killed.

    The webhook alone tells of the first half's answers: the command looks once in twenty seconds.
    In the second half there is none, and it looks every second.
    """
    by_webhook = ("--webhook", "127.0.0.1:0", "--every", "20")
    batches = -(-ANSWERS // BATCH)
    # When in a batch, and whom: (batch, moment, side), with quiet batches between.
    moments = {
        batch: (rng.choice(["before", "amid", "after"]), k % 2 == 0)
        for k, batch in enumerate(
            sorted(rng.sample(range(1, batches - 1), min(KILLS, batches - 2)))
        )
    }
    waits: list[float] = []
    killed = [0, 0]
    mode: tuple[str, ...] = by_webhook
    command.start(*mode)

    def kill(of_server: bool) -> None:
        if of_server:
            server.kill()
            time.sleep(rng.random())
            server.start()
        else:
            command.kill()
            command.start(*mode)
        killed[of_server] += 1

    last, disturbed, moment = 0.0, True, ""
    for batch in range(10 * batches):
        found_at = wait_for_tasks(server, command, BATCH if disturbed else 1)
        if found_at is None:
            break
        tasks = open_tasks(server)
        if not disturbed:
            waits.append(found_at - last)
        restarting = (
            moment == "after"
        )  # a batch that was on its way may be there before the command
        moment, of_server = moments.get(batch, ("", False))
        if mode is by_webhook and len(people.given) >= ANSWERS / 2:
            mode, moment, of_server = (), "before", False
        # What is left of a batch after a kill is answered while the other side still recovers.
        disturbed = restarting or bool(moment) or len(tasks) < BATCH
        if moment == "before":
            kill(of_server)
        with ThreadPoolExecutor(1) as pool:
            work = pool.submit(people.answer, tasks)
            if moment == "amid":
                time.sleep(rng.uniform(0.2, 1.5))
                kill(of_server)
            work.result()
        last = time.monotonic()
        if moment == "after":
            # About when the next batch is on its way.
            time.sleep(rng.uniform(0.0, 0.6))
            kill(of_server)
    command.end()
    return waits, (killed[0], killed[1])


def wait_for_tasks(server: Server, command: Command, newest: int) -> float | None:
    """Return when one of the newest tasks was open; None when the command has ended.

    To look at many takes the server so long that it would be most of what is measured.
    """
    deadline = time.monotonic() + PATIENCE
    while command.process.poll() is None:
        assert time.monotonic() < deadline, command.log()
        if any(not task["annotations"] for task in tasks_of(server, newest)):
            return time.monotonic()
        time.sleep(0.05)
    return None


def check(
    events: Sequence[Any], tasks: Sequence[Mapping[str, Any]], given: Mapping[str, str]
) -> None:
    """Check that every answer was taken, and every one once; and that every item was sent once."""
    assert len(events) == ANSWERS
    taken = {event.item_id: event.answer for event in events}
    assert len(taken) == ANSWERS
    assert given.items() <= taken.items()
    assert taken == {item: says(item) for item in taken}
    assert {event.reviewer for event in events} == {f"label-studio:{k}" for k in (1, 2, 3)}
    sent = [task["data"]["assay_id"] for task in tasks]
    assert len(sent) == len(set(sent)) == ANSWERS
    there = {task["data"]["assay_id"]: len(task["annotations"]) for task in tasks}
    assert there == dict.fromkeys(taken, 1)
