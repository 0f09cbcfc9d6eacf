"""Which cells of a Venn diagram are drawn from on their own, and which together."""

from collections.abc import Mapping

from assay.errors import InputError

__all__ = ["merge_cells"]

_MOST_HEAPS = 8


def merge_cells(
    cells: Mapping[int, int], *, most: int = 24, least_share: float = 0.005
) -> list[tuple[int, ...]]:
    """Put the cells that are too small or too many together.

    A cell stands alone if it is one of the `most` largest and holds at least `least_share` of the
    items. The others are put in the order of how many classifiers say yes, those of equal number in
    the order of their codes, and cut into heaps of neighbours: a heap is full when it holds an
    eighth of their items and `least_share` of all, and the last one, if it is not full, joins the
    one before.

    No metric loses by it: labels are counted by cell also where cells are drawn from together. What
    may be lost is precision, since the labels of a heap cannot be sent to one of its cells.

    Parameters
    ----------
    cells : mapping of int to int
        The items of each cell, by its code: bit k is set where classifier k says yes. Only those
        that some target needs.
    most : int
        The most cells that stand alone.
    least_share : float
        The share of the items below which a cell does not.

    Returns
    -------
    list of tuple of int
        The codes of each heap, ascending: first the cells that stand alone, in the order of their
        codes, then at most eight heaps. Each code is in exactly one of them.

    Examples
    --------
    >>> merge_cells({0b00: 9_000, 0b01: 990, 0b10: 8, 0b11: 2})
    [(0,), (1,), (2, 3)]
    """
    _refuse_bad_cells(cells)
    if most < 0 or not 0 <= least_share <= 1:
        raise InputError(
            f"most is {most} and least_share {least_share}",
            details="most is at least 0, and least_share between 0 and 1",
        )
    least = least_share * sum(cells.values())
    largest = sorted(cells, key=lambda code: (-cells[code], code))[:most]
    alone = sorted(code for code in largest if cells[code] >= least)
    others = set(cells).difference(alone)
    full = max(least, sum(cells[code] for code in others) / _MOST_HEAPS)
    heaps: list[list[int]] = []
    held = full  # so that the first cell opens a heap
    for code in sorted(others, key=lambda code: (code.bit_count(), code)):
        if held >= full:
            heaps.append([])
            held = 0
        heaps[-1].append(code)
        held += cells[code]
    if held < full and len(heaps) > 1:
        last = heaps.pop()
        heaps[-1] += last
    return [*((code,) for code in alone), *(tuple(sorted(heap)) for heap in heaps)]


def _refuse_bad_cells(cells: Mapping[int, int]) -> None:
    if not cells:
        raise InputError("there are no cells to merge", details="at least one is needed")
    for code, items in cells.items():
        if code < 0 or items < 1:
            raise InputError(
                f"cell {code} holds {items} items",
                details="a code is at least 0, and a cell that occurs holds at least 1 item",
            )
