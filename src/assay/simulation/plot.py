"""Pictures: one house style, each saved as SVG and PNG. Needs the extra ``plot``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's, which people with colour blindness can tell apart; black last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#000000")

_STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "svg.hashsalt": "assay",  # the same picture is the same file
}


def new_figure(
    columns: int = 1, rows: int = 1, *, width: float = 6.4, height: float = 4.0
) -> "tuple[Figure, Sequence[Axes]]":
    """Return a figure and its axes, row by row; `width` and `height` are of one of them, in inches.

    Examples
    --------
    >>> figure, (left, right) = new_figure(columns=2)
    >>> lines = left.plot([1, 2, 3], [3, 1, 2])
    """
    try:
        import matplotlib as mpl
        from cycler import cycler
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError(
            "pictures need matplotlib", hint="pip install 'assay[plot]'"
        ) from None
    with mpl.rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, [axis for row in axes for axis in row]


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """Write the finished figure as SVG and PNG into the folder, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    # Laid out once: matplotlib would do it again for each file, and draw each twice for it.
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
        figure.set_layout_engine(None)
    files = [folder / f"{name}.svg", folder / f"{name}.png"]
    for file in files:
        figure.savefig(file, dpi=110, metadata={"Date": None} if file.suffix == ".svg" else None)
    return files
