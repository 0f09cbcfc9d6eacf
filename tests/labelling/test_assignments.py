"""Several people at several places judge one campaign: nothing is lost, and the rule holds."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.answers import Answer
from assay.labelling import reviewers_in
from assay.storage import Label
from tests.clock import Clock, movable_clock
from tests.desk_model import ANSWERS, Model

SIZE = 240
LEASE = 600.0
DAY = 86_400.0
PEOPLE = ("ann", "bob", "eve", "kim")
WORDS = (*ANSWERS[:2], *ANSWERS, "skip", "withdrawn")
SCORES = np.random.default_rng(5).random(SIZE).round(4)


def create(url: str | None, **more: Any) -> assay.Campaign:
    given: dict[str, Any] = {"budget": 60, "seed": 11, "threshold": 0.3, **more}
    return assay.create_campaign({"p": SCORES}, score="p", storage=url, **given)


class Game:
    """Random moves, made by the real desk and the model alike, which must agree throughout."""

    def __init__(self, url: str, clock: Clock, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.url, self.clock = url, clock
        first = create(url, reviewers_per_item=2, overlap=0.6)
        self.model = Model(seed=11, per_item=2, share=0.6)
        self.desks = [first, *(assay.load_campaign(storage=url) for _ in range(2))]
        self.sent: list[Label] = []

    def play(self, moves: int) -> None:
        named = [self.turn, self.turn, self.ask, self.tell, self.record, self.rule, self.wait]
        for move in range(moves):
            assignments = self.some_desk()
            named[self.rng.integers(len(named))](assignments)
            self.compare(assignments)
            if move % 12 == 11:
                for each in (*self.desks, assay.load_campaign(storage=self.url)):
                    self.compare(each)

    def some_desk(self) -> assay.Campaign:
        place = int(self.rng.integers(len(self.desks) + 1))
        if place == len(self.desks):
            return assay.load_campaign(storage=self.url)
        return self.desks[place]

    def someone(self) -> str:
        return PEOPLE[self.rng.integers(len(PEOPLE))]

    def dealt(self, assignments: assay.Campaign) -> list[int]:
        assignments.answers()  # catches up
        return sorted(
            int(item) for ids in assignments.desk.labelling.items_of_rounds for item in ids
        )

    def some_items(self, assignments: assay.Campaign, most: int) -> list[int]:
        dealt = self.dealt(assignments)
        count = min(int(self.rng.integers(1, most + 1)), len(dealt))
        return [dealt[place] for place in self.rng.permutation(len(dealt))[:count]]

    def turn(self, assignments: assay.Campaign) -> None:
        reviewer, want = self.someone(), int(self.rng.integers(0, 5))
        # Mostly about what they have before them, sometimes about anything.
        mine = [item for item, name in self.model.claims if name == reviewer]
        items = mine[-3:] if mine and self.rng.random() < 0.7 else self.some_items(assignments, 2)
        submits, expected = [], []
        for item in items:
            submit = Label(
                str(item), WORDS[self.rng.integers(len(WORDS))], key=f"k{len(self.sent)}"
            )
            if self.sent and self.rng.random() < 0.15:  # sent before, perhaps with something else
                submit = self.sent[self.rng.integers(len(self.sent))]
                if self.rng.random() < 0.4:
                    submit = replace(submit, answer="no")
            self.sent.append(submit)
            submits.append(submit)
            expected.append(
                self.model.submit(
                    int(submit.item_id), submit.answer, reviewer, key=submit.key or "", lease=LEASE
                )
            )
        turn = assignments.review(submits, reviewer=reviewer, want=want, lease=LEASE)
        assert [(receipt.status, receipt.late) for receipt in turn.receipts] == expected
        self.served(assignments, reviewer, want, [int(item.id) for item in turn.items])
        mine_now = [reviewer in self.model.answers(item) for item in self.model.items()]
        assert turn.yours == sum(mine_now)
        assert turn.team == sum(bool(self.model.answers(item)) for item in self.model.items())
        assert turn.state in (
            ("done",) if assignments.done else ("go on",) if turn.items else ("wait",)
        )

    def ask(self, assignments: assay.Campaign) -> None:
        reviewer, n = self.someone(), int(self.rng.integers(1, 6))
        items = assignments.ask(n, reviewer=reviewer, lease=LEASE)
        self.served(assignments, reviewer, n, [int(item.id) for item in items])

    def served(self, assignments: assay.Campaign, reviewer: str, n: int, items: list[int]) -> None:
        """See that the right items were given out, and note the claims on them."""
        assert len(set(items)) == len(items) <= n
        if assignments.done or n == 0:
            assert items == []
            return
        free = [item for item in self.dealt(assignments) if self.model.may_have(item, reviewer)]
        assert set(items) <= set(free)
        ranks = [self.model.rank(item, reviewer) for item in items]
        assert ranks == sorted(ranks)
        left = [self.model.rank(item, reviewer) for item in free if item not in items]
        assert not left or (len(items) == n and min(left) >= max(ranks))
        for item in items:
            self.model.claim(item, reviewer, LEASE)
            assert len(self.model.holders(item) | self.model.answers(item).keys()) <= (
                self.model.wanted(item)
            )

    def tell(self, assignments: assay.Campaign) -> None:
        reviewer, revise = self.someone(), bool(self.rng.random() < 0.5)
        given = {
            item: ANSWERS[self.rng.integers(len(ANSWERS))]
            for item in self.some_items(assignments, 3)
        }
        if given:
            done = True
            try:
                assignments.tell(given, reviewer=reviewer, revise=revise)
            except assay.LabelConflictError:
                done = False
            assert done == self.model.tell(given, reviewer, revise=revise)

    def record(self, assignments: assay.Campaign) -> None:
        revise = bool(self.rng.random() < 0.5)
        told = [
            (item, ANSWERS[self.rng.integers(len(ANSWERS))], self.someone())
            for item in self.some_items(assignments, 4)
        ]
        expected = self.model.record(told, revise=revise)
        try:
            found = assignments.desk.record(
                [Label(str(item), Answer(answer), name) for item, answer, name in told],
                revise=revise,
            )
        except assay.LabelConflictError:
            assert expected is None
            return
        assert (found.new, found.revised, found.unchanged, found.spare) == expected

    def rule(self, assignments: assay.Campaign) -> None:
        disputes = assignments.disputes()
        if not disputes:
            return
        item, answer = int(disputes[0].item.id), ANSWERS[self.rng.integers(2)]
        assert dict(disputes[0].answers) == self.model.counted(item)
        key = f"k{len(self.sent)}"
        self.sent.append(Label(str(item), answer, key=key))
        receipt = assignments.rule(item, answer, reviewer="owner", key=key)
        expected = self.model.submit(item, answer, "owner", key=key, lease=0.0, ruling=True)
        assert (receipt.status, receipt.late) == expected

    def wait(self, _assignments: assay.Campaign) -> None:
        by = (400.0, 700.0, 700.0, DAY, -DAY)[self.rng.integers(5)]
        self.clock.move(by)
        self.model.now += by

    def compare(self, assignments: assay.Campaign) -> None:
        assert assignments.answers() == self.model.settled_answers()
        found = [
            (event.item_id, event.answer, event.reviewer, event.key, event.late, event.ruling)
            for event in assignments.events()
        ]
        assert found == [
            (str(e.item), e.answer, e.reviewer, e.key, e.late, e.ruling) for e in self.model.events
        ]
        disputed = {item for item in self.model.items() if self.model.disputed(item)}
        assert {int(dispute.item.id) for dispute in assignments.disputes()} == disputed
        assert self.tallies(assignments) == [
            (row.labels, row.positives, row.cannot_judge) for row in assignments.strata()
        ]
        rows = {row.name: row for row in reviewers_in(assignments.desk.current())}
        for name in PEOPLE:
            said = [self.model.answers(item).get(name) for item in self.model.items()]
            if name in rows:
                row = rows[name]
                assert row.answers == sum(each is not None for each in said)
                assert (row.cannot_judge, row.broken) == (
                    said.count("cannot judge"),
                    said.count("broken"),
                )
                kept = [self.model.counted(item).get(name) for item in self.model.items()]
                assert row.spare == row.answers - sum(each is not None for each in kept)

    def tallies(self, assignments: assay.Campaign) -> list[tuple[int, int, int]]:
        strata = assignments.settings.strata.assign(SCORES, SCORES >= 0.3)
        counts = np.zeros((assignments.settings.strata.n_strata, 3), dtype=int)
        for item, answer in self.model.settled_answers().items():
            judged = answer in ("yes", "no")
            counts[strata[item]] += (judged, answer == "yes", not judged)
        return [(int(n), int(x), int(u)) for n, x, u in counts]


@pytest.fixture
def clock(storage_url: str) -> Iterator[Clock]:
    with movable_clock(storage_url) as clock:
        yield clock


def test_desks_over_one_storage_do_as_the_rule_says(storage_url: str, clock: Clock) -> None:
    game = Game(storage_url, clock, 3)
    game.play(70)
    assert {event.answer for event in game.model.events} == {*WORDS}
    assert any(event.late for event in game.model.events)
    assert any(event.ruling for event in game.model.events)
