"""Classes in a report: metrics of each, what is confused most, and the matrix, shaded by share."""

from assay.core.vocabulary import NONE_OF_THESE
from assay.report.blocks import Block, Paragraph, Section, Table
from assay.results import CLASS_HEADINGS, ClassTable, ConfusionMatrix

_MOST = 24  # classes that a table has room for
_PAIRS = 12  # of classes that are confused most
_STEPS = (0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 0.9)  # of the shade, by the share


def confusion_section(matrix: ConfusionMatrix) -> Section:
    """Return what is confused with what, in words, a list and a shaded table."""
    whose = f" of {matrix.classifier}" if matrix.classifier else ""
    blocks: list[Block] = [Paragraph(f"{matrix.headline}.")]
    pairs = tuple(
        (
            cell.said,
            cell.is_of,
            f"{cell.items:,.0f}",
            f"{cell.rate:.1%}",
            f"{cell.low:.1%} to {cell.high:.1%}",
            f"{cell.labels:,}",
        )
        for cell in matrix.confused[:_PAIRS]
    )
    if pairs:
        headings = ("Called", "Is", "Items, about", "Share of what is called so", "Interval")
        blocks.append(Table("Confused most", (*headings, "Labels"), pairs, texts=(1,)))
    return Section(f"Confusion matrix{whose}", (*blocks, *_shaded(matrix)))


def class_section(table: ClassTable) -> Section:
    """Return precision, recall and F1 of the classes."""
    whose = f" of {table.classifier}" if table.classifier else ""
    # How many there are stays out: the page is as wide as six columns.
    shown = [place for place, heading in enumerate(CLASS_HEADINGS) if heading != "there are about"]
    headings = tuple(CLASS_HEADINGS[place].capitalize() for place in shown)
    rows = tuple(tuple(row.cells[place] for place in shown) for row in table)
    blocks: list[Block] = [Table("Each class", headings, rows)]
    return Section(f"Classes{whose}", (*blocks, Paragraph(" ".join(table.remarks), small=True)))


def _shaded(matrix: ConfusionMatrix) -> list[Block]:
    """Return the matrix, those that are confused beside each other; a part where it is large."""
    order = matrix.order[:_MOST]
    others = any(cell.is_of == NONE_OF_THESE for cell in matrix)
    columns = (*order, NONE_OF_THESE) if others else order
    found = {(cell.said, cell.is_of): cell for cell in matrix}
    rows, levels = [], []
    for said in order:
        cells = [found.get((said, name)) for name in columns]
        rows.append((said, *("·" if each is None else _percent(each.rate) for each in cells)))
        levels.append(tuple(0 if each is None else level_of(each.rate) for each in cells))
    words = (
        "A row is what items that are called so are, in percent. A dot is where no label is. "
        "Classes that are confused with each other stand beside each other. Intervals are at "
        f"{100 * matrix.confidence:.4g}% for each share alone."
    )
    if len(order) < len(matrix.classes):
        words += f" The {len(order)} classes of {len(matrix.classes):,} with most errors are shown."
    caption = "What items that are called so are, in percent"
    table = Table(caption, ("Called", *columns), tuple(rows), levels=tuple(levels))
    return [table, Paragraph(words, small=True)]


def level_of(share: float) -> int:
    """Return how dark a share is shown, from 0 to 9.

    >>> level_of(0.001), level_of(0.04), level_of(0.97)
    (0, 2, 9)
    """
    return sum(share >= step for step in _STEPS)


def _percent(share: float) -> str:
    if 0 < share < 0.005:
        return "<1"
    return f"{100 * share:.0f}"
