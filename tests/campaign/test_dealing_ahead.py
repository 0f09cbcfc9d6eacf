"""One item without an answer must not keep a campaign going for ever."""

import numpy as np
import pytest

import assay
from assay.core.deck import Id
from assay.core.state import State
from assay.labelling.state import Labelling


def labels_until_nothing_is_left_to_ask() -> tuple[int, assay.Campaign, Id]:
    """Judge all items but one, of the first round; return how many that were, and which it is."""
    rng = np.random.default_rng(5)
    score = rng.uniform(0.5, 1.0, 4000)
    truth = rng.random(4000) < score
    campaign = assay.create_campaign(
        {"p": score}, score="p", threshold=0.5, metric="precision", within=0.05, seed=5
    )
    (left,) = campaign.ask(1)
    judged = 0
    while judged < 2000:
        batch = [item for item in campaign.ask(21) if item.id != left.id]
        if not batch:
            break
        campaign.tell({item.id: truth[int(item.id)] for item in batch})
        judged += len(batch)
    return judged, campaign, left.id


def test_a_campaign_that_waits_for_one_answer_deals_no_more_than_it_needs() -> None:
    judged, campaign, left = labels_until_nothing_is_left_to_ask()
    assert not campaign.done  # the first round is not complete, and only complete rounds count
    told = campaign.estimate()
    assert told.open == 1
    assert 0.05 < told.half_width < 0.051  # with the one that waits at its worst
    assert judged < 400
    campaign.tell({left: True})
    assert campaign.done


def test_dealing_on_regardless_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def regardless(labelling: Labelling, state: State) -> bool:
        return labelling.evaluation.deals_ahead(state.rounds)

    monkeypatch.setattr(Labelling, "_deals_ahead", regardless)
    judged, campaign, _ = labels_until_nothing_is_left_to_ask()
    assert judged >= 2000
    assert not campaign.done
