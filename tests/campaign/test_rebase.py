"""Labels outlive a change of the predictions, and an estimate from them is as good as a new one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.campaign.carry_over import replace_campaign
from assay.core.types import Bools, Floats, Ints
from assay.labelling import waiting_in
from assay.labelling.settings import Settings
from assay.storage import open_store
from tests.kinds import finish

SIZE = 6000
RNG = np.random.default_rng(21)
SCORE = RNG.beta(1.2, 1.0, SIZE)
TRUTH = RNG.random(SIZE) < 0.1 + 0.8 * SCORE
OLD, NEW = np.arange(5000), np.arange(SIZE)  # 20% more


SEVERAL: dict[str, Any] = {
    "score": None,
    "threshold": None,
    "classifiers": {"new": {"score": "p", "threshold": 0.4}, "old": {"predicted": "vote"}},
    "metrics": ["precision:new within 0.08", "recall:new - recall:old", "prevalence"],
    "budget": 300,
    "simultaneous": True,
}
KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "guaranteed": {"design": assay.Design.guaranteed()},
    "bennett-carvalho": {"design": assay.Design.bennett_carvalho()},
    "kumar-raj": {"design": assay.Design.kumar_raj()},
    "random": {"design": assay.Design.simple_random()},
    "several": SEVERAL,
}


def table(rows: Ints, score: Floats = SCORE) -> dict[str, Any]:
    vote = (score[rows] + rows % 7 / 10) > 0.8
    notes = [f"note {row}" for row in rows]
    return {"row": rows, "p": score[rows], "note": notes, "vote": vote}


def create(storage: str | None, rows: Ints = OLD, **more: Any) -> assay.Campaign:
    columns: dict[str, Any] = {
        "id": "row",
        "score": "p",
        "threshold": 0.4,
        "show": ["note"],
        "seed": 9,
    }
    goal = {"within": 0.05} if "budget" not in more else {}
    return assay.create_campaign(table(rows), storage=storage, **{**columns, **goal, **more})


def answered(estimate: assay.Estimate) -> assay.Estimate:
    """Return an estimate without what waits: a rebased campaign has dealt its next round."""
    return replace(estimate, open=0)


def label(
    campaign: assay.Campaign, rounds: int = 10**6, truth: Bools = TRUTH, size: int = 20
) -> list[int]:
    return finish(campaign, truth, size, most=rounds * size, reviewer="ann")


def told(batch: list[assay.Item], truth: Bools = TRUTH) -> dict[int, bool]:
    return {int(item.id): bool(truth[int(item.id)]) for item in batch}


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
@pytest.mark.parametrize("rounds", [3, 10**6], ids=["under way", "done"])
@pytest.mark.parametrize("kind", KINDS)
def test_on_the_same_predictions_nothing_changes(storage: str, kind: str, rounds: int) -> None:
    old = create(storage, **KINDS[kind])
    label(old, rounds)
    outstanding = old.ask(20)
    before = old.estimates().to_dict(), old.strata(), old.answers(), old.done
    rebased = assay.rebase_campaign(storage=storage, predictions=table(OLD))
    after = rebased.estimates().to_dict(), rebased.strata(), rebased.answers(), rebased.done
    assert after == before
    assert rebased.settings.goal == old.settings.goal
    assert rebased.settings.source.scores == old.settings.source.scores != ()
    assert waiting_in(rebased.desk.current()) == {}
    assert rebased.ask(20) == outstanding


def test_most_labels_are_used_again(storage: str) -> None:
    """20% new items: of the 400 answers all but the share of the new items need nobody.

    400 of the 6,000 numbers are drawn, and whether one is a new item's is chance: 1 in 6. More
    than 90 happens to 400 such draws less than once in 1,000 times, other cuts aside.
    """
    old = create(storage, budget=400)
    judged = set(label(old))
    assert len(judged) == 400

    def check(asked: list[int]) -> None:
        assert len(asked) <= 90 + 20  # and 20 for strata whose shares have changed
        assert not set(asked) & judged

    rebased = assay.rebase_campaign(storage=storage, predictions=table(NEW))
    now, outstanding = rebased.estimate(), len(rebased.desk.labelling.rounds.outstanding)
    assert now.labels > 5  # it is told at once
    assert any(note.startswith(f"{outstanding} drawn items have no") for note in now.notes)
    check(label(rebased))
    assert rebased.estimate().labels == 400
    with pytest.raises(AssertionError):  # other numbers: hardly one item is drawn again
        check(list(set(label(create(None, NEW, budget=400, seed=10))) - judged))


def _run(seed: int, folder: Path) -> tuple[float, float]:
    """Return a rebased estimate, and one from all old labels as if drawn from the new strata.

    The new scores are worse, half of the wrong items with high scores are gone, and new items are
    right less often: a change that a careless use of the old labels does not survive.
    """
    storage = f"sqlite:///{folder / f'{seed}.db'}"
    # Equal labels a stratum, whatever its size, fixed beforehand: the estimate is then unbiased.
    design = assay.Design(allocation="equ", bins=5, stop="budget")
    old = create(storage, OLD_SMALL, design=design, budget=60, seed=seed)
    label(old, truth=TRUTH_SMALL, size=60)
    rebased = assay.rebase_campaign(storage=storage, predictions=table(NEW_SMALL, CHANGED))
    label(rebased, truth=TRUTH_SMALL, size=60)
    value = rebased.estimate().value
    assert value is not None
    strata = rebased.settings.strata
    known = np.array([row for row in map(int, old.answers()) if row in set(NEW_SMALL.tolist())])
    stratum = strata.assign(CHANGED[known], CHANGED[known] >= 0.4)
    n, x = (
        np.bincount(stratum[stratum >= 0], weights, strata.n_strata)
        for weights in (None, TRUTH_SMALL[known][stratum >= 0].astype(float))
    )
    careless = float((strata.sizes * x / np.maximum(n, 1)).sum() / strata.sizes.sum())
    return value, careless


SCORE_SMALL = SCORE[:700]
TRUTH_SMALL = np.where(np.arange(700) < 500, TRUTH[:700], RNG.random(700) < 0.3)
OLD_SMALL = np.arange(500)
GONE = (np.arange(700) < 500) & ~TRUTH_SMALL & (SCORE_SMALL > 0.7) & (np.arange(700) % 2 == 0)
NEW_SMALL = np.flatnonzero(~GONE)
CHANGED = np.clip(SCORE_SMALL + RNG.normal(0, 0.15, 700), 0.0, 1.0)
RUNS = 50


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
def test_a_rebased_estimate_is_unbiased_and_the_check_sees_a_careless_one(tmp_path: Path) -> None:
    """A right estimate's mean is more than 4 standard errors off once in 16,000 times."""
    yes = NEW_SMALL[CHANGED[NEW_SMALL] >= 0.4]
    truth = TRUTH_SMALL[yes].mean()
    right, careless = np.array([_run(seed, tmp_path) for seed in range(RUNS)]).T

    def check(estimates: Floats) -> None:
        error = (estimates.mean() - truth) / (estimates.std(ddof=1) / np.sqrt(RUNS))
        assert abs(error) < 4, f"{estimates.mean()} for {truth}"

    check(right)
    with pytest.raises(AssertionError):
        check(careless)


