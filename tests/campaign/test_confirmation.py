"""What a storage names is read with somebody's rights only once they have agreed to it."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

import assay
from assay.errors import AssayWarning, PredictionsError
from assay.labelling import Part, Source, source_text
from tests.kinds import shallow

SECRET = "the text of a key"
MANY = 1_200  # more items than are in reserve


class Place:
    """A folder with predictions, a storage, and a file that others are not to read."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.storage = folder, f"sqlite:///{folder}/labels.db"
        self.path = folder / "preds.parquet"
        duckdb.sql(
            "COPY (SELECT i AS id, (i % 1000) / 1000 AS p, 'text ' || i AS text, i % 3 AS kind "
            f"FROM range(4000) AS r(i)) TO '{self.path}'"
        )
        (folder / "secret.txt").write_text(SECRET)
        with duckdb.connect(str(folder / "preds.duckdb")) as database:
            database.execute(
                f"CREATE MACRO key() AS (SELECT content FROM read_text('{folder}/secret.txt')); "
                f"CREATE VIEW preds AS SELECT * REPLACE (key() AS text) FROM '{self.path}'"
            )

    def create(self, **given: Any) -> assay.Campaign:
        columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.2, "show": ["text"]}
        goal: dict[str, Any] = {"budget": 600, "design": assay.Design(bins=3), "seed": 5}
        return assay.create_campaign(self.path, **columns, **goal, storage=self.storage, **given)

    def rewrite(self, scan: Mapping[str, str]) -> None:
        """Let the storage say that the predictions are elsewhere, as whoever writes it can."""
        with sqlite3.connect(self.folder / "labels.db") as database:
            ((text,),) = database.execute("SELECT settings FROM campaign").fetchall()
            settings = json.loads(text)
            settings["source"]["parts"][0]["scan"] = dict(scan)
            database.execute("UPDATE campaign SET settings = ?", [json.dumps(settings)])

    def holds(self, text: str) -> bool:
        """Tell whether something has got into the storage."""
        with sqlite3.connect(self.folder / "labels.db") as database:
            return any(text in row for row in database.iterdump())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    shallow(monkeypatch, 50)
    monkeypatch.setenv("ASSAY_CONFIG_HOME", str(tmp_path / "owner"))
    return Place(tmp_path)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what makes this process that of another user."""
    return lambda: monkeypatch.setenv("ASSAY_CONFIG_HOME", str(tmp_path / "other"))


def _nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_args: object, **_more: object) -> None:
        raise AssertionError("predictions were read")

    for name in ("read_predictions", "read_compared"):
        monkeypatch.setattr(f"assay.predictions.{name}", read)


def _sources(place: Place) -> dict[str, dict[str, str]]:
    """Return what somebody could write into a storage; most keep all ids and scores."""
    secret, path = place.folder / "secret.txt", place.path

    def instead(text: str) -> dict[str, str]:
        return {"source": f"SELECT * REPLACE (({text}) AS text) FROM '{path}'"}

    return {
        "read_text": instead(f"SELECT content FROM read_text('{secret}')"),
        "read_csv": instead(
            f"SELECT min(line) FROM read_csv('{secret}', header=false, columns={{line: 'TEXT'}})"
        ),
        "glob": instead(f"SELECT string_agg(file) FROM glob('{place.folder}/*')"),
        "getenv": instead("SELECT getenv('HOME')"),
        "a URL": instead("SELECT min(content) FROM read_text('https://localhost:1/?key')"),
        "ATTACH": {"source": f"ATTACH '{place.folder}/preds.duckdb' AS o; FROM o.preds"},
        "COPY": {"source": f"FROM '{path}'; COPY (SELECT 1) TO '{place.folder}/written.csv'"},
        "a macro": {"source": str(place.folder / "preds.duckdb"), "table": "preds"},
        "a condition": {
            "source": str(path),
            "where": f"(SELECT content LIKE 'the%' FROM read_text('{secret}'))",
        },
        "another file": {"source": str(secret)},
        "Spark": {"source": f"SELECT * FROM text.`{secret}`", "spark": "local[1]"},
        "PostgreSQL": {"source": "postgresql://localhost:1/db", "table": "preds"},
    }


@pytest.mark.parametrize("who", ["the owner", "somebody else"])
def test_a_source_that_was_replaced_is_not_read(
    who: str, place: Place, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.create()
    if who == "somebody else":
        elsewhere()
    for source in _sources(place).values():
        place.rewrite(source)
        campaign = assay.load_campaign(storage=place.storage)
        assert len(campaign.ask(60)) >= 50  # what was drawn before can be judged
        with monkeypatch.context() as reading:
            _nothing_is_read(reading)
            with pytest.raises(PredictionsError, match="are not confirmed on this machine"):
                campaign.ask(MANY)
            with pytest.raises(PredictionsError, match="are not confirmed on this machine"):
                campaign.slices("kind")
            with pytest.raises(PredictionsError, match="are not confirmed on this machine"):
                assay.rebase_campaign(storage=place.storage)
        assert not place.holds(SECRET)


def test_what_was_confirmed_blindly_is_still_confined(place: Place) -> None:
    """A macro in a database file is not shown: it is the engine that does not follow it."""
    place.create()
    place.rewrite(_sources(place)["a macro"])
    campaign = assay.load_campaign(storage=place.storage, confirm=True)
    with pytest.raises(PredictionsError, match="which was not named"):
        campaign.ask(MANY)
    assert not place.holds(SECRET)


def test_who_made_a_campaign_has_confirmed_it(place: Place) -> None:
    place.create()
    assert len(assay.load_campaign(storage=place.storage).ask(MANY)) > 150
    place.create(name="again")
    rebased = assay.rebase_campaign(storage=place.storage)
    assert rebased.settings.before is not None
    assert len(assay.load_campaign(storage=place.storage).ask(MANY)) > 150


def test_on_another_machine_all_goes_on_but_reading(
    place: Place, elsewhere: Callable[[], None]
) -> None:
    mine = place.create()
    items = mine.ask(60)
    elsewhere()
    campaign = assay.load_campaign(storage=place.storage)
    campaign.tell({item.id: True for item in campaign.ask(60)})
    assert campaign.estimate().labels >= len(items)
    assert campaign.report().html
    with pytest.raises(PredictionsError) as caught:
        campaign.ask(MANY)
    said = str(caught.value)
    assert f"source: {place.path}" in said
    assert "shown: text" in said
    assert f"assay status campaign --confirm --storage {place.storage}" in said
    assert "are not confirmed" in campaign.desk.labelling.trouble
    agreed = assay.load_campaign(storage=place.storage, confirm=True)
    assert len(agreed.ask(MANY)) > 150
    assert len(assay.load_campaign(storage=place.storage).ask(MANY)) > 150


def test_predictions_that_are_given_need_no_confirmation_and_give_none(
    place: Place, elsewhere: Callable[[], None]
) -> None:
    place.create()
    elsewhere()
    given = assay.load_campaign(storage=place.storage, predictions=place.path)
    assert len(given.ask(MANY)) > 150
    place.create(name="other")
    with pytest.raises(PredictionsError, match="are not confirmed"):
        assay.load_campaign(storage=place.storage).slices("kind")


def test_to_extend_confirms_nothing_that_was_not_confirmed(
    place: Place, elsewhere: Callable[[], None]
) -> None:
    place.create()
    elsewhere()
    more = {"id": [9_000, 9_001], "p": [0.5, 0.6], "text": ["a", "b"]}
    assay.extend_campaign(more, storage=place.storage)
    with pytest.raises(PredictionsError, match="are not confirmed"):
        assay.load_campaign(storage=place.storage).ask(MANY)


def test_a_series_reads_the_period_before_only_if_it_was_confirmed(
    place: Place, elsewhere: Callable[[], None]
) -> None:
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.2}
    assay.follow_campaign(
        place.path, series="s", period="1", **columns, budget=100, storage=place.storage
    )
    elsewhere()
    with pytest.raises(PredictionsError, match="are not confirmed"):
        assay.follow_campaign(place.path, series="s", period="2", storage=place.storage)


def test_predictions_in_memory_and_storages_in_memory_leave_nothing_behind(place: Place) -> None:
    table = {"id": [1, 2, 3], "p": [0.9, 0.8, 0.7]}
    goal: dict[str, Any] = {"score": "p", "id": "id", "threshold": 0.5, "budget": 5}
    assay.create_campaign(table, **goal, storage=place.storage)
    assay.create_campaign(place.path, **goal)
    assert not (place.folder / "owner").exists()


def test_where_nothing_can_be_written_it_is_said(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.folder / "file").touch()
    monkeypatch.setenv("ASSAY_CONFIG_HOME", str(place.folder / "file"))
    with pytest.warns(AssayWarning, match="cannot be written"):
        campaign = place.create()
    assert len(campaign.ask(MANY)) > 150


def test_the_folder_is_where_configurations_are(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_CONFIG_HOME")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place.folder / "config"))
    place.create()
    (file,) = (place.folder / "config/assay/confirmed").iterdir()
    assert f"source: {place.path}" in file.read_text()
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_nothing_in_a_source_can_pass_for_something_else() -> None:
    """A line end or an escape sequence must not hide a part of what is read."""
    query = "SELECT 1 \x1b[8m FROM 'a'\r\n  columns: harmless"
    part = Part("a query", {"source": query}, "", 1)
    text = source_text(Source((part,), {"id": "a\nb", "show": []}, "string", "margin"))
    assert text.splitlines() == [
        r"  source: SELECT 1 \x1b[8m FROM 'a'\r",
        "        |   columns: harmless",
        r"  columns: a\nb",
        "  kept in the storage, and shown: none",
    ]
