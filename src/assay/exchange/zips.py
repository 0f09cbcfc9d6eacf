"""Zips from strangers: what they hold, but no more than fits, whatever they say of themselves."""

import io
import zipfile
import zlib
from collections.abc import Iterator

from assay.errors import AssayError, InputError
from assay.exchange.content import Content
from assay.exchange.limits import LimitError

MOST_BYTES = 100_000_000  # of all that a zip holds
_MOST_FILES = 1_000
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")  # what files begin with; the second is empty
_ENTRY = b"PK\x01\x02"  # what each entry of the table of contents begins with
_ENCRYPTED = 1  # the bit of an entry's flags
# Of these alone Python unpacks no more than it is asked for: bzip2 and LZMA fill the memory.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError),
    *(ValueError, OverflowError, OSError),  # names that are no text, places outside of the file
)


def is_zip(content: Content) -> bool:
    """Tell whether a file is a zip."""
    return content.data().startswith(_ZIPS)


def unzip(content: Content, suffix: str) -> list[tuple[str, Content]]:
    """Return the files of a zip whose names end so; raise rather than unpack a bomb."""
    # Counted before the table of contents is read, which would itself fill the memory.
    if content.data().count(_ENTRY) > _MOST_FILES:
        raise LimitError(
            f"{content.name} holds more than {_MOST_FILES:,} files, and is not unpacked"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(content.data())) as archive:
            return [
                (info.filename, Content(data)) for info, data in _unpack(archive, content, suffix)
            ]
    except AssayError:  # an InputError is a ValueError, too
        raise
    except _UNREADABLE as error:
        raise InputError(f"{content.name} is a zip that cannot be read: {error}") from None


def _unpack(
    archive: zipfile.ZipFile, content: Content, suffix: str
) -> Iterator[tuple[zipfile.ZipInfo, bytes]]:
    left = MOST_BYTES
    for info in archive.infolist():
        if not info.filename.endswith(suffix):
            continue
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _BOUNDED:
            how = "encrypted" if info.flag_bits & _ENCRYPTED else "compressed in an unusual way"
            raise InputError(
                f"{info.filename!r} in {content.name} is {how}, and is not unpacked",
                hint="unpack it yourself, and take its files one by one",
            )
        with archive.open(info) as file:
            data = file.read(left + 1)
        left -= len(data)
        if left < 0:
            raise LimitError(
                f"{content.name} holds more than {MOST_BYTES:,} bytes, and is not unpacked",
                hint="take its files one by one",
            )
        yield info, data
