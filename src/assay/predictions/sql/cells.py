"""Items by bin and label, counted by an engine in one pass, and the resulting cells.

The rule for bins depends on all values, which are unknown before the pass. So items are grouped by
the bins of every rule. All bins rise with the value, so there are no more groups than bins of the
rules together. Afterwards the groups are merged by the right rule.
"""

from collections.abc import Callable, Sequence
from math import isfinite

import numpy as np
import pyarrow as pa

from assay.core.bins import STEPS, Rule, bins_by, scale_of
from assay.core.deck import IdKind
from assay.core.profile import ScoreCells, evenest
from assay.core.tally import cells_at
from assay.core.types import Ints
from assay.predictions.engine import Span
from assay.predictions.query import Query, double_sql
from assay.predictions.sql.checks import usable_sql
from assay.predictions.sql.items import Items, bin_sql, place_of
from assay.predictions.sql.rows import RowSql
from assay.predictions.sql.table import Table, integers, words

RULES: tuple[Rule, ...] = ("probability", "tail", "margin")

# Columns of the values of bins, and of whether there are any. Values without a bin are 0: some
# databases evaluate a CASE branch that is not needed, and reject NaN there.
_OF: dict[Rule, tuple[str, str]] = {
    **dict.fromkeys(("probability", "tail"), ("share", "is_share")),
    "margin": ("finite", "usable"),
}

# Shift and width in bits of a digest's pieces: the sum of some 10^12 pieces fits into a BIGINT.
_PIECES = {"lowest": (0, 22), "middle": (22, 21), "highest": (43, 21)}

XORED = "xor_all(word) AS words"
"""Aggregate of digests for one classifier."""
ODDS = "xor_all(word) AS odds_words"
"""Aggregate of a model's log odds."""
SUMMED = tuple(f"sum({name}) AS {name}" for name in _PIECES)
"""Aggregates of digests for several classifiers, from `in_pieces`."""


def in_pieces(items: Items) -> Items:
    """Items with the digest in pieces."""
    return items.with_column(
        *(
            f"and_bits(right_by(word, {shift}), {2**bits - 1}) AS {name}"
            for name, (shift, bits) in _PIECES.items()
        )
    )


def grouped(
    # With the columns id, value and says. Invalid items form a group without bins.
    items: Items,
    classes: int | None = None,  # how many there are, if not no and yes
    *,
    rules: Sequence[Rule] = RULES,  # those by whose bins items are grouped
    sums: Sequence[str] = (),  # further aggregates of the items
    by: Sequence[str] = (),  # further columns that items are grouped by
) -> Query:
    """Query for the groups: few, however many items there are."""
    usable = usable_sql(RowSql("id", "value", "says", classes=classes))
    others = [name for name in items.keep if name not in ("id", "value", "says", *by)]
    more = [name for name in others if any(f"({name})" in each for each in sums)]
    keys = items.query.select(f"{usable} AS usable", "value", "says", *by, *more)
    is_share = "usable AND value BETWEEN 0 AND 1"
    keys = keys.select(
        *("usable", f"{is_share} AS is_share", "value", "says", *by, *more),
        f"CASE WHEN {is_share} THEN value ELSE 0e0 END AS share",
        *(["CASE WHEN usable THEN value ELSE 0e0 END AS finite"] if "margin" in rules else []),
    )
    bins = (
        f"CASE WHEN {_OF[rule][1]} THEN {bin_sql(_OF[rule][0], rule)} END AS {rule}"
        for rule in rules
    )
    keys = keys.select("CASE WHEN usable THEN says END AS prediction", *bins, "value", *by, *more)
    ends = ("count(*) AS items", "min(value) AS low", "max(value) AS high")
    return keys.group(["prediction", *by, *rules], *ends, *sums)


def merged(groups: "pa.Table", classes: int = 2) -> ScoreCells | None:
    """Cells made up of the groups; None if an item is invalid."""
    if groups["margin"].null_count:
        return None
    return evenest_of(groups, classes, lambda cells: cells)


def evenest_of(
    groups: "pa.Table", classes: int, by: Callable[[ScoreCells], ScoreCells]
) -> ScoreCells:
    """Cells by the rule that makes them most even, as items or by weight."""
    low, high = groups["low"].to_numpy(), groups["high"].to_numpy()
    rule = scale_of(float(low.min()), float(high.max()))
    return evenest(lambda rule: merged_by(groups, rule, classes), rule, by)


