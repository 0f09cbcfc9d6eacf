"""Paper 3's campaigns beside the joint design's: labels, coverage, and live against replayed.

    python -m benchmarks.recycled_live DATA/offensive_mix.parquet [--runs 200] [--live 5]

Printed for precisions, and for recall and F1, of all four classifiers to ±0.03: labels and the
least coverage of `Design.recycle` (both options, and with the precisions taken to be 0.9 at least)
and of the joint design. Campaigns by ask and tell are then compared with the procedure replayed on
their own answers: every draw and every end must be the same.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import assay
from assay.core.procedures import Answered, Wanted
from assay.core.recycling.procedure import recycle_of
from assay.simulation import Population, simulate

NAMES = ("bilstm", "cnn", "logreg", "mve")
TARGETS = {
    "precisions": [f"precision:{name}" for name in NAMES],
    "recall and F1": [f"{metric}:{name}" for metric in ("recall", "f1") for name in NAMES],
}
WITHIN, ROUND = 0.03, 200


def labels(population: Population, metrics: list[str], runs: int) -> None:
    """Print what each design takes."""
    designs = {
        "recycle, shuffle": assay.Design.recycle(),
        "recycle, sample": assay.Design.recycle(option="sample"),
        "recycle, shuffle, at least 0.9": assay.Design.recycle(assume=0.9),
        "joint": assay.Design(),
    }
    found = simulate(
        population, designs=designs, metric=metrics, within=WITHIN, replications=runs, workers=1
    )
    for row in found.rows:
        if row.design in designs:
            held = min(each.coverage or 0.0 for each in row.metrics)
            print(f"  {row.design:32}{row.labels_mean:8,.0f} labels, least coverage {held:.3f}")


def same(truth: dict[str, bool], table: pa.Table, metrics: list[str], seed: int) -> int:
    """Run a campaign and the procedure side by side; return the labels."""
    live = assay.create_campaign(
        table,
        id="id",
        classifiers={name: {"predicted": f"pred_{name}"} for name in NAMES},
        metric=metrics,
        within=WITHIN,
        design=assay.Design.recycle(),
        seed=seed,
    )
    settings, strata = live.settings, live.settings.strata
    again = recycle_of(settings.design, settings.goal, strata, settings.draw_seed)
    state, codes = again.begin(), codes_of(table)
    while not live.done:
        wanted = Wanted(ROUND, np.random.default_rng(), partial(again.look, state))
        counts, items = again.plan(state, wanted), live.ask(ROUND)
        place = strata.part_code.searchsorted([codes[str(item.id)] for item in items])
        np.testing.assert_array_equal(np.bincount(place, minlength=counts.size), counts)
        answers = np.array([truth[str(item.id)] for item in items])
        live.tell({item.id: truth[str(item.id)] for item in items})
        kinds, found = 2 * place + answers, np.bincount(place, answers, minlength=counts.size)
        after = state.deal(counts).changed(tallies=state.tallies.add(counts, found))
        state = again.fold(Answered(state, state, after, kinds, kinds))
    for told, look in zip(live.estimates().values(), again.look(state).looks, strict=True):
        ends = float(look.moments.value), float(look.low), float(look.high)
        np.testing.assert_array_equal((told.value, told.low, told.high), ends)
    return int(state.tallies.answers)


def codes_of(table: pa.Table) -> dict[str, int]:
    """Return what all classifiers say of each item: bit k for the k-th."""
    rows = table.select(["id", *(f"pred_{name}" for name in NAMES)]).to_pylist()
    return {
        str(row["id"]): sum(int(row[f"pred_{name}"]) << k for k, name in enumerate(NAMES))
        for row in rows
    }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("path", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--live", type=int, default=5)
    asked = parser.parse_args()
    table = pq.read_table(asked.path)
    known = table["label"].to_numpy().astype(bool)
    said = {name: table[f"pred_{name}"].to_numpy().astype(bool) for name in NAMES}
    truth = dict(zip(map(str, table["id"].to_pylist()), known.tolist(), strict=True))
    for name, metrics in TARGETS.items():
        print(f"{name} to ±{WITHIN}, {asked.runs} runs")
        labels(Population(y_true=known, y_pred=said), metrics, asked.runs)
        taken = [same(truth, table, metrics, seed) for seed in range(asked.live)]
        mean = np.mean(taken) if taken else np.nan
        print(f"  {asked.live} live campaigns as replayed, draw by draw: {mean:,.0f} labels")


if __name__ == "__main__":
    main()