def test_labels_of_items_that_are_gone_stay_in_the_log_and_come_back(storage: str) -> None:
    old = create(storage)
    judged = label(old, rounds=5)
    log = [(e.item_id, e.answer, e.reviewer, e.told_at) for e in old.events()]
    fewer = OLD[OLD % 10 != 0]
    lower = np.where(OLD % 10 == 1, 0.1, SCORE[:5000])  # and some are predicted no now
    rebased = assay.rebase_campaign(storage=storage, predictions=table(fewer, lower))
    before = rebased.settings.before
    assert before is not None
    assert before.judged == len(judged) == 100
    assert before.gone == sum(row % 10 in (0, 1) for row in judged) > 0
    assert all(int(row) % 10 > 1 for row in rebased.answers())
    assert [(e.item_id, e.answer, e.reviewer, e.told_at) for e in rebased.events()] == log
    everyone = [*rebased.answers(), *waiting_in(rebased.desk.current())]
    assert sorted(map(int, everyone)) == sorted(judged)
    again = assay.rebase_campaign(storage=storage, predictions=table(OLD))
    assert again.settings.before is not None
    assert again.settings.before.gone == 0
    assert answered(again.estimate()) == answered(old.estimate())


def test_the_campaign_as_it_was_is_kept_under_another_name(storage: str) -> None:
    old = create(storage)
    label(old, rounds=2)
    estimate = old.estimate()
    for _ in range(3):  # within one second, too, each gets a name of its own
        assay.rebase_campaign(storage=storage, predictions=table(NEW))
    with open_store(storage).read() as session:
        *former, last = session.names()
    assert last == "campaign"
    assert len(former) == 3
    assert all(name.startswith("campaign until 20") for name in former)
    kept = assay.load_campaign(former[0], storage=storage)
    assert kept.name == former[0]
    assert kept.estimate() == estimate
    for write in (lambda: kept.ask(20), lambda: kept.tell({next(iter(kept.answers())): True})):
        with pytest.raises(assay.StorageError, match="'campaign' continues with its labels"):
            write()


def test_who_still_has_the_campaign_as_it_was_loses_no_label_silently(storage: str) -> None:
    old = create(storage)
    batch = old.ask(20)
    assay.rebase_campaign(storage=storage, predictions=table(NEW))
    for write in (lambda: old.tell(told(batch)), lambda: old.ask(20)):
        with pytest.raises(assay.StorageError, match="rebased or extended meanwhile") as caught:
            write()
        assert "load campaign 'campaign' again" in caught.value.hint
    assert old.events() == []


def test_two_who_rebase_at_once_do_not_undo_each_other(storage: str) -> None:
    """The second has read the campaign before the first has put another in its place."""
    old = create(storage)
    assay.rebase_campaign(storage=storage, predictions=table(NEW))
    with pytest.raises(assay.StorageError, match="another process has rebased"):
        replace_campaign(
            old.desk.store,
            old.desk.labelling.key,
            old.settings,
            [],
            gone=0,
            predictions=None,
            confirmed=True,
        )
    with open_store(storage).read() as session:
        assert len(session.names()) == 2


