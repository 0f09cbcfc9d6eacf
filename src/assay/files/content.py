"""Content of a file or an upload, with limits on its unpacked size."""

import codecs
import gzip
import io
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePath

import pyarrow as pa

from assay.errors import AssayError, InputError, LabelError, refuse_no_file, texts_in

_PACKED, _GZIP = ".gz", b"\x1f\x8b"
_MOST_OF_FILE = 1_000_000_000  # bytes; the memory holds them, and their text beside them
_PIECE = 1_000_000  # bytes


class Content:
    """Bytes that are read when needed.

    `source`: a file, or the bytes of an upload; gzip is unpacked; `encoding`: encoding of its text,
    such as latin-1; default: UTF-8, or UTF-16 with a byte order mark.

    >>> Content(b"id,label").text()
    'id,label'
    """

    def __init__(self, source: str | PathLike[str] | bytes, encoding: str | None = None) -> None:
        self._data: bytes | None = None
        self._given = source if isinstance(source, bytes) else None
        self._encoding = encoding
        self.path = None if isinstance(source, bytes) else Path(source)
        self.name = "the upload" if self.path is None else str(self.path)

    @property
    def suffix(self) -> str:
        """Suffix of the file's name, in small letters; empty for an upload."""
        name = "" if self.path is None else self.path.name.lower().removesuffix(_PACKED)
        return PurePath(name).suffix

    def data(self) -> bytes:
        """Whole content."""
        if self._data is None:
            given = self._read() if self._given is None else self._given
            self._data = self._unpacked(given)
        return self._data

    def _unpacked(self, data: bytes) -> bytes:
        """Unpacked gzip data, up to a limit; anything else is unchanged."""
        packed = data.startswith(_GZIP)
        if not packed and self.path is not None and self.path.name.lower().endswith(_PACKED):
            raise InputError(
                f"{self.name} ends in {_PACKED}, but is not a gzip file: it begins with "
                f"{data[:8]!r}",
                hint=f"rename it without {_PACKED}, or compress it with gzip",
            )
        if not packed:
            return data
        most = MOST_BYTES if self.path is None else _MOST_OF_FILE
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                # In pieces: what is too much is refused before it is joined to one text.
                pieces = list(self._pieces(file, most))
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(
                f"{self.name} is a damaged gzip file: {error}", hint="copy or compress it again"
            ) from None
        return b"".join(pieces)

    def _pieces(self, file: gzip.GzipFile, most: int) -> Iterator[bytes]:
        """Yield unpacked data; raise when there is more than `most`."""
        size = 0
        while piece := file.read(_PIECE):
            size += len(piece)
            if size > most:
                raise LimitError(
                    f"{self.name} has more than {most:,} bytes when unpacked; nothing was read"
                )
            yield piece

    def check(self) -> Path:
        """Path of a regular file; raise for anything else."""
        path = Path(self.name)
        try:
            refuse_no_file(path)
            size = path.stat().st_size
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror}") from None
        if size > _MOST_OF_FILE:
            raise LimitError(
                f"{self.name} has {size:,} bytes; nothing was read",
                details=f"a file may have at most {_MOST_OF_FILE:,}",
                hint="split it into several files",
            )
        return path

    def _read(self) -> bytes:
        path = self.check()
        try:
            # If it has become a pipe meanwhile, opening it does not wait for a writer.
            opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(opened, "rb") as file:
                refuse_no_file(path, os.fstat(file.fileno()).st_mode)
                data = file.read(_MOST_OF_FILE + 1)
        except OSError as error:
            raise InputError(f"{self.name} cannot be read: {error.strerror}") from None
        if len(data) > _MOST_OF_FILE:
            raise LimitError(f"{self.name} has more than {_MOST_OF_FILE:,} bytes")
        return data

    def text(self) -> str:
        """Content as text, without a byte order mark."""
        return decoded(self.data(), self.name, self._encoding)


def decoded(data: bytes, name: str, encoding: str | None = None) -> str:
    r"""Bytes as text; raise if they are not, with a guess at the encoding.

    >>> decoded("café".encode("utf-16"), "a.csv"), decoded(b"caf\xe9", "a.csv", "latin-1")
    ('café', 'café')
    """
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode(encoding or ("utf-16" if marked else "utf-8-sig")).removeprefix("\ufeff")
    except LookupError:
        raise InputError(
            f"unknown encoding={encoding!r}",
            details="known are utf-8, latin-1, windows-1252, utf-16, shift_jis and others",
        ) from None
    except UnicodeDecodeError as error:
        at, what = error.start, encoding or ("UTF-16" if marked else "UTF-8")
        line = data.count(b"\n", 0, at) + 1
        excerpt = data[max(at - 10, 0) : at + 10].decode("latin-1").split("\n")[-1].strip()
        raise InputError(
            f"{name} is not {what} text: byte {at}, in line {line}, is {data[at]:#04x}",
            details=f"read as Windows-1252 or Latin-1, the text there is {excerpt!r}",
            hint="if that is right, give encoding='windows-1252'; or save the file as "
            "UTF-8 (in spreadsheets: 'CSV UTF-8')",
        ) from None


# Size limits of a file of labels.


