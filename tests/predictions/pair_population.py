"""Two weeks of predictions, and what an engine that joins them must answer as memory does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from assay.core.bins import Scale
from assay.core.cells import cut_heaps
from assay.core.deck import Id
from assay.core.error_model import RANK, SAID, Input, Model
from assay.core.strata import Strata
from assay.core.types import Floats
from assay.predictions import Predictions, read_compared
from tests.predictions.contract import SEED
from tests.predictions.several_population import CLASSIFIERS, SIZE, several

WEEKS: dict[str, tuple[slice, slice]] = {
    "some in both": (slice(0, 900), slice(400, 1_500)),
    "disjoint": (slice(0, 700), slice(700, 1_500)),
    "the same items": (slice(0, 800), slice(0, 800)),
    "later within earlier": (slice(0, 1_500), slice(200, 320)),
}


RNG = np.random.default_rng(4)
WEIGHTS: dict[str, Floats] = {
    "lognormal": RNG.lognormal(0.0, 1.5, SIZE),
    # A few items have nearly all of it: more passes than one.
    "heavy": RNG.pareto(0.25, SIZE) + 1e-9,
    # Those of both weeks sum to 1, but for rounding: the exact sum decides which power it is.
    "shares": np.full(SIZE, 1 / SIZE),
    "tiny": RNG.random(SIZE) * 1e-310,
}


def weeks(
    items: str = "some in both", *, strings: bool = False, weights: str | None = None
) -> tuple["pa.Table", "pa.Table"]:
    """Return two tables: scores of the later are other scores, and so are its texts.

    With weights, each week has some of 0, the other week has other ones; but for shares.
    """
    first = several(strings=strings).table
    other = several(strings=strings, seed=5).table
    old, new = WEEKS[items]
    later = first.select(["key"])
    for name in other.column_names:
        if name != "key":
            later = later.append_column(name, other[name])
    seen = pa.array([f"now {text}" for text in later["text"].to_pylist()])
    later = later.set_column(later.column_names.index("text"), "text", seen)
    if weights is not None:
        each = WEIGHTS[weights]
        of_old, of_new = each.copy(), each.copy()
        if weights != "shares":
            of_old[5::19], of_new[7::23] = 0, 0
        first = first.append_column("views", pa.array(of_old))
        later = later.append_column("views", pa.array(of_new))
    return first.slice(old.start, old.stop - old.start), later.slice(
        new.start, new.stop - new.start
    )


def read(
    sources: Sequence[object], one: str = "odds", other: str = "odds", **more: Any
) -> Predictions:
    """Read both with the columns of two of the classifiers; by weight, where they have any."""
    columns = {"old": CLASSIFIERS[one], "new": CLASSIFIERS[other]}
    given = {"id": "key", "show": ["text"], "seed": SEED, **more}
    return read_compared(sources, classifiers=columns, **given)


def strata_of(found: Any, bins: int) -> Strata:
    """Cut every code by itself, but for the last two, which are drawn together; many in thirds."""
    codes = sorted(found.cells())
    heaps = [*((code,) for code in codes[:-2]), tuple(codes[-2:])]
    if len(codes) > 20:
        heaps = [tuple(codes[first::3]) for first in range(3)]
    cut = tuple(cut_heaps(found.profile_heaps(heaps), heaps, [bins] * len(heaps), method="perc"))
    strata = Strata(found.classifiers, cut, found.count_parts(cut), groups=found.groups)
    weighed: Strata = found.weighed(strata, scale="probability")
    return weighed


NAMED = ("size", "weighted", "id_kind", "classifiers", "groups", "positives", "score_range")


def check_alike(
    found: Any, meant: Any, *, other: Any = None, seeds: int = 2, scale: Scale = "probability"
) -> None:
    """Compare with memory all that is counted, cards of two seeds, and items looked for.

    The strata of another population cut through cells. The first pass may have brought along the
    cards of one seed. A model's log odds are on the scale of margins.
    """
    for told in NAMED:
        assert getattr(found, told) == getattr(meant, told), told
    assert found.cells() == meant.cells()
    assert found.fingerprint() == meant.fingerprint()
    strata = strata_of(meant, 3)
    assert strata_of(found, 3) == strata
    counts = [(7 * place) % 40 for place in range(strata.n_strata)]
    for seed, wanted in ((3, [10**6] * strata.n_strata), (SEED, counts))[:seeds]:
        dealt = [
            each.deal(strata, scale=scale, seed=seed, counts=wanted) for each in (found, meant)
        ]
        assert dealt[0] == dealt[1]
    if other is not None:
        cut = strata_of(other, 5)
        sizes = [each.count(cut, scale="probability").tolist() for each in (found, meant)]
        assert sizes[0] == sizes[1] != cut.sizes.tolist()
        some = [
            each.deal(cut, scale="probability", seed=8, counts=[9] * cut.n_strata)
            for each in (found, meant)
        ]
        assert some[0] == some[1]
    assert all((card.weight is not None) == meant.weighted for deck in dealt[1] for card in deck)
    ids: list[Id] = [card.id for deck in dealt[1] for card in deck[:2]]
    looked = [
        each.find([*ids, "none", -77], variable="rank", scale=scale) for each in (found, meant)
    ]
    assert looked[0] == looked[1]
    assert looked[0][-2:] == [None, None]


def check_pair(found: Predictions, meant: Predictions, **how: Any) -> None:
    """Compare two weeks, and each of them."""
    check_alike(found, meant, **how)
    assert found.doubts == meant.doubts
    parts = [[(part.fingerprint(), part.size) for part in each.parts] for each in (found, meant)]
    assert parts[0] == parts[1]


AUX = ["judge", "tongue", "flag", "whole"]


def with_opinions(table: "pa.Table", seed: int) -> "pa.Table":
    """Return a week with columns for a model, some values of which are missing."""
    rows = range(table.num_rows)
    judge = np.random.default_rng(seed).normal(size=table.num_rows)
    judge[3], judge[4] = np.nan, -0.0
    columns: dict[str, Any] = {
        "judge": [None if row % 7 == 0 else judge[row] for row in rows],
        "tongue": [None if row % 11 == 0 else ["de", "0.5", "nan"][row % 3] for row in rows],
        "flag": [None if row % 5 == 0 else row % 2 == 1 for row in rows],
        "whole": pa.array([None if row % 13 == 0 else row % 4 for row in rows], pa.int32()),
    }
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table


def check_opinions(
    scans: Sequence[object],
    tables: Sequence["pa.Table"],
    one: str,
    other: str,
    *,
    aux: Sequence[str] = AUX,
    seeds: int = 2,
    thorough: bool = True,
) -> Predictions:
    """Compare what columns for a model say, and all that is counted by a model, with memory.

    If thorough, also what is told without the model, and both read once more, by it.
    """
    found, meant = (read(each, one, other, aux=aux) for each in (scans, tables))
    if thorough:
        check_pair(found, meant, seeds=seeds)
    assert found.opinions_digest() == meant.opinions_digest()
    ids: list[Any] = tables[0]["key"].to_pylist()[::7] + tables[1]["key"].to_pylist()[-20:]
    said, told = found.opinions(ids), meant.opinions(ids)
    assert list(said) == list(told)
    for name, values in said.items():
        np.testing.assert_array_equal(list(values), list(told[name]), err_msg=name)
    scores = [name for name in said if name.endswith("'s score")]
    assert len(scores) == 2 - (one == "votes")
    inputs = [Input(SAID, "said", bit=bit) for bit in (0, 3)]
    inputs += [Input(name, "number", 0.2, 0.7) for name in ("judge", "whole", *scores)]
    inputs += [Input("tongue", "level", level=level) for level in ("de", None)]
    inputs += [Input("flag", "level", level=True), Input(RANK, "share")]
    inputs = [each for each in inputs if each.column not in AUX or each.column in aux]
    terms = ((), *((place,) for place in range(len(inputs))), (0, 2))
    weights = np.random.default_rng(5).normal(size=(2, len(terms)))
    model = Model(tuple(inputs), terms, tuple(map(tuple, weights.tolist())), 9)
    check_pair(found.with_model(model), meant.with_model(model), scale="margin", seeds=seeds)
    if thorough:
        placed = read(scans, one, other, aux=aux, model=model.to_dict())
        assert placed.fingerprint() == meant.with_model(model).fingerprint() != meant.fingerprint()
        assert placed.as_it_is_now().fingerprint() == placed.fingerprint()
        assert list(placed.opinions(ids)[RANK]) == list(told[RANK])
    return found
