"""*Recycle Samples for Precision*, section 5: savings and errors of recycled samples."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import InputError
from assay.simulation import COLOURS, new_figure, save_figure
from studies.recycling.ensembles import ALGORITHMS, Ensembles, measure
from studies.recycling.joint import NAMES, Joint, PairRow, evaluate, run_joint, run_pairs, runs_of
from studies.recycling.populations import (
    MODELS,
    NamedEnsemble,
    made_ensemble,
    offensive_mix,
    trials,
)
from studies.recycling.table1 import RATIOS, Table1, run_table1
from studies.recycling.tables import (
    figure2_dict,
    figure2_table,
    joint_table,
    labels_table,
    pairs_table,
    short_table1,
    surface_table,
    table1_table,
    table2_dict,
    table2_table,
)
from studies.tables import Table

_TABLE2_RUNS = 5  # for each of the others: the paper has 1,000 and 200


@dataclass(frozen=True, eq=False)
class Result:
    """What was measured."""

    table1: Table1  # section 5.3
    figure2: Ensembles  # section 5.2
    real: NamedEnsemble  # the population of section 5.4
    table2: Ensembles  # the runs on it
    joint: Joint  # the joint design on the ensembles of section 5.2
    pairs: tuple[PairRow, ...]  # the joint design on parents and children of section 5.3
    replications: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "table1": asdict(self.table1),
            "figure2": figure2_dict(self.figure2),
            "table2": table2_dict(self.real, self.table2),
            "joint": {**asdict(self.joint), "pairs": [asdict(row) for row in self.pairs]},
            "replications": self.replications,
            "seed": self.seed,
        }


def run(
    folder: Path | None = None,  # where offensive_mix.parquet is; otherwise three models are made
    *,
    # Trials of section 5.2, and of each combination of section 5.3; section 5.4 has five times as
    # many.
    replications: int = 200,
    seed: int = 1,  # fixes all numbers
    progress: Callable[[float], None] | None = None,  # told the share that is done
) -> Result:
    """Replay section 5 of paper 3."""
    if replications < 2:
        raise InputError(f"replications must be at least 2, got {replications}")
    real = made_ensemble(seed) if folder is None else offensive_mix(folder)
    first, second, third = (
        np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(3)
    )

    def part(begin: float, end: float) -> Callable[[float], None] | None:
        if progress is None:
            return None
        return lambda share: progress(begin + share * (end - begin))

    table1 = run_table1(replications, first, part(0.0, 0.12))
    ensembles = trials(replications, seed)
    recycled = measure(ensembles, second, part(0.12, 0.13))
    each = max(2, replications // 4)
    joint, joint_runs = run_joint(
        ensembles, recycled, replications=each, seed=seed, progress=part(0.13, 0.8)
    )
    many = _TABLE2_RUNS * replications
    table2 = measure([real.cells] * many, third, part(0.8, 0.85))
    of_real = evaluate(real.cells, NAMES, many, np.random.default_rng([seed, 7]))
    return Result(
        table1=table1,
        figure2=recycled.beside(joint=joint_runs),
        real=real,
        table2=table2.beside(joint=runs_of(real.cells, of_real)),
        joint=joint,
        pairs=run_pairs(
            max(1, replications // 25),
            replications=each // 2 + 1,
            seed=seed,
            progress=part(0.85, 1.0),
        ),
        replications=replications,
        seed=seed,
    )


def write(result: Result, folder: Path) -> list[Path]:
    """Write the tables (Markdown and CSV) and the figures; return the files."""
    tables = {
        "table1": table1_table(result.table1),
        "surface": surface_table(result.table1),
        "figure2": figure2_table(result.figure2),
        "labels": labels_table(result.figure2, result.table2),
        "table2": table2_table(result.real, result.table2),
        "joint": joint_table(result.joint),
        "joint-pairs": pairs_table(result.pairs),
    }
    return [
        *(
            file
            for name, table in tables.items()
            for file in table.write(folder, f"recycling-{name}")
        ),
        *_draw(result.table1, result.figure2, folder),
    ]


def short_table(result: Result) -> Table:
    """Return Table 1 for a narrow screen."""
    return short_table1(result.table1)


# Paper 3's Figures 2 and 3.


_SHOWN = (*ALGORITHMS, "joint")
_COLOURS = dict(zip(_SHOWN, (COLOURS[7], *COLOURS[:4]), strict=True))
_WIDTH = 0.15  # of a box; models stand at whole numbers


def _draw(table1: Table1, figure2: Ensembles, folder: Path) -> list[Path]:
    """Draw both figures into the folder, and return the files."""
    return [*_boxes(figure2, folder), *_surface(table1, folder)]


def _boxes(figure2: Ensembles, folder: Path) -> list[Path]:
    """Draw Figure 2: one panel a measure, a group of boxes a model, a box an algorithm."""
    figure, panels = new_figure(columns=3, width=4.0, height=3.8)
    titles = {
        "savings": "(a) savings of labels, %",
        "error": "(b) error of the precision, %",
        "interval_error": "(c) largest error in the interval, %",
    }
    for panel, (name, title) in zip(panels, titles.items(), strict=True):
        for place, (algorithm, runs) in enumerate(figure2.runs.items()):
            if name == "savings" and algorithm == "random":
                continue  # it saves nothing
            boxes = panel.boxplot(
                getattr(runs, name),
                positions=np.arange(len(MODELS)) + (place - 2) * 1.15 * _WIDTH,
                widths=_WIDTH,
                manage_ticks=False,
                flierprops={"markersize": 2, "markeredgecolor": _COLOURS[algorithm]},
                medianprops={"color": "black"},
                boxprops={"facecolor": _COLOURS[algorithm], "alpha": 0.6},
                patch_artist=True,
            )
            boxes["boxes"][0].set_label(algorithm)
        panel.set_xticks(np.arange(len(MODELS)), labels=[model.upper() for model in MODELS])
        panel.set(title=title)
    handles = panels[1].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(_SHOWN))
    return save_figure(figure, folder, "recycling-figure2")


def _surface(table1: Table1, folder: Path) -> list[Path]:
    """Draw Figure 3 as a map, and beside it by how much coordinated samples differ."""
    shape = (len(RATIOS), len(RATIOS))
    savings = np.array([row.savings_mean for row in table1.surface]).reshape(shape)
    coordinated = np.array([row.coordinated_mean for row in table1.surface]).reshape(shape)
    figure, (left, right) = new_figure(columns=2, width=4.8, height=4.0)
    filled = left.contourf(RATIOS, RATIOS, savings, levels=np.arange(0, 101, 10), cmap="viridis")
    figure.colorbar(filled, ax=left)
    left.set(title="mean savings of recycled samples, %")
    more = coordinated - savings
    largest = float(np.abs(more).max())
    mesh = right.pcolormesh(RATIOS, RATIOS, more, cmap="PuOr", vmin=-largest, vmax=largest)
    figure.colorbar(mesh, ax=right)
    right.set(title="coordinated less recycled, points")
    for panel in (left, right):
        panel.set(xlabel="child intersection ratio", ylabel="parent intersection ratio")
        panel.set_aspect("equal")
        panel.grid(visible=False)
    return save_figure(figure, folder, "recycling-figure3")