def test_several_classifiers_are_rebased(storage: str) -> None:
    old = create(storage, **SEVERAL)
    label(old, rounds=5)
    rebased = assay.rebase_campaign(storage=storage, predictions=table(NEW))
    assert rebased.settings.strata == create(None, NEW, **SEVERAL).settings.strata
    assert rebased.answers()
    assert waiting_in(rebased.desk.current())
    assert not set(label(rebased)) & set(old.answers())
    with pytest.raises(assay.PredictionsError, match="in a list of 2"):
        assay.rebase_campaign(storage=storage, predictions=[table(OLD), table(NEW[5000:])])


def test_a_condition_on_the_rows_stays(storage: str, tmp_path: Path) -> None:
    def write(name: str, rows: Ints) -> Path:
        lines = [f"{row},{float(SCORE[row])!r},{row % 2}" for row in rows.tolist()]
        (tmp_path / name).write_text("\n".join(["row,p,odd", *lines]) + "\n")
        return tmp_path / name

    columns: dict[str, Any] = {"id": "row", "score": "p", "threshold": 0.4, "within": 0.1}
    scan = assay.Scan(write("old.csv", OLD), where="odd = '1'")
    campaign = assay.create_campaign(scan, **columns, storage=storage)
    assert campaign.settings.source.rows == 2500
    rebased = assay.rebase_campaign(storage=storage, predictions=write("new.csv", OLD[:4000]))
    assert rebased.settings.source.rows == 2000
    assert assay.rebase_campaign(storage=storage).settings.source.rows == 2000
    extended = assay.extend_campaign(write("more.csv", NEW[5000:]), storage=storage)
    assert [part.rows for part in extended.settings.source.parts] == [2000, 500]
    anew = assay.rebase_campaign(storage=storage, predictions=assay.Scan(tmp_path / "new.csv"))
    assert anew.settings.source.rows == 4000


def test_items_without_ids_are_warned_of(storage: str) -> None:
    """Somebody's rows may have moved; in the same order with other scores all is well."""
    create(storage, id=None)
    with pytest.warns(assay.AssayWarning, match="no ids but the numbers of their rows"):
        assay.rebase_campaign(storage=storage, predictions=table(OLD, SCORE**2))


def test_a_rebase_that_fails_leaves_everything_as_it_was(storage: str) -> None:
    old = create(storage)
    judged = label(old, rounds=2)
    with pytest.raises(assay.PredictionsError, match="were given in memory") as caught:
        assay.rebase_campaign(storage=storage)
    assert "predictions=..." in caught.value.hint
    words = {**table(OLD), "row": [f"r{row}" for row in OLD]}
    with pytest.raises(assay.PredictionsError, match="are strings, and those of campaign"):
        assay.rebase_campaign(storage=storage, predictions=words)
    with pytest.raises(assay.PredictionsError, match="list of 0"):
        assay.rebase_campaign(storage=storage, predictions=[])
    with pytest.raises(assay.PredictionsError, match="predicted positive"):
        assay.rebase_campaign(storage=storage, predictions=table(OLD, 0 * SCORE))
    with open_store(storage).read() as session:
        assert session.names() == ["campaign"]
    assert set(assay.load_campaign(storage=storage).answers()) == set(judged)


def test_a_disk_that_fills_up_half_way_leaves_everything_as_it_was(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is one transaction: no name is lost, and no campaign is without its labels."""
    old = create(storage)
    label(old, rounds=2)
    with old.desk.store.read() as session:
        pages = session._connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    small = open_store(storage)
    with small.read() as session:
        session._connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 3}")
    monkeypatch.setattr("assay.campaign.extend.open_storage", lambda _url: small)
    with pytest.raises(assay.StorageError, match="full"):
        assay.rebase_campaign(storage=storage, predictions=table(NEW))
    with open_store(storage).read() as session:
        assert session.names() == ["campaign"]
    assert old.ask(20) == assay.load_campaign(storage=storage).ask(20)


def test_settings_that_were_stored_by_the_first_version_are_read() -> None:
    settings = create(None).settings
    stored = settings.to_dict()
    (part,) = stored["source"].pop("parts")
    assert stored.pop("before") is None
    assert part.pop("scan") is None
    assert not stored["source"].pop("slices")
    assert stored["source"].pop("shown").startswith("assay-shown-1:")
    assert stored["source"].pop("scores")
    first = {**stored, "source": {**stored["source"], **part, "path": None}}
    assert set(first["source"]) == {
        *("description", "path", "columns", "fingerprint", "rows", "id_kind", "scale")
    }
    unsealed = replace(settings, source=replace(settings.source, shown="", scores=()))
    assert Settings.from_dict(first) == unsealed
    first["source"]["path"] = "predictions.csv"
    assert Settings.from_dict(first).source.parts[0].scan == {"source": "predictions.csv"}