class LimitError(LabelError):
    """A file of labels is too large."""


@dataclass(frozen=True)
class Limits:
    """Limits of one file, which may be an untrusted upload."""

    rows: int = 100_000  # rows, whether they have a label or not
    field: int = 1_000_000  # characters of one field

    def check_rows(self, rows: int, name: str) -> None:
        """Raise if there are too many rows."""
        if rows > self.rows:
            raise LimitError(
                f"{name} has more than {self.rows:,} rows; nothing was recorded",
                hint="split it into several files",
            )

    def check_field(self, value: object, name: str, where: str) -> None:
        """Raise if a text is too long, also one nested in a value."""
        for text in texts_in(value):
            if len(text) > self.field:
                raise LimitError(
                    f"{where} of {name} has a field of {len(text):,} characters; "
                    "nothing was recorded",
                    details=f"a field may have at most {self.field:,}",
                )


UNLIMITED = Limits(rows=sys.maxsize, field=sys.maxsize)


# Untrusted zips: their files, up to limits that do not depend on their own claims.

MOST_BYTES = 100_000_000  # of all that a zip holds
_MOST_FILES = 1_000
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")  # first bytes of a zip; the second is for an empty one
_FILE, _HEAD = b"PK\x03\x04", 30  # header of each file: its first bytes, its length
_ENTRY = b"PK\x01\x02"  # first bytes of an entry in the table of contents
_ENCRYPTED = 1  # the bit of an entry's flags
# Only for these does Python unpack no more than requested: bzip2 and LZMA fill the memory.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZSTD = 93  # Zstandard, by APPNOTE 4.4.5
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError),
    *(ValueError, OverflowError, OSError),  # names that are no text, places outside of the file
)


def is_zip(content: Content) -> bool:
    """Whether a file is a zip."""
    return content.data().startswith(_ZIPS)


def unzip(content: Content, suffix: str) -> list[tuple[str, Content]]:
    """Files of a zip whose names end in `suffix`; raise for a zip bomb."""

    def is_selected(info: zipfile.ZipInfo) -> bool:
        return info.filename.endswith(suffix)

    return [(name, Content(data)) for name, data in unzip_each(content, is_selected)]


def unzip_each(
    content: Content,
    is_selected: Callable[[zipfile.ZipInfo], bool],  # selects entries
    *,
    most_files: int = _MOST_FILES,  # how many files a zip may hold, wanted or not
    # Whether files may be compressed with Zstandard, which Python supports from 3.14 on.
    zstd: bool = False,
) -> Iterator[tuple[str, bytes]]:
    """Yield files of a zip one after the other; raise for a zip bomb."""
    # Counted before the table of contents is read, which could itself fill the memory.
    if content.data().count(_ENTRY) > most_files:
        raise LimitError(f"{content.name} has more than {most_files:,} files; nothing was read")
    try:
        with zipfile.ZipFile(io.BytesIO(content.data())) as archive:
            yield from _unpack(archive, content, is_selected, zstd=zstd)
    except AssayError:  # an InputError is a ValueError, too
        raise
    except _UNREADABLE as error:
        raise InputError(f"{content.name} is a zip file that cannot be read: {error}") from None


def _unpack(
    archive: zipfile.ZipFile,
    content: Content,
    is_selected: Callable[[zipfile.ZipInfo], bool],
    *,
    zstd: bool,
) -> Iterator[tuple[str, bytes]]:
    left = MOST_BYTES
    for info in filter(is_selected, archive.infolist()):
        unusual = info.compress_type not in _BOUNDED and not (zstd and info.compress_type == _ZSTD)
        if info.flag_bits & _ENCRYPTED or unusual:
            how = "encrypted" if info.flag_bits & _ENCRYPTED else "compressed in an unusual way"
            raise InputError(
                f"{info.filename!r} in {content.name} is {how}, and cannot be read",
                hint="unpack it yourself, and give its files one by one",
            )
        if info.compress_type == _ZSTD:
            data = _by_zstd(content.data(), info, left + 1)
        else:
            with archive.open(info) as file:
                data = file.read(left + 1)
        left -= len(data)
        if left < 0:
            raise LimitError(
                f"{content.name} has more than {MOST_BYTES:,} bytes when unpacked; nothing "
                "was read",
                hint="unpack it, and give its files one by one",
            )
        yield info.filename, data


def _by_zstd(zipped: bytes, info: zipfile.ZipInfo, most: int) -> bytes:
    """At most `most` bytes of a file in a zip that is compressed with Zstandard."""
    head = zipped[info.header_offset : info.header_offset + _HEAD]
    if len(head) < _HEAD or not head.startswith(_FILE):
        raise zipfile.BadZipFile(f"{info.filename!r} is not where the table of contents says")
    start = info.header_offset + _HEAD + sum(struct.unpack("<HH", head[-4:]))  # name, and more
    packed = pa.BufferReader(zipped[start : start + info.compress_size])
    data: bytes = pa.CompressedInputStream(packed, "zstd").read(most)
    if len(data) < most and zlib.crc32(data) != info.CRC:
        raise zipfile.BadZipFile(f"{info.filename!r} is damaged")
    return data
