"""One answer an item, from a table that somebody made before there was a campaign."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core.answers import Answer
from assay.core.deck import Id
from assay.exchange.content import Content
from assay.exchange.limits import UNLIMITED
from assay.exchange.rows import check_rows
from assay.exchange.tables import Columns, csv_rows, parquet_rows


@dataclass(frozen=True)
class Label:
    """An answer, and the line or row that it was read from."""

    where: str
    answer: Answer


@dataclass(frozen=True)
class LabelFile:
    """What a file of labels holds."""

    labels: dict[Id, Label]
    without_label: int


def read_label_file(
    file: Path, *, id_columns: Sequence[str], label_column: str, id_kind: str
) -> LabelFile:
    r"""Return a file's labels, or raise with the lines that are wrong.

    Parameters
    ----------
    file : Path
        A Parquet file if its name ends in .parquet; otherwise CSV in UTF-8.
    id_columns : sequence of str
        Where the ids are: the first of these that the file has.
    label_column : str
        Where the answers are. Rows without one are counted and left out.
    id_kind : {"integer", "string"}
        What ids are here; the text 7 in a CSV file is either.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "labels.csv")
    ...     _ = file.write_text("id,label\n7,yes\n8,\n")
    ...     read_label_file(file, id_columns=["id"], label_column="label", id_kind="integer")
    LabelFile(labels={7: Label(where='line 2', answer=<Answer.YES: 'yes'>)}, without_label=1)
    """
    content = Content(file)
    read = parquet_rows if content.suffix == ".parquet" else csv_rows
    # Who gave an answer is not asked here: two people's different answers are a contradiction.
    columns = Columns(tuple(id_columns), label_column, people=False)
    rows = read(content, columns, UNLIMITED)
    found = check_rows(rows, name=content.name, id_kind=id_kind, limits=UNLIMITED)
    labels = {row.item: Label(row.where, row.answer) for row in found.rows}
    return LabelFile(labels, found.without_label)
