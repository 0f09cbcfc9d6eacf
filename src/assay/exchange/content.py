"""What a file or an upload holds, and what to call it."""

from os import PathLike
from pathlib import Path

from assay.errors import InputError


class Content:
    """Bytes that are read when they are needed.

    Parameters
    ----------
    source : str, path or bytes
        A file, or what an upload brought.

    Examples
    --------
    >>> Content(b"id,label").text()
    'id,label'
    """

    def __init__(self, source: str | PathLike[str] | bytes) -> None:
        self._data = source if isinstance(source, bytes) else None
        self.path = None if isinstance(source, bytes) else Path(source)
        self.name = "the upload" if self.path is None else str(self.path)

    @property
    def suffix(self) -> str:
        """The end of the file's name, in small letters; an upload has none."""
        return "" if self.path is None else self.path.suffix.lower()

    def data(self) -> bytes:
        """Return all of it."""
        if self._data is None:
            try:
                self._data = Path(self.name).read_bytes()
            except OSError as error:
                raise InputError(f"{self.name} cannot be read: {error.strerror}") from None
        return self._data

    def text(self) -> str:
        """Return it as text in UTF-8, with or without a byte order mark."""
        try:
            return self.data().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.name} is not UTF-8 text: "
                f"byte {error.start} is {error.object[error.start]:#04x}",
                hint="save it as UTF-8 (a spreadsheet calls that 'CSV UTF-8')",
            ) from None
