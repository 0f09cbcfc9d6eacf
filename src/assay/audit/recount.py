"""Labels counted again from the stored rows, and compared with the campaign's results."""

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from assay.audit.books import Books, Checked, Row, checked
from assay.audit.values import NEITHER, Counts, called, is_applied, values_of
from assay.core.answers import Answer
from assay.core.deck import number
from assay.core.recycling.procedure import recycle_of
from assay.core.weights import seed_of_arrival
from assay.labelling import Labelling, Settings, estimates_of, strata_in
from assay.predictions import RANKED
from assay.results import Estimate
from assay.storage import CardRow, Store

_NEAR = 1e-12  # sums in another order differ in their last digits


def check_all(
    books: Books, store: Store, key: int, checks: Iterable[Callable[[Books], Checked]]
) -> Generator[Checked, None, Labelling | None]:
    """Yield the checks of the rows and, if they find nothing, of the estimates.

    `store`, `key`: where the campaign is, and its number there. Returns the labelling, or None.
    """
    of_rows = [check(books) for check in checks]
    yield from of_rows
    if any(each.findings for each in of_rows):  # it may well be impossible to load
        return None
    labelling = Labelling(store, key, books.settings, None)
    labelling.catch_up()
    for check in (check_answers, check_values, check_estimates):
        yield check(books, labelling)
    return labelling


@dataclass(frozen=True)
class _Story:
    """An item's answers: the first that settled it, and the current one."""

    first: str
    now: str | None


def check_answers(books: Books, labelling: Labelling) -> Checked:
    """Compare the answer of every item, and the counts of every stratum."""
    stories = _stories(books)
    answers = {item_id: story.now for item_id, story in stories.items() if story.now is not None}
    reported = {item: answer.value for item, answer in labelling.rounds.answers.items()}
    findings = [
        f"item {item_id!r} is {answers.get(item_id)} by the log, {reported.get(item_id)} "
        "as reported"
        for item_id in sorted(answers.keys() | reported.keys())
        if answers.get(item_id) != reported.get(item_id)
    ]
    counts: dict[int, list[int]] = {}
    for card, before in _cards(books):
        if before:
            continue  # an item is one label, however often it was drawn
        if (answer := answers.get(card["item_id"])) is not None:
            tally = counts.setdefault(card["stratum"], [0, 0, 0])
            judged = answer not in NEITHER
            counted = answer == _outcome(books, card["predicted"])
            for place, more in enumerate((judged, counted, not judged)):
                tally[place] += more
    for stratum, row in enumerate(strata_in(labelling)):
        shown, right = [row.labels, row.positives, row.cannot_judge], counts.get(stratum, [0, 0, 0])
        if shown != right:
            findings.append(f"stratum {stratum} has {right} by the log, {shown} as reported")
    waiting = len(books.dealt_items - answers.keys())
    several = not books.settings.goal.single  # whose metrics need not need them all
    findings += (
        f"{name}: {waiting} items wait for an answer by the log, {estimate.open} as reported"
        for name, estimate in estimates_of(labelling).items()
        if (estimate.open > waiting if several else estimate.open != waiting)
    )
    return checked("answers follow from the log", len(answers), findings)


