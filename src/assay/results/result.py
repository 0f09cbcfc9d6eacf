"""Results: rows and a document, from which all that is shown or handed out follows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, cast

from assay.results.document import Document
from assay.results.frames import Backend, frame_of, types_of


class Shown:
    """A document, shown alike wherever it is read."""

    def document(self) -> Document:
        """Return the result as blocks, for every writer."""
        raise NotImplementedError

    def __str__(self) -> str:
        from assay.results.plain import text_of

        return text_of(self.document())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from assay.results.notebook import notebook_of

        return notebook_of(self.document())

    def to_markdown(self) -> str:
        """Return the result as Markdown."""
        from assay.results.markdown import markdown_of

        return markdown_of(self.document())


class Result(Shown):
    """A result of rows: JSON and DataFrames are made from these."""

    row_type: ClassVar[type]
    more_columns: ClassVar[Mapping[str, type]] = {}  # of the DataFrame: properties of a row

    if TYPE_CHECKING:

        @property
        def rows(self) -> Sequence[Any]:
            """The rows; at run time a field, or a property of the result's own."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return asdict(cast(Any, self))

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return the rows as a DataFrame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
        """
        types = {**types_of(self.row_type), **self.more_columns}
        rows = [{name: getattr(row, name) for name in types} for row in self.rows]
        return frame_of(rows, types, backend=backend)
