"""From a container to checked ids, scores and predicted labels."""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.core.types import Bools, Floats
from assay.errors import PredictionsError
from assay.predictions.column import Loaded
from assay.predictions.duckdb.loading import read_scan
from assay.predictions.ids import Ids, read_ids
from assay.predictions.labels import read_predicted, refuse_contradictions
from assay.predictions.numbers import read_scores
from assay.predictions.roles import Roles
from assay.predictions.scan import as_scan
from assay.predictions.tables import read_mapping, read_table


def load(source: object, used: Sequence[str], show: Sequence[str], id: str | None) -> Loaded:
    """Read columns of a path, a query, a table of a database, a mapping or a table in memory.

    Parameters
    ----------
    source : path, query, URL, mapping, table or Scan
        As in `assay.predictions.read_predictions`.
    used, show : sequence of str
        The columns to read, and those that people see.
    id : str or None
        The column of ids.

    Examples
    --------
    >>> load({"p": [0.9, 0.2]}, ["p"], (), None).source
    'dict, 2 rows'
    """
    scan = as_scan(source)
    if scan.path is not None:
        return read_scan(scan, used, show, id)
    held = scan.source
    for name, given in (("where", scan.where), ("table", scan.table)):
        if given is not None:
            raise PredictionsError(
                f"{name}={given!r} is given beside predictions of type {type(held).__name__}",
                details=f"{name} is for files, queries and databases",
                hint="filter the table first, and leave it out",
            )
    if isinstance(held, Mapping):
        return read_mapping(held, used, show, type(held).__name__)
    return read_table(held, used, show)


def take_ids(loaded: Loaded, id: str | None) -> Ids:
    """Take a column for the ids, or else the numbers of the rows.

    Examples
    --------
    >>> take_ids(load({"p": [0.9, 0.2]}, ["p"], (), None), None).values
    array([0, 1])
    """
    size = len(next(iter(loaded.columns.values())).data)
    if size == 0:
        raise PredictionsError(f"there are no predictions in {loaded.source}")
    return Ids(np.arange(size)) if id is None else read_ids(loaded.columns[id])


def take_judgements(loaded: Loaded, roles: Roles, ids: Ids) -> tuple[Floats, Bools]:
    """Take a classifier's scores and predicted labels, or say what is wrong with them.

    Examples
    --------
    >>> roles = Roles(score="p", predicted=None, id=None, threshold=0.5, positive=None)
    >>> loaded = load({"p": [0.9, 0.2]}, roles.columns, (), None)
    >>> take_judgements(loaded, roles, take_ids(loaded, None))
    (array([0.9, 0.2]), array([ True, False]))
    """
    columns = loaded.columns
    score = np.zeros(len(ids)) if roles.score is None else read_scores(columns[roles.score], ids)
    if roles.predicted is not None:
        predicted = read_predicted(columns[roles.predicted], roles.positive, ids)
        if roles.threshold is not None:
            refuse_contradictions(score, predicted, roles.threshold, columns[roles.predicted], ids)
    elif roles.threshold is not None:  # Roles sees to it that one of the two is given
        predicted = score >= roles.threshold
    return score, predicted
