"""Writers on a PostgreSQL whose transactions are not READ COMMITTED unless they say so."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import assay
from assay import Label
from tests.storage.test_contract import ISOLATIONS, with_default
from tests.torture.campaigns import make_campaign, truth
from tests.torture.sizes import report, sized

REVIEWERS = 4
TURNS = sized(6, 500)


def review_all(storage: str, *, own_isolation: bool) -> int:
    """Let reviewers judge at once, each with a store of their own; return how many turns failed."""
    campaigns = [assay.load_campaign("spam", storage=storage) for _ in range(REVIEWERS)]
    for campaign in campaigns if not own_isolation else ():
        campaign.desk.store._backend = replace(campaign.desk.store._backend, writing={})

    def work(number: int) -> int:
        campaign, name, failed = campaigns[number], f"reviewer {number}", 0
        for turn in range(TURNS):
            try:
                items = campaign.review([], reviewer=name, want=1).items
                labels = [
                    Label(str(item.id), truth(str(item.id)), key=f"{name} {turn} {item.id}")
                    for item in items
                ]
                campaign.review(labels, reviewer=name, want=0)
            except assay.AssayError:
                failed += 1
        return failed

    with ThreadPoolExecutor(REVIEWERS) as pool:
        return sum(pool.map(work, range(REVIEWERS)))


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_nobody_is_given_an_item_that_somebody_has(isolation: str, postgres_url: str) -> None:
    storage = with_default(postgres_url, isolation)
    make_campaign(storage, items=8 * REVIEWERS * TURNS)
    failed = review_all(storage, own_isolation=True)
    labels = assay.load_campaign("spam", storage=storage).events()
    items = {label.item_id for label in labels}
    report(f"{isolation}: {len(labels):,} labels on {len(items):,} items, {failed} turns failed")
    assert (failed, len(labels), len(items)) == (0, REVIEWERS * TURNS, REVIEWERS * TURNS)
    assert assay.verify_campaign("spam", storage=storage).clean


def test_the_servers_isolation_would_have_items_judged_twice(postgres_url: str) -> None:
    """The wrong variant, which verify finds out as well."""
    storage = with_default(postgres_url, "repeatable read")
    make_campaign(storage, items=8 * REVIEWERS * TURNS)
    review_all(storage, own_isolation=False)
    labels = assay.load_campaign("spam", storage=storage).events()
    twice = len(labels) - len({label.item_id for label in labels})
    findings = assay.verify_campaign("spam", storage=storage).findings
    report(f"with the server's isolation: {twice:,} answers too many, {len(findings):,} findings")
    assert twice > 0
    assert any("the item is for 1" in each for each in findings)
