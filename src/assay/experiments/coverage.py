"""How often a design is right whatever the scores look like, and what it costs: the study itself.

Every evaluation goes through the campaign's own loop to its stop. A cell is written to the folder
as soon as it is done, and is not run again by the same command.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from assay.design import Goal, check_together
from assay.errors import InputError
from assay.experiments import coverage_figures as figures
from assay.experiments.coverage_cells import Cell, Row, Settings, measured
from assay.experiments.coverage_log import Log
from assay.experiments.coverage_plan import FULL, QUICK, RANDOM, Extent, Part, Plan
from assay.experiments.coverage_result import Result
from assay.experiments.coverage_tables import every_table
from assay.simulation import named_design, run_tasks

__all__ = ["FULL", "QUICK", "Extent", "Part", "Result", "run", "write"]

_LOG = "coverage.csv"
_RUNS_AT_ONCE = 40_000  # evaluations between two writes to the folder: about a minute of work
_BESIDE = "beside"  # the part that random sampling's cells are told as: all parts share them
_RUNS_BESIDE = 1000  # its mean labels are then known to a tenth of a percent

Progress = Callable[[float], None]


def run(
    folder: Path,
    *,
    parts: Collection[Part] = (),
    extent: Extent = FULL,
    design: str = "default",
    data: Path | None = None,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run the study, or go on with one that was ended before it was done.

    Parameters
    ----------
    folder : Path
        Where coverage.csv is, or will be.
    parts : collection of Part
        Parts to run; none: all of them. Part ``sizes`` takes its cells from ``grid``, and runs it.
    extent : Extent
        How many cells, and how many evaluations of each: `FULL`, `QUICK` or another.
    design : str
        A name of `assay.simulation.DESIGN_NAMES`.
    data : Path, optional
        The folder with real classifiers; without it the package generates some.
    seed : int
        Fixes all numbers, the held-out populations among them.
    workers, progress
        As in `assay.simulation.run_tasks`.
    """
    name = design.strip().lower()
    # Tells of a wrong name, and of a design that has no stop of its own, before all the work.
    check_together(named_design(name), Goal("precision", within=0.01), 1)
    if extent.replications < 2:
        raise InputError(f"replications must be at least 2, got {extent.replications}")
    plan = Plan(name, extent, data, seed)
    chosen = [part for part in Part if not parts or part in parts]
    if Part.SIZES in chosen and Part.GRID not in chosen:
        chosen = [Part.GRID, *chosen]
    log = Log(folder / _LOG)
    wanted: dict[Settings, None] = {}  # in the order of the parts, each once
    interrupted = False
    try:
        for number, part in enumerate(chosen):
            cells = plan.cells(part, _finished(log, wanted))
            every = _with_random(cells, plan)
            wanted |= dict.fromkeys(each.settings for each in every)
            told = None if progress is None else _within(progress, number, len(chosen))
            _measure(every, plan, log, workers, told)
    except KeyboardInterrupt:
        interrupted = True
    return Result(name, seed, extent.replications, tuple(_finished(log, wanted)), interrupted)


def write(result: Result, folder: Path) -> list[Path]:
    """Write the tables and the pictures, and return the files."""
    summary = folder / "coverage.md"
    summary.write_text("\n".join(each.markdown() for each in every_table(result)), encoding="utf-8")
    return [folder / _LOG, summary, *figures.draw(result, folder)]


def _with_random(cells: Sequence[Cell], plan: Plan) -> list[Cell]:
    """Return the cells, and before them random sampling with the same interval."""
    return [*(Cell(_beside(cell, plan), cell.subject) for cell in cells), *cells]


def _beside(cell: Cell, plan: Plan) -> Settings:
    return replace(
        cell.settings,
        part=_BESIDE,
        design=RANDOM,
        population=cell.subject.twin,
        replications=min(plan.extent.replications, _RUNS_BESIDE),
    )


def _measure(
    cells: Sequence[Cell], plan: Plan, log: Log, workers: int | None, progress: Progress | None
) -> None:
    """Run the cells that were not run before.

    Raises
    ------
    KeyboardInterrupt
        It was interrupted; the log has what was finished.
    """
    missing = {cell.settings: cell for cell in cells if log.get(cell.settings) is None}
    groups = list(_groups(list(missing.values())))
    for number, group in enumerate(groups):
        wanted = group[0].settings
        found = run_tasks(
            [cell.task() for cell in group],
            replications=wanted.replications,
            seed=wanted.seed,
            workers=workers,
            progress=None if progress is None else _within(progress, number, len(groups)),
        )
        ended = [
            (cell, runs)
            for cell, runs in zip(group, found, strict=True)
            if runs is not None and runs.labels.size == wanted.replications
        ]
        for cell, runs in ended:
            beside = _beside(cell, plan)
            row = log.get(beside)
            if cell.settings == beside:
                log.add(measured(cell, runs, float(runs.labels.mean())))
            elif row is not None:  # otherwise an interruption came before the cell beside it ended
                log.add(measured(cell, runs, row.labels))
        if len(ended) < len(group):
            raise KeyboardInterrupt


def _finished(log: Log, wanted: Iterable[Settings]) -> list[Row]:
    return [row for row in map(log.get, wanted) if row is not None]


def _groups(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Yield cells to be run side by side: as many runs of each, from the same seed."""
    group: list[Cell] = []
    for cell in cells:
        wanted = cell.settings
        first = group[0].settings if group else wanted
        alike = (first.replications, first.seed) == (wanted.replications, wanted.seed)
        if not alike or len(group) * wanted.replications >= _RUNS_AT_ONCE:
            yield group
            group = []
        group.append(cell)
    if group:
        yield group


def _within(progress: Progress, number: int, total: int) -> Progress:
    """Return what tells the share of one step of so many."""
    return lambda share: progress((number + share) / total)
