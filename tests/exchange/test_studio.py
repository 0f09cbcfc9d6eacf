"""The connection to Label Studio: what goes wrong on the way, and what becomes of answers."""

import http.client
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from assay.campaign.campaign import Campaign
from assay.campaign.create import create_campaign
from assay.campaign.studio import HOLDER, Connection
from assay.errors import InputError, ServiceError
from assay.exchange.studio import HEADER, GoneError, LabelStudio
from assay.exchange.webhook import Webhook
from tests.exchange.fake_label_studio import Fake, Fault, faking


@pytest.fixture
def there() -> Iterator[tuple[Fake, str]]:
    """A server, and its address."""
    with faking() as both:
        yield both


def campaign(**more: Any) -> Campaign:
    """Return a campaign in memory."""
    scores = [0.55 + 0.4 * (k % 100) / 100 for k in range(400)]
    told = {"budget": 40, "storage": "sqlite://", **more}
    columns = {"p": scores, "text": [f"text {k}" for k in range(400)]}
    return create_campaign(columns, score="p", threshold=0.5, show=["text"], **told)


class Talk:
    """A connection that sends ten items at a time, and what it says."""

    def __init__(
        self, there: tuple[Fake, str], made: Campaign | None = None, **options: Any
    ) -> None:
        self.fake, address = there
        self.made, self.said = made or campaign(), list[str]()
        studio = LabelStudio(address, "abc", timeout=5)
        told = {"tell": self.said.append, "batch": 10, **options}
        self.connection = Connection(self.made, studio, **told)

    def begun(self) -> "Talk":
        self.step()
        return self

    def step(self) -> bool:
        return self.connection.step()

    def first(self, k: int = 0) -> tuple[int, str]:
        """Return the number of a task, and its item."""
        number = sorted(self.fake.tasks)[k]
        return number, self.fake.tasks[number]["data"]["assay_id"]


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (401, InputError, "--token-file or LABEL_STUDIO_API_KEY"),
        (403, InputError, "refuses the access token"),
        (404, GoneError, "does not know this project or task"),
        (302, InputError, "redirects to https://elsewhere.example.org/"),
        (400, InputError, "refuses this request"),
        (429, ServiceError, "is failing at the moment"),
        (502, ServiceError, "is failing at the moment"),
        ("html", InputError, "does not answer like Label Studio"),
        ("drop", ServiceError, "does not answer"),
        ("slow", ServiceError, "does not answer: timed out"),
    ],
)
def test_what_goes_wrong_is_told(
    there: tuple[Fake, str], fault: Fault, error: type[Exception], words: str
) -> None:
    fake, address = there
    fake.faults.append(fault)
    with pytest.raises(error, match=words) as raised:
        LabelStudio(address, "abc", timeout=0.1 if fault == "slow" else 30).projects()
    assert type(raised.value) is error


@pytest.mark.parametrize(
    "address", ["ftp://a", "http://", "http://me:word@a", "http://a?b", "http://a:port", ""]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="not an address of Label Studio"):
        LabelStudio(address, "abc")


def test_tokens_of_both_kinds(there: tuple[Fake, str]) -> None:
    fake, address = there
    LabelStudio(address, "abc").projects()
    personal = LabelStudio(address, "a.b.c")
    personal.projects()
    fake.access = "another"  # the old one has run out
    personal.projects()
    sent = [(path, who) for _, path, who in fake.requests]
    assert sent[0] == ("/api/projects", "Token abc")
    refreshed = ("/api/token/refresh/", "")
    assert sent[1:3] == [refreshed, ("/api/projects", "Bearer one!")]
    assert sent[3:] == [
        ("/api/projects", "Bearer one!"),
        refreshed,
        ("/api/projects", "Bearer another!"),
    ]


def test_a_batch_is_blind_and_comes_in_the_order_of_asking(there: tuple[Fake, str]) -> None:
    talk = Talk(there)
    assert not talk.step()
    asked = [str(item.id) for item in talk.made.ask(10, reviewer=HOLDER)]
    data = [talk.fake.tasks[number]["data"] for number in sorted(talk.fake.tasks)]
    assert [each["assay_id"] for each in data] == asked
    assert data[0].keys() == {"assay_id", "question", "name_1", "text_1"}
    assert not talk.made.ask(10, reviewer="ann") or {
        str(item.id) for item in talk.made.ask(10, reviewer="ann")
    }.isdisjoint(asked)


