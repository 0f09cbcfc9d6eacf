"""Two weeks of predictions, and what an engine that joins them must answer as memory does."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from assay.core.cells import cut_heaps
from assay.core.deck import Id
from assay.core.strata import Strata
from assay.predictions import Compared, read_compared
from tests.predictions.contract import SEED
from tests.predictions.several_population import CLASSIFIERS, several

WEEKS: dict[str, tuple[slice, slice]] = {
    "some in both": (slice(0, 900), slice(400, 1_500)),
    "disjoint": (slice(0, 700), slice(700, 1_500)),
    "the same items": (slice(0, 800), slice(0, 800)),
    "later within earlier": (slice(0, 1_500), slice(200, 320)),
}


def weeks(items: str = "some in both", *, strings: bool = False) -> tuple["pa.Table", "pa.Table"]:
    """Return two tables: scores of the later are other scores, and so are its texts."""
    first = several(strings=strings).table
    other = several(strings=strings, seed=5).table
    old, new = WEEKS[items]
    later = first.select(["key"])
    for name in other.column_names:
        if name != "key":
            later = later.append_column(name, other[name])
    seen = pa.array([f"now {text}" for text in later["text"].to_pylist()])
    later = later.set_column(later.column_names.index("text"), "text", seen)
    return first.slice(old.start, old.stop - old.start), later.slice(
        new.start, new.stop - new.start
    )


def read(
    sources: Sequence[object], one: str = "odds", other: str = "odds", **more: Any
) -> Compared:
    """Read both with the columns of two of the classifiers."""
    columns = {"old": CLASSIFIERS[one], "new": CLASSIFIERS[other]}
    given = {"id": "key", "show": ["text"], "seed": SEED, **more}
    return read_compared(sources, classifiers=columns, **given)


def strata_of(both: Compared, bins: int) -> Strata:
    """Cut every code by itself, but for the last two, which are drawn together."""
    codes = sorted(both.cells())
    heaps = [*((code,) for code in codes[:-2]), tuple(codes[-2:])]
    cut = tuple(cut_heaps(both.profile_heaps(heaps), heaps, [bins] * len(heaps), method="perc"))
    return Strata(both.classifiers, cut, both.count_parts(cut), groups=both.groups)


def check_pair(
    found: Compared, meant: Compared, *, other: Compared | None = None, seeds: int = 2
) -> None:
    """Compare all that is counted, cards of two seeds, and items that are looked for.

    Parameters
    ----------
    found, meant : Compared
        What an engine read, and the same in memory.
    other : Compared, optional
        Another population, whose strata cut through cells.
    seeds : int
        Of how many seeds cards are dealt: the first pass may have brought those of one along.
    """
    for told in ("size", "id_kind", "classifiers", "groups", "positives", "score_range", "doubts"):
        assert getattr(found, told) == getattr(meant, told), told
    assert found.cells() == meant.cells()
    assert found.fingerprint() == meant.fingerprint()
    assert [part.fingerprint() for part in found.parts] == [
        part.fingerprint() for part in meant.parts
    ]
    assert [part.size for part in found.parts] == [part.size for part in meant.parts]
    strata = strata_of(meant, 3)
    assert strata_of(found, 3) == strata
    counts = [(7 * place) % 40 for place in range(strata.n_strata)]
    for seed, wanted in ((3, [10**6] * strata.n_strata), (SEED, counts))[:seeds]:
        dealt = [
            each.deal(strata, scale="probability", seed=seed, counts=wanted)
            for each in (found, meant)
        ]
        assert dealt[0] == dealt[1]
    if other is not None:
        cut = strata_of(other, 5)
        sizes = [each.count(cut, scale="probability").tolist() for each in (found, meant)]
        assert sizes[0] == sizes[1]
        assert sizes[0] != strata_of(other, 5).sizes.tolist()
    ids: list[Id] = [card.id for deck in dealt[1] for card in deck[:2]]
    looked = [
        each.find([*ids, "none", -77], variable="rank", scale="probability")
        for each in (found, meant)
    ]
    assert looked[0] == looked[1]
    assert looked[0][-2:] == [None, None]