def merged_by(groups: "pa.Table", rule: Rule, classes: int) -> ScoreCells:
    """Cells by a rule, made up of the groups."""
    columns, none = groups.column_names, np.zeros(groups.num_rows, dtype=np.int64)
    low, high = (groups[name].to_numpy() for name in ("low", "high"))
    place = bins_by(rule) * integers(groups["prediction"]) + integers(groups[rule]) + STEPS[rule]
    summed, weighted = "lowest" in columns, "weights" in columns
    digest = words(groups["words"]) if "words" in columns else none.view(np.uint64)
    for name, (shift, _) in _PIECES.items() if summed else ():
        digest = digest + (words(groups[name]) << np.uint64(shift))
    weight = integers(groups["weights"]) if weighted else none
    counted = place, integers(groups["items"]), weight, digest.view(np.int64), low, high
    return cells_at([counted], rule, classes, xor=not summed, weighted=weighted)


# Items in spans of the variable.

_LONGEST_LIST = 2**14  # codes


def heaped(items: Items, spans: Sequence[Span], classes: int | None) -> Items:
    """Items with the heap of their code, if spans are of heaps; -1 for none.

    A heap is named by its smallest code. It is looked up in a list, unless that would be too long.
    """
    if classes is None:
        return items
    if classes > _LONGEST_LIST:
        return items.with_column(f"{heap_cases_sql(spans)} AS heap")
    heap = np.full(classes, -1.0)
    for codes in {span.codes for span in spans if span.codes is not None}:
        heap[list(codes)] = codes[0]
    items.query, which = items.query.listing(heap.tolist())
    return items.with_column(f"CAST(element({which}, says) AS BIGINT) AS heap")


def count_spans(table: Table, items: Items, spans: Sequence[Span], classes: int | None) -> Ints:
    """Count and weigh the items in each span."""
    inside = case_sql(spans, [str(place) for place in range(len(spans))])
    weight = "weight" if "weight" in items.keep else "1 AS weight"
    rows = heaped(items, spans, classes).query.select(f"{inside} AS span", weight)
    rows = rows.select("span", "weight", where="span IS NOT NULL")
    sums = table.fetch(rows.group(["span"], "count(*) AS items", "sum(weight) AS weights"))
    counts = np.zeros((2, len(spans)), dtype=np.int64)
    for row, name in enumerate(("items", "weights")):
        counts[row, integers(sums["span"])] = integers(sums[name])
    return counts


def drawn(
    items: Items, spans: Sequence[Span], classes: int | None, *, kind: IdKind, seed: int
) -> Items:
    """Items of all spans whose number in the deck is at most the limit.

    With weights, the limit applies to the number divided by the impressions.
    """
    weighted = "weight" in items.keep
    limits = [double_sql(span.limit) if weighted else str(place_of(span.limit)) for span in spans]
    kept = items.keep
    rows = heaped(items, spans, classes).with_column(f"{case_sql(spans, limits)} AS highest")
    rows = rows.only(*rows.keep, where="highest IS NOT NULL")
    number = rows.numbered("id", kind, seed)
    rows = rows.with_column(f"{number.number if weighted else number.place} AS own")
    return rows.only(*kept, where="own <= weight * highest" if weighted else "own <= highest")


def case_sql(spans: Sequence[Span], then: Sequence[str]) -> str:
    """Expression with one of several values, by the span of a row; NULL in none.

    >>> case_sql([Span(None, 0.5, float("inf"), 7)], ["7"])
    'CASE WHEN value >= 5.0000000000000000e-01 THEN 7 END'
    """
    cases = [f"WHEN {inside_sql(span)} THEN {what}" for span, what in zip(spans, then, strict=True)]
    return f"CASE {' '.join(cases)} END"


def heap_cases_sql(spans: Sequence[Span]) -> str:
    """Heap of a row's code, named by the smallest code of the heap; -1 for none.

    >>> heap_cases_sql([Span(None, 0.0, 1.0, 7, codes=(1, 2))])
    'CASE WHEN says IN (1, 2) THEN 1 ELSE -1 END'
    """
    heaps = {span.codes: None for span in spans if span.codes is not None}
    cases = [f"WHEN says IN ({', '.join(map(str, codes))}) THEN {codes[0]}" for codes in heaps]
    return f"CASE {' '.join(cases)} ELSE -1 END"


def inside_sql(span: Span) -> str:
    """Condition that a row is in a span, whatever its number.

    >>> inside_sql(Span(True, float("-inf"), 0.5, 0))
    'says = 1 AND value < 5.0000000000000000e-01'
    """
    tests = [] if span.side is None else [f"says = {int(span.side)}"]
    if span.codes is not None:
        tests = [f"heap = {span.codes[0]}"]
    if isfinite(span.low):
        tests.append(f"value >= {double_sql(span.low)}")
    if isfinite(span.high):
        tests.append(f"value < {double_sql(span.high)}")
    return " AND ".join(tests) or "TRUE"
