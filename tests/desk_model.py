"""The desk in plain Python, written from the rule in words, to compare the real one with.

Everything is worked out anew from the list of events and claims whenever it is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.core.deck import number

ANSWERS = ("yes", "no", "cannot judge", "broken")
OUTCOME = {"yes": "yes", "no": "no", "cannot judge": "neither", "broken": "neither"}


@dataclass(frozen=True)
class Happened:
    item: int
    answer: str
    reviewer: str
    key: str | None = None
    late: bool = False
    ruling: bool = False


@dataclass
class Model:
    seed: int
    per_item: int
    share: float
    events: list[Happened] = field(default_factory=list)
    claims: dict[tuple[int, str], tuple[float, float]] = field(default_factory=dict)
    now: float = 0.0

    def wanted(self, item: int) -> int:
        return self.per_item if number(item, self.seed ^ 2) < self.share * 2**64 else 1

    def answers(self, item: int) -> dict[str, str]:
        """Return who has an answer that was not taken back, by when they gave it."""
        said: dict[str, list[str]] = {}
        since: dict[str, int] = {}
        for place, event in enumerate(self.events):
            if event.item != item or event.ruling or event.answer == "skip":
                continue
            said.setdefault(event.reviewer, []).append(event.answer)
            if event.answer == "withdrawn":
                since.pop(event.reviewer, None)
            else:
                since.setdefault(event.reviewer, place)
        return {name: said[name][-1] for name in sorted(since, key=since.__getitem__)}

    def counted(self, item: int) -> dict[str, str]:
        return dict(list(self.answers(item).items())[: self.wanted(item)])

    def ruling(self, item: int) -> str | None:
        rulings = [event.answer for event in self.events if event.item == item and event.ruling]
        return rulings[-1] if rulings else None

    def complete(self, item: int) -> bool:
        return self.ruling(item) is not None or len(self.answers(item)) >= self.wanted(item)

    def settled(self, item: int) -> str | None:
        if (ruling := self.ruling(item)) is not None:
            return ruling
        if not self.complete(item):
            return None
        said = list(self.counted(item).values())
        return said[0] if len({OUTCOME[each] for each in said}) == 1 else None

    def disputed(self, item: int) -> bool:
        return self.complete(item) and self.settled(item) is None

    def items(self) -> set[int]:
        return {event.item for event in self.events}

    def settled_answers(self) -> dict[int, str]:
        found = {item: self.settled(item) for item in self.items()}
        return {item: answer for item, answer in found.items() if answer is not None}

    def holders(self, item: int) -> set[str]:
        return {
            name
            for (claimed, name), (since, until) in self.claims.items()
            if claimed == item and since <= self.now < until
        }

    def may_have(self, item: int, reviewer: str) -> bool:
        answers = self.answers(item)
        if self.complete(item) or reviewer in answers:
            return False
        return len((self.holders(item) - {reviewer}) | answers.keys()) < self.wanted(item)

    def rank(self, item: int, reviewer: str) -> int:
        if reviewer in self.holders(item):
            return -1
        mine = [e for e in self.events if e.item == item and e.reviewer == reviewer]
        return sum(event.answer == "skip" for event in mine if not event.ruling)

    def claim(self, item: int, reviewer: str, lease: float) -> None:
        self.claims[item, reviewer] = (self.now, self.now + lease)

    def give_back(self, item: int, reviewer: str) -> None:
        if (item, reviewer) in self.claims:
            self.claims[item, reviewer] = (self.claims[item, reviewer][0], self.now)

    def submit(
        self, item: int, answer: str, reviewer: str, *, key: str, lease: float, ruling: bool = False
    ) -> tuple[str, bool]:
        """Take a submit for an item that was dealt; return its status, and whether it is late."""
        for event in self.events:
            if event.key == key:
                same = (event.item, event.answer, event.reviewer, event.ruling) == (
                    item,
                    answer,
                    reviewer,
                    ruling,
                )
                return ("again", event.late) if same else ("conflict", False)
        if not ruling and (item, reviewer) not in self.claims:
            return "refused", False
        first = reviewer not in self.answers(item) and answer in ANSWERS and not ruling
        late = first and reviewer not in self.holders(item)
        self.events.append(Happened(item, answer, reviewer, key, late, ruling))
        if answer == "withdrawn" and self.may_have(item, reviewer):
            self.claim(item, reviewer, lease)
        else:
            self.give_back(item, reviewer)
        return "saved", late

    def tell(self, given: dict[int, str], reviewer: str, *, revise: bool) -> bool:
        """Tell all or nothing; False where it is refused."""
        new = []
        for item, answer in given.items():
            mine = self.counted(item).get(reviewer) if self.ruling(item) is None else None
            over_heads = mine is None and self.complete(item)
            before = self.settled(item) if over_heads else mine
            if before == answer:
                continue
            if (before is not None or over_heads) and not revise:
                return False
            new.append(Happened(item, answer, reviewer, ruling=over_heads))
        self.events += new
        for item in given:
            self.give_back(item, reviewer)
        return True

    def record(
        self, told: Sequence[tuple[int, str, str]], *, revise: bool
    ) -> tuple[int, int, int, int] | None:
        """Record what several said, all or nothing; None where it is refused."""
        kept = list(self.events)
        new = revised = unchanged = spare = 0
        for item, answer, reviewer in told:
            before = self.answers(item).get(reviewer)
            if before == answer:
                unchanged += 1
                continue
            if before is None:
                new += 1
                spare += self.complete(item)
            else:
                revised += 1
            self.events.append(Happened(item, answer, reviewer))
        if revised and not revise:
            self.events = kept
            return None
        for item, _, reviewer in told:
            self.give_back(item, reviewer)
        return new, revised, unchanged, spare