def test_all_answers_are_taken_and_the_project_is_found_again() -> None:
    with faking(lambda item: "yes" if int(item) % 4 else "no") as there:
        made = campaign()
        for _ in range(8):  # each a process of its own
            if Talk(there, made).step():
                break
        fake, _ = there
        assert made.done
        assert len(fake.projects) == 1
        assert len(made.events()) == 40
        assert made.answers().keys() == {int(t["data"]["assay_id"]) for t in fake.tasks.values()}
        assert {event.reviewer for event in made.events()} == {"label-studio:1"}


def test_a_batch_whose_reply_is_lost_is_not_sent_twice(there: tuple[Fake, str]) -> None:
    fake, address = there
    connection = Connection(campaign(), LabelStudio(address, "abc"), batch=10)
    fake.faults.extend(["", "", "", "drop"])  # projects, a new one, its tasks, the batch
    with pytest.raises(ServiceError):
        connection.step()
    assert len(fake.tasks) == 10
    connection.step()
    assert len(fake.tasks) == 10


def test_a_batch_that_did_not_arrive_is_sent_again(there: tuple[Fake, str]) -> None:
    talk = Talk(there, ahead=0).begun()
    for task in list(talk.fake.tasks):
        talk.fake.annotate(task, "yes")
    talk.fake.faults.extend(["", "", 502])  # what has changed, twice, and the next batch
    with pytest.raises(ServiceError):
        talk.step()
    assert len(talk.fake.tasks) == 10
    talk.step()
    assert len(talk.fake.tasks) == 20
    talk.step()
    assert len(talk.fake.tasks) == 20