def check_values(books: Books, labelling: Labelling) -> Checked:
    """Compare every metric with its formula, computed from sizes and counts in plain sums."""
    if books.settings.goal.threshold_for is not None:
        note = "at a threshold the value is smoothed over scores; all of it is worked out again"
        return checked("metrics follow from the counts", 0, (), [note])
    stories, counts = _stories(books), Counts()
    for card, before in _cards(books):
        story = stories.get(card["item_id"])
        if story is not None and story.now is not None:
            counts.add(card["stratum"], card["predicted"], story.now)
            if books.settings.ranked and story.now not in NEITHER:
                place = card["stratum"], card["predicted"]
                counts.rank(books.settings, place, story.now, json.loads(card["shown"])[RANKED])
            if books.weighted and not before:
                counts.weigh(card["stratum"], card["predicted"], story.now, card["weight"])
    estimates = estimates_of(labelling)
    values = values_of(books.settings, counts)
    if books.settings.design.recycles:
        values = recycled_values(books.settings, _complete_answers(books, stories))
    findings = []
    for name, estimate in estimates.items():
        if (reported := estimate.value) is None or name not in values:
            continue
        _, value = min((abs(one - reported), one) for one in values[name])
        if not abs(value - reported) < _NEAR:
            findings.append(f"{name} is {value!r} by the log, {reported!r} as reported")
    left = [name for name in estimates if name not in values]
    what = "" if books.settings.design.recycles else "of all classes, "
    notes = [f"{', '.join(left)}: {what}worked out again only with all else"] if left else []
    return checked("metrics follow from the counts", len(values), findings, notes)


def _complete_answers(books: Books, stories: Mapping[str, _Story]) -> list[list[str]]:
    """Answers of each stratum in the order of its cards, as far as rounds are complete."""
    by_stratum: list[list[str]] = [[] for _ in range(books.settings.strata.n_strata)]
    for cards in books.dealt:
        ids = {card["item_id"] for card, _ in cards}
        answers = {id: story.now for id in ids if (story := stories.get(id)) and story.now}
        if len(answers) < len(ids):
            break
        for card, _ in sorted(cards, key=lambda dealt: _shown_at(books, *dealt)):
            by_stratum[card["stratum"]].append(answers[card["item_id"]])
    return by_stratum


def check_estimates(books: Books, labelling: Labelling) -> Checked:
    """Compare every figure of every estimate, to the last bit."""
    stories = _stories(books)
    rounds = books.settings.rounds()
    for cards in books.dealt:
        in_order = sorted(cards, key=lambda dealt: _shown_at(books, *dealt))
        rounds.deal([_card(card) for card, _ in in_order])
    for item_id, story in stories.items():
        rounds.record(item_id, Answer(story.first))
        if story.now is None:
            rounds.withdraw(item_id)
        elif story.now != story.first:
            rounds.record(item_id, Answer(story.now))
    stopped, estimates = rounds.stopped, estimates_of(labelling)
    findings = []
    for standing in rounds.standings:
        look, estimate = standing.look, estimates[standing.name]
        right: dict[str, object] = {
            "low": float(look.low),
            "high": float(look.high),
            "labels": standing.labels,
            "cannot_judge": standing.unjudged,
            "worst_case": standing.worst_case if standing.unjudged else None,
            "could_move": standing.could_move,
            "like_rest": standing.like_rest,
            "open": standing.open,
            "verdict": rounds.reason.verdict,
            "stopped": stopped,
        }
        if look.moments.defined:
            right["value"] = float(look.moments.value)
        findings += list(_differences(standing.name, right, estimate))
    return checked("estimates follow to the last bit", len(estimates), findings)


def _differences(name: str, right: Mapping[str, object], estimate: Estimate) -> Iterator[str]:
    for field, value in right.items():
        if getattr(estimate, field) != value:
            yield (
                f"{name}: {field} is {value!r} by the log, {getattr(estimate, field)!r} as reported"
            )


def _outcome(books: Books, predicted: int) -> str:
    """Answer that counts in a stratum: yes; with more classes, the predicted one."""
    strata = books.settings.strata
    if strata.classes == ("no", "yes"):
        return "yes"
    first = next(name for name in strata.classifiers if is_applied(strata, predicted, name))
    return called(strata, predicted, first)


def _cards(books: Books) -> list[tuple[Row, int]]:
    return [card for cards in books.dealt for card in cards]


def _card(row: Row) -> CardRow:
    return CardRow(**{name: row[name] for name in CardRow.__dataclass_fields__})


def _shown_at(books: Books, card: Row, before: int) -> int:
    seed = seed_of_arrival(books.settings.seed ^ 1, before)
    return number(books.settings.item_id(card["item_id"]), seed)


