"""The rule of who counts, written a second time and plainly, and checks that use it."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from assay import Campaign
from tests.torture.campaigns import Book, Row
from tests.torture.people import Sent


@dataclass
class Said:
    """What stands of one item: who answered, in the order of their first answers."""

    order: list[str] = field(default_factory=list)
    answer: dict[str, str] = field(default_factory=dict)
    in_time: set[str] = field(default_factory=set)  # whose first answer came within the lease

    def take(self, row: Row) -> None:
        """Take in the next line."""
        who = row.reviewer
        if row.answer == "skip":
            return
        if row.answer == "withdrawn":
            if who in self.answer:
                self.order.remove(who)
                del self.answer[who]
                self.in_time.discard(who)
            return
        if who not in self.answer:
            self.order.append(who)
            if not row.late:
                self.in_time.add(who)
        self.answer[who] = row.answer

    def settled(self, wanted: int) -> str | None:
        """Return what counts, if those who count agree."""
        first = [self.answer[who] for who in self.order[:wanted]]
        kinds = {"cannot judge" if each == "broken" else each for each in first}
        return first[0] if len(first) == wanted and len(kinds) == 1 else None


class OverservedError(AssertionError):
    """More people were given an item than it wants."""


def refuse_overserved(
    log: Iterable[Row], claims: Iterable[tuple[str, str]], wanted: Callable[[str], int]
) -> dict[str, Said]:
    """Raise where an item was ever before more reviewers than it wants; return what was said.

    Answers that came in time, and claims that are live, are what an item was given out for.
    """
    items: dict[str, Said] = {}
    for row in log:
        said = items.setdefault(row.item, Said())
        said.take(row)
        if len(said.in_time) > wanted(row.item):
            raise OverservedError(f"{row.item} was answered in time by {sorted(said.in_time)}")
    holders: dict[str, set[str]] = {}
    for item, reviewer in claims:
        holders.setdefault(item, set()).add(reviewer)
    for item, names in holders.items():
        before = items.get(item, Said()).in_time | (names - set(items.get(item, Said()).answer))
        if len(before) > wanted(item):
            raise OverservedError(f"{item} is before {sorted(before)}")
    return items


def check_sent(log: list[Row], sent: Iterable[Sent], names: Iterable[str]) -> Counter[str]:
    """Fail unless the log holds exactly what was acknowledged; return how often each was said."""
    by_key = {row.key: row for row in log}
    assert len(by_key) == len(log), "a key is there twice"
    statuses: Counter[str] = Counter()
    expected = set()
    for name, book in zip(names, sent, strict=True):
        for key, said in book.statuses.items():
            statuses += said
            submit = book.submits[key]
            row = by_key.get(key)
            if said["refused"]:
                assert row is None, f"{key} was refused, and is there"
                continue
            assert said["saved"] <= 1, f"{key} was saved twice"
            assert said["saved"] or said["again"], f"{key}: {said}"
            assert row is not None, f"{key} was acknowledged, and is not there"
            assert (row.item, row.answer, row.reviewer) == (submit.item_id, submit.answer, name)
            expected.add(key)
    assert expected == set(by_key), "something is there that nobody has sent"
    return statuses


def check_tallies(campaign: Campaign, book: Book, items: dict[str, Said]) -> None:
    """Fail unless the campaign's answers and strata are those of a recount."""
    reviews = campaign.desk.reviews()
    settled = {
        item: answer
        for item, said in items.items()
        if (answer := said.settled(reviews[item].wanted)) is not None
    }
    assert {str(item): answer.value for item, answer in campaign.answers().items()} == settled
    with book.moment() as connection:
        strata = book.strata(connection)
    rows = campaign.strata()
    counts = [Counter[str]() for _ in rows]
    for item, answer in settled.items():
        counts[strata[item]][answer] += 1
    for row, count in zip(rows, counts, strict=True):
        unjudged = count["broken"] + count["cannot judge"]
        judged = count["yes"] + count["no"]
        assert (row.labels, row.positives, row.cannot_judge) == (judged, count["yes"], unjudged)
