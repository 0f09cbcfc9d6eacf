"""Coverage study: how often a design is right whatever the scores look like, and what it costs.

Every evaluation goes through the campaign's own loop to its stop, and is looked at after every
batch as a campaign is. A cell is written to the folder as soon as it is done, and is not run again
by the same command.
"""

import csv
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, fields
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from io import StringIO
from pathlib import Path

from assay.core.design import check_together
from assay.core.goal import Goal
from assay.errors import InputError
from assay.simulation import Runs, named_design, run_tasks
from studies.coverage import figures
from studies.coverage.cells import BESIDE, Cell
from studies.coverage.extent import FULL, Extent, LeftOut, Part, Scope
from studies.coverage.plan import Plan
from studies.coverage.result import Result
from studies.coverage.rows import Row, Settings, measured
from studies.coverage.tables import every_table

# The study's memory: a CSV file that a cell is added to as soon as it is done.

_CODE = "code"
_COLUMNS = (*(field.name for field in fields(Row)), _CODE)


class Log:
    """The rows of a file, and those to come.

    A study that was killed goes on where it was, also in the middle of a line. Rows that other
    code made stay in the file and are not used: a design's name does not say how it worked then.

    `file`: made where it is missing.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._code = code_digest()
        texts = _read(file)
        try:
            rows = [Row.from_texts(each) for each in texts if each[_CODE] == self._code]
        except (KeyError, ValueError):
            raise _foreign(file) from None
        self._rows = {row.settings: row for row in rows}
        # Written anew, so that the next row does not go on from half of a line.
        file.write_text(_line(_COLUMNS) + "".join(_line(each.values()) for each in texts))

    def get(self, settings: Settings) -> Row | None:
        """Return the row of a cell that was run before."""
        return self._rows.get(settings)

    def add(self, row: Row) -> None:
        """Keep a row."""
        self._rows[row.settings] = row
        with self.file.open("a", encoding="utf-8") as file:
            file.write(_line([*asdict(row).values(), self._code]))


@cache
def code_digest() -> str:
    """Return what changes whenever the code does that decides how an evaluation goes.

    Read once: what a process has loaded does not change when its files do.
    """
    package = files("assay")
    sources = [each for each in package.joinpath("core").iterdir() if each.name.endswith(".py")]
    replays = ("runs.py", "named_designs.py")
    sources += [package.joinpath("simulation", name) for name in replays]
    digest = blake2b(digest_size=6)
    for source in sorted(sources, key=str):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _read(file: Path) -> list[dict[str, str]]:
    """Return the lines that are whole."""
    if not file.exists():
        return []
    head, _, rest = file.read_text(encoding="utf-8").partition("\n")
    if head + "\n" != _line(_COLUMNS):
        raise _foreign(file)
    whole = rest[: rest.rfind("\n") + 1]
    lines = list(csv.reader(StringIO(whole)))
    if any(len(line) != len(_COLUMNS) for line in lines):
        raise _foreign(file)
    return [dict(zip(_COLUMNS, line, strict=True)) for line in lines]


def _foreign(file: Path) -> InputError:
    return InputError(
        f"{file} is not what this version's coverage study writes",
        hint="choose another folder, or move the file away",
    )


def _line(values: Iterable[object]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()


_LOG, _LEFT_OUT = "coverage.csv", "left-out.csv"
_RUNS_AT_ONCE = 40_000  # evaluations between two writes to the folder: about a minute of work

Progress = Callable[[float], None]


def run(
    folder: Path,  # where coverage.csv is, or will be
    *,
    # Parts to run; none: all of them. Part ``sizes`` takes its cells from ``grid``, and runs it.
    parts: Collection[Part] = (),
    # How many cells, and how many evaluations of each: `FULL`, `QUICK` or another.
    extent: Extent = FULL,
    design: str = "default",  # a name of `assay.simulation.DESIGN_NAMES`
    # The folder with real classifiers; without it the package generates some.
    data: Path | None = None,
    classifier: str = "",  # only classifiers of the folder whose names hold this text
    seed: int = 1,  # fixes all numbers, the held-out populations among them
    workers: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run the study, or go on with one that was ended before it was done."""
    name = design.strip().lower()
    # Tells of a wrong name, and of a design that has no stop of its own, before all the work.
    check_together(named_design(name), Goal("precision", within=0.01), 1)
    if extent.replications < 2:
        raise InputError(f"replications must be at least 2, got {extent.replications}")
    plan = Plan(Scope(name, extent, data, seed, classifier))
    chosen = [part for part in Part if not parts or part in parts]
    if Part.SIZES in chosen and Part.GRID not in chosen:
        chosen = [Part.GRID, *chosen]
    log = Log(folder / _LOG)
    wanted: dict[Settings, None] = {}  # in the order of the parts, each once
    left_out: list[LeftOut] = []
    interrupted = False
    try:
        for number, part in enumerate(chosen):
            cells, without = plan.cells(part, _finished(log, wanted))
            left_out += without
            beside = [each for cell in cells if (each := cell.beside()) is not None]
            wanted |= dict.fromkeys(row for cell in (*beside, *cells) for row in cell.rows)
            told = None if progress is None else _within(progress, number, len(chosen))
            _measure(cells, log, workers, told)
    except KeyboardInterrupt:
        interrupted = True
    rows = tuple(_finished(log, wanted))
    return Result(name, seed, extent.replications, rows, tuple(left_out), interrupted)