def test_a_server_that_is_away_is_waited_for(
    there: tuple[Fake, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.campaign.studio._LONGEST_WAIT", 0.01)
    talk = Talk(there)
    talk.fake.faults.extend([502, 502])
    assert next(iter(talk.connection.run(every=0.01))).tasks == 0
    assert [line.split("; ")[-1] for line in talk.said[:2]] == ["trying again in 0.01 s"] * 2
    assert len(talk.fake.tasks) == 10


def test_twins_are_removed_but_not_what_somebody_has_begun(there: tuple[Fake, str]) -> None:
    talk = Talk(there).begun()
    (first, one), (second, two) = talk.first(0), talk.first(1)
    project = talk.fake.tasks[first]["project"]
    bare = talk.fake.add(project, {"assay_id": one})
    begun = talk.fake.add(project, {"assay_id": two})
    talk.fake.annotate(begun, "no")
    foreign = [talk.fake.add(project, {"other": 1}), talk.fake.add(project, {"assay_id": "no"})]
    talk.step()
    assert bare not in talk.fake.tasks
    assert second not in talk.fake.tasks
    assert {first, begun, *foreign} <= talk.fake.tasks.keys()
    assert {str(each): said.value for each, said in talk.made.answers().items()} == {two: "no"}
    assert talk.connection.standing().tasks == 10


def test_an_item_that_was_answered_elsewhere_is_taken_away(there: tuple[Fake, str]) -> None:
    talk = Talk(there).begun()
    number, item = talk.first()
    talk.made.tell({int(item): "yes"}, reviewer="ann")
    talk.step()
    assert number not in talk.fake.tasks


def test_a_task_that_somebody_removed_is_sent_again(there: tuple[Fake, str]) -> None:
    talk = Talk(there).begun()
    talk.step()
    number, item = talk.first()
    del talk.fake.tasks[number]
    talk.connection._pushed.clear()  # which it is by itself in a minute
    talk.step()
    assert len(talk.fake.of(item)) == 1


@pytest.mark.parametrize("revise", [False, True])
def test_changed_answers_count_until_their_round_is_counted(
    there: tuple[Fake, str], *, revise: bool
) -> None:
    talk = Talk(there, ahead=0, revise=revise).begun()
    numbers = sorted(talk.fake.tasks)
    said = {number: talk.fake.annotate(number, "yes") for number in numbers[:9]}
    talk.step()
    item = talk.first()[1]
    talk.fake.annotate(numbers[0], "no", number=said[numbers[0]])
    talk.step()
    assert talk.made.answers()[int(item)].value == "no"
    talk.fake.annotate(numbers[9], "yes")
    talk.step()  # the round is complete
    talk.fake.annotate(numbers[0], "broken", number=said[numbers[0]])
    talk.step()
    talk.step()
    assert talk.made.answers()[int(item)].value == ("broken" if revise else "no")
    standing = talk.connection.standing()
    assert (standing.taken, standing.revised, standing.kept) == (10, 1 + revise, 1 - revise)
    assert sum("after its round was counted" in line for line in talk.said) == 1 - revise


def test_deleted_answers_stay_and_skipped_ones_hold_nothing_up(there: tuple[Fake, str]) -> None:
    talk = Talk(there, ahead=0).begun()
    numbers = sorted(talk.fake.tasks)
    for number in numbers[:8]:
        talk.fake.annotate(number, "yes")
    talk.step()
    talk.fake.forget(numbers[0])
    for number in numbers[8:]:
        talk.fake.annotate(number, None)
    talk.step()
    talk.step()
    assert len(talk.made.answers()) == 8
    assert any("was deleted in Label Studio" in line for line in talk.said)
    assert talk.connection.standing().skipped == 2
    assert len(talk.fake.tasks) == 20


def test_an_answer_that_is_none_does_not_hold_up_others(there: tuple[Fake, str]) -> None:
    talk = Talk(there).begun()
    (bad, _), (good, item) = talk.first(0), talk.first(1)
    talk.fake.annotate(bad, "perhaps")
    talk.fake.annotate(good, "yes")
    talk.step()
    assert [str(each) for each in talk.made.answers()] == [item]
    assert sum("cannot be imported" in line and "perhaps" in line for line in talk.said) == 1


def test_items_for_two_people_have_tasks_for_two(there: tuple[Fake, str]) -> None:
    made = campaign(reviewers_per_item=2, overlap=0.5)
    talk = Talk(there, made, batch=20, rename={"label-studio:2": "ann"})
    talk.step()
    talk.step()
    people = {task["data"]["assay_id"]: task["overlap"] for task in talk.fake.tasks.values()}
    assert people == {item: made.settings.reviewers_wanted(item) for item in people}
    assert set(people.values()) == {1, 2}
    (project,) = talk.fake.projects.values()
    assert project["maximum_annotations"] == 2
    item = next(item for item, wanted in people.items() if wanted == 2)
    for who in (1, 2):
        talk.fake.annotate(talk.fake.of(item)[0], "yes", who=who)
    talk.step()
    assert made.desk.reviews()[int(item)].answers.keys() == {"label-studio:1", "ann"}


def test_nothing_is_made_for_a_campaign_that_has_stopped(there: tuple[Fake, str]) -> None:
    stopped = campaign(budget=2)
    stopped.tell({item.id: "yes" for item in stopped.ask(2)})
    with pytest.raises(InputError, match="nothing to send"):
        Talk(there, stopped).step()
    assert not there[0].projects


def test_a_project_of_others_is_refused(there: tuple[Fake, str]) -> None:
    fake, _ = there
    for number, description in ((101, ""), (102, "theirs [assay-0123]"), (103, "mine")):
        fake.projects[number] = {"id": number, "description": description}
    fake.add(101, {"text": "a"})
    for number, words in (
        (101, "1 tasks that are not"),
        (102, "another camp"),
        (9, "no project 9"),
    ):
        with pytest.raises(InputError, match=words):
            Talk(there, project=number).step()
    made = campaign()
    Talk(there, made, project=103).step()
    assert fake.projects[103]["description"].startswith("mine Items of the Assay campaign")
    talk = Talk(there, made)
    talk.step()
    assert len([task for task in fake.tasks.values() if task["project"] == 103]) == 10
    fake.projects.clear()
    with pytest.raises(InputError, match="project 103 was deleted from Label Studio"):
        talk.step()


def test_the_webhook_is_set_once_and_rings_for_who_knows_the_secret(
    there: tuple[Fake, str],
) -> None:
    hook = Webhook("127.0.0.1", 0, header=HEADER)
    made = campaign()
    try:
        for _ in range(2):
            talk = Talk(there, made)
            next(iter(talk.connection.run(every=0.01, webhook=hook)))
        (set_,) = talk.fake.hooks.values()
        assert set_["url"] == hook.url
        assert set_["send_payload"] is False
        assert "ANNOTATION_UPDATED" in set_["actions"]
        for secret, status, rung in (("guess", 403, False), (hook.secret, 204, True)):
            connection = http.client.HTTPConnection(urlsplit(hook.url).netloc, timeout=5)
            connection.request("POST", "/", b"{}", {HEADER: secret})
            assert connection.getresponse().status == status
            connection.close()
            assert hook.rung.is_set() is rung
        talk.connection.close()
        assert not talk.fake.hooks
    finally:
        hook.close()
