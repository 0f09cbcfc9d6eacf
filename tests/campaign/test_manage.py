"""Campaigns renamed, deleted, and replaced while nobody has answered."""

import zipfile
from json import loads
from pathlib import Path

import pytest

import assay
from assay.campaign import delete_campaign, load_campaign, rename_campaign, replacing
from assay.errors import DesignError, StorageError
from assay.labelling import ReplacedError
from assay.storage import open_store
from assay.web.tokens import make_token
from tests.kinds import create, followed, label, rebased


def test_a_deleted_campaign_is_gone_and_its_neighbour_whole(storage_url: str) -> None:
    label(create(storage_url, name="ham"), rounds=1)
    gone = label(create(storage_url, name="spam"))
    label(load_campaign("ham", storage=storage_url))  # labels before, between and after
    texts = {item.id for item in gone.ask(1)}
    store = open_store(storage_url)

    assert delete_campaign(store, "spam") == 30

    with store.read() as session:
        assert session.names() == ["ham"]
        assert not session.rows("item", gone.desk.labelling.key) and texts
    with pytest.raises(StorageError, match="there is no campaign named 'spam'"):
        load_campaign("spam", storage=storage_url)
    checks = assay.verify_campaign("ham", storage=storage_url)
    assert checks.clean, checks.findings
    with pytest.raises(ReplacedError, match="renamed or deleted meanwhile; nothing was recorded"):
        gone.tell(dict.fromkeys(texts, True))
    assert create(storage_url, name="spam").estimate().labels == 0  # the name is free


def test_verify_misses_labels_that_were_not_deleted_with_their_campaign(storage: str) -> None:
    label(create(storage, name="ham"))
    label(create(storage, name="spam"))
    with open_store(storage).write() as session:  # as somebody would by hand
        key = session.find("spam")[0]
        for table in ("claim", "label_event", "round", "item", "stratum"):
            session._connection.exec_driver_sql(f"DELETE FROM {table} WHERE campaign_id = {key}")
        session._connection.exec_driver_sql(f"DELETE FROM campaign WHERE id = {key}")
    checks = assay.verify_campaign("ham", storage=storage)
    assert not checks.clean and "of the storage is gone" in checks.findings[0]


def test_a_bundle_still_counts_a_deleted_attempt(storage: str, tmp_path: Path) -> None:
    first = label(create(storage, name="first"))
    delete_campaign(open_store(storage), "first")
    second = label(create(storage, name="second", seed=7))
    second.bundle(tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        name = next(each for each in bundle.namelist() if each.endswith("campaigns.json"))
        attempts = loads(bundle.read(name))
    commitments = [each["commitment"] for each in attempts["over_the_same_predictions"]]
    assert commitments == [first.settings.commitment, second.settings.commitment]
    checks = assay.verify_bundle(tmp_path / "bundle.zip")
    assert checks.clean and "1 more campaigns" in str(checks)


def test_deleting_a_rebased_campaign_deletes_what_it_replaced(storage: str) -> None:
    rebased(storage)
    store = open_store(storage)
    with store.read() as session:
        before = session.names()
    assert len(before) == 2
    delete_campaign(store, before[-1], force=True)
    with store.read() as session:
        assert session.names() == []


def test_a_renamed_campaign_keeps_labels_tokens_and_its_past(storage_url: str) -> None:
    rebased(storage_url) if storage_url.startswith("sqlite") else label(create(storage_url))
    store = open_store(storage_url)
    with store.read() as session:
        *retired, name = session.names()
    before = load_campaign(name, storage=storage_url)
    labels = before.estimate().labels
    make_token(store, name, "reviewer", "ann")

    rename_campaign(store, name, "ham", force=True)

    now = load_campaign("ham", storage=storage_url)
    assert now.estimate().labels == labels
    with store.read() as session:
        assert [each.name for each in session.tokens("ham")] == ["ann"]
    assert assay.verify_campaign("ham", storage=storage_url).clean
    items = now.ask(2)
    with pytest.raises(ReplacedError, match="now called 'ham'"):
        before.tell({item.id: True for item in items})
    for each in retired:  # nothing is recorded where nobody reads it
        with pytest.raises(ReplacedError, match="continue with campaign 'ham'"):
            load_campaign(each, storage=storage_url).tell({items[0].id: True})
    create(storage_url, name="eggs")
    with pytest.raises(StorageError, match="'eggs' already exists"):
        rename_campaign(store, "ham", "eggs", force=True)


def test_nothing_is_taken_from_reviewers_at_work(storage_url: str) -> None:
    campaign = create(storage_url, name="spam")
    (item,) = campaign.ask(1, reviewer="ann")
    store = open_store(storage_url)
    with pytest.raises(StorageError, match="1 of its items are with 'ann'"):
        delete_campaign(store, "spam")
    with pytest.raises(StorageError, match="in use"):
        rename_campaign(store, "spam", "ham")
    campaign.tell({item.id: True}, reviewer="ann")
    rename_campaign(store, "spam", "ham")
    assert delete_campaign(store, "ham", force=True) == 1


@pytest.mark.parametrize("name", ["", " ", "a" * 201, "\ud800", "spam until 2026-01-01 00:00:00"])
def test_names_that_are_not_possible(storage: str, name: str) -> None:
    create(storage, name="spam")
    with pytest.raises(DesignError):
        create(storage, name=name)
    with pytest.raises(DesignError):
        rename_campaign(open_store(storage), "spam", name)


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
def test_periods_of_a_series_stay_in_order(storage: str) -> None:
    followed(storage)
    store = open_store(storage)
    with store.read() as session:
        first, *_, last = session.names()
    with pytest.raises(StorageError, match="is compared with it"):
        delete_campaign(store, first)
    with pytest.raises(StorageError, match="keep their names"):
        rename_campaign(store, last, "ham")
    delete_campaign(store, last)


def test_a_campaign_without_answers_can_be_replaced(storage_url: str) -> None:
    create(storage_url, name="spam", question="Spam?")
    store = open_store(storage_url)
    with pytest.raises(ZeroDivisionError), replacing(store, "spam"):
        raise ZeroDivisionError
    assert load_campaign("spam", storage=storage_url).settings.question == "Spam?"
    with replacing(store, "spam"):
        create(storage_url, name="spam", question="Is it an advertisement?")
    campaign = load_campaign("spam", storage=storage_url)
    assert campaign.settings.question == "Is it an advertisement?"
    label(campaign)
    with pytest.raises(StorageError, match="has 30 labels, and is not replaced"):
        replacing(store, "spam").__enter__()
    assert assay.verify_campaign("spam", storage=storage_url).clean