def write(result: Result, folder: Path) -> list[Path]:
    """Write the tables and the pictures, and return the files."""
    summary, left_out = folder / "coverage.md", folder / _LEFT_OUT
    summary.write_text("\n".join(each.markdown() for each in every_table(result)), encoding="utf-8")
    with left_out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(LeftOut))
        writer.writerows(astuple(each) for each in result.left_out)
    return [folder / _LOG, summary, left_out, *figures.draw(result, folder)]


def _measure(
    cells: Sequence[Cell], log: Log, workers: int | None, progress: Progress | None
) -> None:
    """Run the cells that were not run before, and beside each random sampling.

    Raises KeyboardInterrupt: it was interrupted; the log has what was finished.
    """
    groups = list(_groups([cell for cell in cells if not _is_done(cell, log)]))
    for number, group in enumerate(groups):
        told = None if progress is None else _within(progress, number, len(groups))
        beside = {each.rows: each for cell in group if (each := cell.beside()) is not None}
        missing = [each for each in beside.values() if not _is_done(each, log)]
        halves = [missing, group] if missing else [group]
        for half, chosen in enumerate(halves):
            share = None if told is None else _within(told, half, len(halves))
            for cell, runs in _run(chosen, workers, share):
                _keep(cell, runs, log)


def _run(
    cells: Sequence[Cell], workers: int | None, progress: Progress | None
) -> Iterator[tuple[Cell, Runs]]:
    """Yield the cells that were finished with their runs, and raise where others were not."""
    wanted = cells[0].rows[0]
    found = run_tasks(
        [cell.task() for cell in cells],
        replications=wanted.replications,
        seed=wanted.seed,
        workers=workers,
        progress=progress,
    )
    for cell, runs in zip(cells, found, strict=True):
        if runs is not None and runs.labels.size == wanted.replications:
            yield cell, runs
    if any(runs is None or runs.labels.size < wanted.replications for runs in found):
        raise KeyboardInterrupt


def _keep(cell: Cell, runs: Runs, log: Log) -> None:
    """Write down a cell's rows."""
    labels: float | None = None
    if cell.rows[0].part == BESIDE:
        labels = float(runs.labels.mean())
    elif (beside := cell.beside()) is not None:
        row = log.get(beside.rows[0])
        labels = None if row is None else row.labels
    for each in measured(cell.rows, runs, cell.costs, labels):
        log.add(each)


def _is_done(cell: Cell, log: Log) -> bool:
    return all(log.get(row) is not None for row in cell.rows)


def _finished(log: Log, wanted: Iterable[Settings]) -> list[Row]:
    return [row for row in map(log.get, wanted) if row is not None]


def _groups(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Yield cells to be run side by side: as many runs of each, from the same seed."""
    group: list[Cell] = []
    for cell in cells:
        wanted = cell.rows[0]
        first = group[0].rows[0] if group else wanted
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
