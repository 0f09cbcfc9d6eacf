"""Which cells of a Venn diagram are drawn from on their own, and which together."""

from collections.abc import Mapping

from assay.errors import InputError

_MOST_HEAPS = 8


def merge_cells(
    shares: Mapping[int, float], *, most: int = 24, least: float = 0.005
) -> list[tuple[int, ...]]:
    """Put the cells that are too small or too many together.

    A cell stands alone if its share is one of the `most` largest and at least `least`. The others
    are put in the order of how many classifiers say yes, those of equal number in the order of
    their codes, and cut into heaps of neighbours: a heap is full when its cells' shares come to an
    eighth of all the others', and to `least`; the last one, if it is not full, joins the one
    before.

    No metric loses by it: labels are counted by cell also where cells are drawn from together. What
    may be lost is precision, since the labels of a heap cannot be sent to one of its cells. That is
    why a share is of what a target is about, not of all items: a classifier that says yes to one
    item in a thousand needs labels of just these.

    Parameters
    ----------
    shares : mapping of int to float
        How much each cell matters, by its code (bit k is set where classifier k says yes): the
        largest share that it has of what any target is about. Only cells that some target needs.
    most : int
        The most cells that stand alone.
    least : float
        The share below which a cell does not.

    Returns
    -------
    list of tuple of int
        The codes of each heap, ascending: first the cells that stand alone, in the order of their
        codes, then at most eight heaps. Each code is in exactly one of them.

    Examples
    --------
    >>> merge_cells({0b00: 0.9, 0b01: 0.099, 0b10: 0.0008, 0b11: 0.0002})
    [(0,), (1,), (2, 3)]
    """
    _refuse_bad_shares(shares)
    if most < 0 or not 0 <= least <= 1:
        raise InputError(
            f"most is {most} and least {least}",
            details="most is at least 0, and least between 0 and 1",
        )
    largest = sorted(shares, key=lambda code: (-shares[code], code))[:most]
    alone = sorted(code for code in largest if shares[code] >= least)
    others = sorted(set(shares).difference(alone), key=lambda code: (code.bit_count(), code))
    full = max(least, sum(shares[code] for code in others) / _MOST_HEAPS)
    heaps: list[list[int]] = []
    held = full  # so that the first cell opens a heap
    for code in others:
        if held >= full:
            heaps.append([])
            held = 0.0
        heaps[-1].append(code)
        held += shares[code]
    if held < full and len(heaps) > 1:
        last = heaps.pop()
        heaps[-1] += last
    return [*((code,) for code in alone), *(tuple(sorted(heap)) for heap in heaps)]


def _refuse_bad_shares(shares: Mapping[int, float]) -> None:
    if not shares:
        raise InputError("there are no cells to merge", details="at least one is needed")
    for code, share in shares.items():
        if code < 0 or not 0 < share <= 1:
            raise InputError(
                f"cell {code} has a share of {share}",
                details="a code is at least 0, and a share above 0 and at most 1",
            )
