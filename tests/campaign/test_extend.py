"""Populations that grow: as if all items had been there from the start, cut where they are cut."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.types import Bools, Floats, Ints
from assay.labelling import waiting_in
from assay.labelling.reserve import depth, more_cards, sealed
from assay.labelling.settings import Settings
from assay.labelling.source import Part
from assay.predictions import Card, read_predictions
from assay.storage import open_store

SIZE = 5000
RNG = np.random.default_rng(12)
SCORE = RNG.beta(1.2, 1.0, SIZE)
TRUTH = RNG.random(SIZE) < 0.1 + 0.8 * SCORE
MONDAY, TUESDAY, WEDNESDAY = np.arange(3000), np.arange(3000, 4200), np.arange(4200, SIZE)
COLUMNS: dict[str, Any] = {"score": "p", "threshold": 0.4, "id": "name", "show": ["text"]}
DESIGNS = {
    "default": assay.Design(),
    "guaranteed": assay.Design.guaranteed(),
    "bennett-carvalho": assay.Design.bennett_carvalho(),
    "random": assay.Design.simple_random(),
}


def table(rows: Ints, score: Floats = SCORE) -> dict[str, Any]:
    return {
        "name": [f"n{row}" for row in rows],
        "p": score[rows],
        "text": [f"text of {row}" for row in rows],
    }


def write(path: Path, rows: Ints) -> str:
    lines = [f"n{row},{float(SCORE[row])!r},text of {row}" for row in rows.tolist()]
    path.write_text("\n".join(["name,p,text", *lines]) + "\n")
    return str(path)


def create(predictions: object, storage: str | None, **more: Any) -> assay.Campaign:
    goal = {"within": 0.05, **more}
    return assay.create_campaign(predictions, **COLUMNS, storage=storage, seed=4, **goal)


def answers(items: list[assay.Item], truth: Bools = TRUTH) -> dict[str, bool]:
    return {str(item.id): bool(truth[int(str(item.id)[1:])]) for item in items}


def label(campaign: assay.Campaign, rounds: int = 10**6) -> list[str]:
    """Answer all that is outstanding, then so many rounds of 20; return who was asked for."""
    asked: list[str] = []
    for _ in range(rounds):
        if campaign.done:
            break
        batch = campaign.ask(len(campaign.desk.labelling.rounds.outstanding) or 20)
        told = answers(batch)
        asked += told
        campaign.tell(told)
    return asked


def reserve(campaign: assay.Campaign) -> list[list[Card]]:
    settings = campaign.settings
    with campaign.desk.labelling._store.read() as session:
        return [
            [
                Card(row.item_id, row.predicted, {"text": row.shown})
                for row in session.cards(campaign.desk.labelling.key, stratum, 0, 10**6)
            ]
            for stratum in range(settings.strata.n_strata)
        ]


def ids(decks: list[list[Card]]) -> list[list[object]]:
    return [[card.id for card in deck] for deck in decks]


def made_at_once(settings: Settings, rows: Ints) -> assay.Campaign:
    """Return a campaign on all items, with sizes counted here and cuts as they are given."""
    found = read_predictions(table(rows), **COLUMNS)
    stratum = settings.strata.assign(SCORE[rows], SCORE[rows] >= 0.4)
    sizes = np.bincount(stratum[stratum >= 0], minlength=settings.strata.n_strata)
    strata = settings.strata.grown(sizes - settings.strata.sizes)
    part = Part("all", None, found.fingerprint(), rows.size)
    source = replace(settings.source, parts=(part,), shown="")
    at_once = replace(settings, strata=strata, source=source, before=None)
    store = open_store(None)
    cards = list(more_cards(at_once, found, depth(at_once)))
    at_once = sealed(at_once, cards)
    with store.write() as session:
        key = session.create(at_once.name, at_once.to_dict())
        session.add_cards(key, cards)
    return assay.Campaign(store, key, at_once, found)


def check_decks(campaign: assay.Campaign, decks: list[list[object]], rows: Ints) -> None:
    """The decks are the first cards of all items together, as deep as a new reserve is."""
    found = read_predictions(table(rows), **COLUMNS)
    settings = campaign.settings
    expected = found.deal(
        settings.strata, scale="probability", seed=4, counts=[len(deck) for deck in decks]
    )
    assert decks == ids(expected)
    assert all(len(deck) >= n for deck, n in zip(decks, depth(settings), strict=True))


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
@pytest.mark.parametrize("design", DESIGNS.values(), ids=list(DESIGNS))
def test_an_extended_campaign_is_one_made_on_all_items_at_once(
    design: assay.Design, storage: str
) -> None:
    """Card by card and estimate by estimate, given the same cuts."""
    asked = label(create(table(MONDAY), storage, design=design), rounds=6)
    extended = assay.extend_campaign(table(TUESDAY), storage=storage)
    rows = np.concatenate([MONDAY, TUESDAY])
    reference = made_at_once(extended.settings, rows)
    assert extended.settings.strata == reference.settings.strata
    assert extended.settings.source.rows == rows.size
    check_decks(extended, ids(reserve(extended)), rows)

    answered = extended.answers()
    while len(reference.answers()) < len(answered):
        label(reference, rounds=1)
    later = label(extended)
    everything = [*label(reference), *reference.answers()]
    assert extended.estimate() == reference.estimate()
    assert extended.strata() == reference.strata()
    assert extended.answers() == reference.answers()
    assert not set(later) & set(asked)
    assert set(later) | set(answered) <= set(map(str, everything))


def test_the_old_file_may_go_and_parts_are_read_together_when_the_reserve_is_used_up(
    tmp_path: Path, storage: str
) -> None:
    files = [tmp_path / f"{day}.csv" for day in ("monday", "tuesday", "wednesday")]
    days = [MONDAY, TUESDAY, WEDNESDAY]
    monday = write(files[0], MONDAY)
    endless = assay.Design(rounds_in_a_row=10**6)
    label(create(monday, storage, design=endless, within=0.2), rounds=3)
    files[0].unlink()
    for file, rows in zip(files[1:], days[1:], strict=True):
        assay.extend_campaign(write(file, rows), storage=storage)
        label(assay.load_campaign(storage=storage), rounds=3)
    campaign = assay.load_campaign(storage=storage)
    check_decks(campaign, ids(reserve(campaign)), np.arange(SIZE))
    with pytest.raises(assay.PredictionsError, match="not available") as caught:
        campaign.ask(2500)
    assert "monday.csv" in caught.value.details
    assert "predictions=[..., ..., ...]" in caught.value.hint
    write(files[0], MONDAY)
    campaign = assay.load_campaign(storage=storage)
    counted, waiting = len(campaign.answers()), len(waiting_in(campaign.desk.current()))
    asked = campaign.ask(2500)
    remembered = len(campaign.answers()) - counted
    assert 0 < remembered <= waiting
    assert len(asked) == 2500 - remembered
    assert not {item.id for item in asked} & campaign.answers().keys()
    check_decks(campaign, ids(reserve(campaign)), np.arange(SIZE))
    assert all(item["text"] == f"text of {str(item.id)[1:]}" for item in asked)


def test_all_parts_may_be_given_from_elsewhere_and_each_is_checked(storage: str) -> None:
    create(table(MONDAY), storage)
    assay.extend_campaign(table(TUESDAY), storage=storage)
    parts = [table(MONDAY), table(TUESDAY)]
    campaign = assay.load_campaign(storage=storage, predictions=parts)
    assert len(campaign.ask(2000)) == 2000
    with pytest.raises(assay.PredictionsError, match=r"from 1 place, and those of .* from 2"):
        assay.load_campaign(storage=storage, predictions=parts[0])
    changed = [table(MONDAY), table(TUESDAY, 1 - SCORE)]
    with pytest.raises(assay.PredictionsError, match="1,200 rows differs from") as caught:
        assay.load_campaign(storage=storage, predictions=changed)
    assert "assay rebase --name campaign" in caught.value.hint


def test_parts_can_be_rebased_together(tmp_path: Path, storage: str) -> None:
    first = create(write(tmp_path / "monday.csv", MONDAY), storage)
    label(first, rounds=6)
    assay.extend_campaign(write(tmp_path / "tuesday.csv", TUESDAY), storage=storage)
    rebased = assay.rebase_campaign(storage=storage)
    at_once = create(table(np.arange(4200)), None)
    assert rebased.settings.strata == at_once.settings.strata
    assert ids(reserve(rebased)) == ids(reserve(at_once))
    assert [part.rows for part in rebased.settings.source.parts] == [3000, 1200]
    assert rebased.answers().keys() <= first.answers().keys()


def test_labels_from_before_the_campaign_take_their_own_places(storage: str) -> None:
    """On top of the decks they would be a sample of Monday's items alone."""
    sample = np.random.default_rng(3).choice(MONDAY, 300, replace=False)
    known = {f"n{row}": bool(TRUTH[row]) for row in sample}
    campaign = create(table(MONDAY), storage, labels=known)
    assert campaign.estimate().labels > 100
    with pytest.warns(assay.AssayWarning, match="count only as their items are drawn"):
        extended = assay.extend_campaign(table(TUESDAY), storage=storage)
    check_decks(extended, ids(reserve(extended)), np.arange(4200))
    counting = set(map(str, extended.answers()))
    assert counting < set(known)
    asked = label(extended)
    assert not set(asked) & set(known)
    assert counting < set(map(str, extended.answers())) & set(known)


def test_scores_outside_of_the_old_range_and_labels_without_strata_join(storage: str) -> None:
    """The outer strata are open; items predicted no are none of precision's business."""
    old = create({"name": ["a", "b", "c"], "p": [0.5, 0.6, 0.7], "text": ["", "", ""]}, storage)
    more = {"name": ["x", "y", "z"], "p": [0.97, 0.41, 0.1], "text": ["", "", ""]}
    extended = assay.extend_campaign(more, storage=storage)
    sizes, before = extended.settings.strata.sizes, old.settings.strata.sizes
    assert sizes[0] == before[0] + 1
    assert sizes[-1] == before[-1] + 1
    assert sizes.sum() == before.sum() + 2
    assert extended.settings.source.rows == 6
