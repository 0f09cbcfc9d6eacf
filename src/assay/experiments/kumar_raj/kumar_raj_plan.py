"""What paper 2's figures are made of: which designs, with how many strata and labels."""

from collections.abc import Iterator, Sequence

from assay.experiments.kumar_raj.cells import Cell, Setting

STRATA = ("sqrt", "cbrt", "wtmn", "km", "gmm", "eqsz", "eqwd")
BUDGETS = (60, 100, 150, 200, 300, 400, 500, 700, 1000)

# Figures 2, 4 and 6, and the same of OPT-A2. For the latter two the paper has K "6 or 7".
OPTIMAL = (Setting("opt-a1", 6, 10), Setting("opt-a2", 6, 5, 10))


def smoothed(settings: Sequence[Setting]) -> tuple[Setting, ...]:
    """Return the settings with rates that are never taken to be 0 or 1."""
    return tuple(each._replace(estimator="smoothed") for each in settings)


ALLOCATIONS = (Setting("pro", 10), Setting("equ", 10), *OPTIMAL, *smoothed(OPTIMAL))
# Figures 3 and 5; the paper does not say with how many labels.
ALLOCATIONS_BY_BINS = tuple(Setting(how, bins) for how in ("pro", "equ") for bins in range(2, 11))
EXAMPLE_LABELS = 200
# Figures 7 to 9 have one stratification each; the paper names it only in the last.
EXAMPLE_STRATA = "eqsz"
EXAMPLE_SETTING = OPTIMAL[-1]
FIRST_ROUNDS = tuple(Setting("opt-a1", 6, first) for first in (5, 10, 20))
ADAPTIVE = (
    *(Setting("opt-a1", 6, first) for first in (5, 10)),
    *(Setting("opt-a2", 6, first, step) for first in (5, 10) for step in (10, 20)),
)


def cells(populations: Sequence[str], classifiers: Sequence[str]) -> list[Cell]:
    """Return every cell of Figures 2 to 8 for the populations and of Figure 9 for the classifiers.

    A cell that several figures show is there once.
    """
    example = [EXAMPLE_STRATA]
    adaptive = (*FIRST_ROUNDS, *ADAPTIVE)
    compared = (EXAMPLE_SETTING, *smoothed([EXAMPLE_SETTING]))
    wanted = [
        *_by_labels(populations, STRATA, ALLOCATIONS),
        *_by_labels(populations, example, (*adaptive, *smoothed(adaptive))),
        *_by_labels(classifiers, example, compared),
        *(
            Cell(name, strata, *setting, labels=EXAMPLE_LABELS)
            for name in populations
            for strata in STRATA
            for setting in ALLOCATIONS_BY_BINS
        ),
    ]
    return list(dict.fromkeys(wanted))


def _by_labels(
    populations: Sequence[str], methods: Sequence[str], settings: Sequence[Setting]
) -> Iterator[Cell]:
    """Yield cells of every budget that covers the setting's first round."""
    for name in populations:
        for strata in methods:
            for setting in settings:
                first = setting.bins * (setting.first_per_stratum or 0)
                for labels in BUDGETS:
                    if labels >= first:
                        yield Cell(name, strata, *setting, labels=labels)