def _stories(books: Books) -> dict[str, _Story]:
    """Answers of every dealt item that ever had one."""
    labels: dict[str, list[Row]] = {item_id: [] for item_id in books.dealt_items}
    for row in books.events:
        if row["item_id"] in labels:
            labels[row["item_id"]].append(row)
    stories = {
        item_id: _story(rows, _reviewers_needed(books, item_id)) for item_id, rows in labels.items()
    }
    return {item_id: story for item_id, story in stories.items() if story is not None}


def _reviewers_needed(books: Books, item_id: str) -> int:
    settings = books.settings
    drawn = number(settings.item_id(item_id), settings.seed ^ 2) / 2**64
    return settings.reviewing.per_item if drawn < settings.reviewing.share else 1


def _story(rows: Sequence[Row], needed: int) -> _Story | None:
    """Answers of an item by the rule (`labelling.review_rule`), from all its labels."""
    ruling = first = now = None
    says: dict[str, str] = {}  # in the order in which those who have an answer came to have one
    for row in rows:
        answer = str(row["answer"])
        if row["ruling"]:
            ruling = None if answer == "withdrawn" else answer
        elif answer == "withdrawn":
            says.pop(row["reviewer"], None)
        elif answer != "skip":
            says[row["reviewer"]] = answer
        now = ruling or _agreed(list(islice(says.values(), needed)), needed)
        first = first or now
    return None if first is None else _Story(first, now)


def _agreed(answers: Sequence[str], needed: int) -> str | None:
    outcomes = {"neither" if answer in NEITHER else answer for answer in answers}
    return answers[0] if len(answers) == needed and len(outcomes) == 1 else None


# Metrics of paper 3 in plain sums: answers as often as their items were drawn.


def _values(hits: float, yes: float, positives: float, items: float) -> dict[str, float]:
    """Metrics of section 6's table, for a classifier that predicts `yes` items as yes."""
    no = items - yes
    return {
        "precision": hits / yes,
        "recall": hits / positives if positives else 0.0,
        "f1": 2 * hits / (yes + positives),
        "accuracy": (no + 2 * hits - positives) / items,
        "false_omission_rate": (positives - hits) / no if no else 0.0,
        "prevalence": positives / items,
    }


def recycled_values(
    settings: Settings, answers: Sequence[Sequence[str]]
) -> Mapping[str, Sequence[float]]:
    """Value of every metric that is in the table.

    `answers`: of each stratum, in the order in which its cards were dealt, as far as rounds are
    complete.
    """
    recycled = recycle_of(settings.design, settings.goal, settings.strata, settings.draw_seed)
    n_answers = sum(map(len, answers))
    queue, route = recycled.longer_than(n_answers), recycled.route
    left = [iter(each) for each in answers]
    in_order = [next(left[cell]) for cell in queue.cells[:n_answers].tolist()]
    hits = {
        name: yes * _share([in_order[card] for card in draws.tolist()])
        for name, yes, draws in zip(route.names, route.yes.tolist(), queue.samples, strict=True)
        if draws.size and int(draws.max()) < n_answers
    }
    misses = []
    for card in queue.omission.tolist():
        if card >= n_answers:
            break
        misses.append(in_order[card])
    items, by_metric = sum(settings.strata.sizes.tolist()), dict[str, list[float]]()
    positives = hits.get(route.names[0], 0.0) + route.no * _share(misses)
    for target in settings.goal.targets:
        name = target.classifier or route.names[0]
        if target.minus is None and name in hits:
            yes = float(route.yes[route.names.index(name)])
            values = _values(hits[name], yes, positives, items)
            if target.metric in values:
                by_metric[target.name] = [min(max(values[target.metric], 0.0), 1.0)]
    return by_metric


def _share(answers: Sequence[str]) -> float:
    """Share of yes among answers that are yes or no."""
    judged = [answer == "yes" for answer in answers if answer not in NEITHER]
    return sum(judged) / len(judged) if judged else 0.0
