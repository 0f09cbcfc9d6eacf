"""Seal of what reviewers see: whether it is still what was laid down when the campaign was made.

The predictions' fingerprint is of ids, scores and labels, which one pass reads in any case. To read
all texts of all items as well would double the time that a campaign takes to be made; so what is
sealed is what was read and stored, the values of the first cards of every deck. When more cards
are needed those are read again beside the new ones, and must be the same.

It proves that items which could have been judged so far are shown as they were. Of an item that
was never dealt nothing is known; who changes only what was not dealt is not noticed.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from assay.errors import PredictionsError, StorageError
from assay.labelling.settings import Settings
from assay.predictions import Card
from assay.storage import CardRow

_KIND = "assay-shown-1"


def sealed(settings: Settings, cards: Sequence[CardRow]) -> Settings:
    """Return the settings of a campaign with a seal of what its first cards show."""
    if not settings.source.kept and not settings.ranked:
        return settings
    counts = [0] * settings.strata.n_strata
    for card in cards:
        counts[card.stratum] += 1
    seal = seal_of(
        counts, [(card.stratum, card.position, card.item_id, card.shown) for card in cards]
    )
    return replace(settings, source=replace(settings.source, shown=seal))


def seal_of(counts: Sequence[int], rows: Iterable[tuple[int, int, str, str]]) -> str:
    """Return the seal of the first cards of every deck.

    `counts`: how many of each; `rows`: stratum, place, id and what is shown, as they are stored;
    those below are left out.

    >>> seal_of([1], [(0, 0, "a", "{}"), (0, 1, "b", "{}")]) == seal_of([1], [(0, 0, "a", "{}")])
    True
    """
    first = sorted(row for row in rows if row[0] < len(counts) and row[1] < counts[row[0]])
    digest = sha256(json.dumps(first).encode()).hexdigest()
    return f"{_KIND}:{'+'.join(map(str, counts))}:{digest[:32]}"


def is_whole(seal: str, rows: Iterable[tuple[int, int, str, str]]) -> bool:
    """Tell whether stored cards are those that were sealed; so are those of an older campaign."""
    kind, _, rest = seal.partition(":")
    if kind != _KIND:
        return True
    counts = rest.partition(":")[0].split("+")
    return all(map(str.isdecimal, counts)) and seal_of([*map(int, counts)], rows) == seal


def refuse_other_shown(
    settings: Settings, lying: Sequence[CardRow], decks: Iterable[Iterable[Card]], source: str
) -> None:
    """Raise where items that lie in the reserve are not shown as they were.

    `lying`: the cards that were stored.

    A value is compared as it is written: 0.5 from a table is the 0.50 of a CSV file.
    """
    if not settings.source.shown:
        return
    rows = [(card.stratum, card.position, card.item_id, card.shown) for card in lying]
    if not is_whole(settings.source.shown, rows):
        raise StorageError(
            f"what reviewers see of items was changed in the storage of campaign {settings.name!r}",
            details="the first cards do not show what they did when the campaign was made",
            hint="see `assay verify`; restore the storage from a backup",
        )
    then = {card.item_id: json.loads(card.shown) for card in lying}
    changed = [
        (card.id, column)
        for deck in decks
        for card in deck
        if str(card.id) in then
        for column in _differing(then[str(card.id)], card.shown)
    ]
    if changed:
        (id, column), items = changed[0], {each for each, _ in changed}
        raise PredictionsError(
            f"{source} does not show items as it did when campaign {settings.name!r} was made",
            details=f"{len(items):,} of {len(then):,} items that were drawn differ; first: item "
            f"{id!r}, column {column!r}",
            hint="go on with the predictions as they were; or rebase the campaign, which keeps all "
            f"labels: rebase_campaign({settings.name!r}, ...)",
        )


def _differing(then: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """Return the columns, of those that both have, in which an item is shown otherwise."""
    return [name for name, value in then.items() if name in now and not _alike(value, now[name])]


def _alike(one: object, other: object) -> bool:
    return one == other or _written(one) == _written(other)


def _written(value: object) -> str:
    """Return a value as text, the same whatever kind of file it stood in."""
    if isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True, default=str)
    text = str(value).strip().casefold()
    try:
        return repr(float(text))
    except ValueError:
        return text
