"""Files that are whole: never a half-written one in the place of an old one."""

import os
from pathlib import Path
from uuid import uuid4

from assay.errors import InputError


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place, and put it there when it is complete, and on disk.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/a.txt", b"old")
    ...     write_whole(f"{folder}/a.txt", b"new")
    ...     [(each.name, each.read_bytes()) for each in Path(folder).iterdir()]
    [('a.txt', b'new')]
    """
    target = Path(path)
    beside = target.with_name(f".{target.name[:100]}.{uuid4().hex}")
    try:
        try:
            with beside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{str(target)!r} cannot be written: {error.strerror}",
            hint="choose a folder that is there, and that may be written to",
        ) from None
