"""Errors that Assay raises, as one tree.

::

    AssayError
    ├── InputError                  what was given cannot be used as it is
    │   ├── PredictionsError        a column, a score, an id, a predicted label
    │   ├── DesignError             a method, a number of bins, a metric, a target
    │   └── LabelError              a label that is none, or for an item that was not asked for
    │       └── LabelConflictError  another label than the one already given
    ├── StorageError                a storage URL, a campaign's name, a database
    ├── ServiceError                a server that does not answer just now, and may later
    └── MissingDependencyError      an optional package that is not installed

    UserWarning
    └── AssayWarning                a choice that works and has a price

Each error says what the problem is, what was got, what would be right, and, where one helps, a
hint. Each is an `AssayError`, so one ``except`` is enough; bad input is never any other exception.
"""

import stat
import unicodedata
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from os import PathLike
from pathlib import Path

# What is installed: its name on the package index, its version, and how an extra is installed.

NAME = "assay-eval"  # `assay` is another project there; the package and the command are `assay`
VERSION = "0.1.0"
DOCUMENTS = "https://github.com/assay-eval/assay/blob/main/docs"  # read without this repository


def install(extra: str) -> str:
    """Return the command that installs an extra, for the hint of an error.

    >>> install("spark")
    "pip install 'assay-eval[spark]'"
    """
    return f"pip install '{NAME}[{extra}]'"


class AssayError(Exception):
    """The root of the tree.

    Parameters
    ----------
    problem : str
        What is wrong, with the value that was got.
    details : str, optional
        What would be right: the range, the columns there are, the first bad rows.
    hint : str, optional
        How to mend it.
    """

    def __init__(self, problem: str, *, details: str = "", hint: str = "") -> None:
        self.problem = problem
        self.details = details
        self.hint = hint
        lines = [problem, details, f"hint: {hint}" if hint else ""]
        super().__init__("\n".join(line for line in lines if line))


class InputError(AssayError, ValueError):
    """What was given cannot be used as it is."""


class PredictionsError(InputError):
    """The predictions have a missing column, a bad score, a duplicate id and the like."""


class DesignError(InputError):
    """The design or the goal asks for something that does not exist or does not fit together."""


class LabelError(InputError):
    """A label is not one of the known answers, or is for an item that was not asked for.

    `ids` are the items it is about, as text.
    """

    def __init__(
        self, problem: str, *, details: str = "", hint: str = "", ids: Iterable[str] = ()
    ) -> None:
        super().__init__(problem, details=details, hint=hint)
        self.ids = frozenset(ids)


class LabelConflictError(LabelError):
    """The item already has another label."""


class StorageError(AssayError):
    """The storage cannot be opened, or does not hold what was asked of it."""


class ServiceError(AssayError):
    """A server of somebody else's does not answer, or fails; another try may well do."""


class MissingDependencyError(AssayError, ImportError):
    """An optional package is needed and not installed."""


class AssayWarning(UserWarning):
    """What was asked for can be done, and has a price that was measured."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest known word, or nothing.

    >>> did_you_mean("p_spam", ["url", "pspam"])
    "did you mean 'pspam'?"
    """
    near = get_close_matches(word, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else ""


# Files and texts that come from outside.

_NO_FILES = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device or a terminal",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def refuse_no_file(
    path: str | PathLike[str], mode: int | None = None, *, error: type[InputError] = InputError
) -> None:
    """Raise where a path is of what need never end, or never begin: a pipe, a device, a terminal.

    >>> refuse_no_file("/dev/zero")
    Traceback (most recent call last):
    assay.errors.InputError: /dev/zero is a device or a terminal, and no file
    what it holds need never end, and nothing of it was read
    hint: write what you need of it into a file, and give that
    """
    kind = stat.S_IFMT(Path(path).stat().st_mode if mode is None else mode)
    if kind == stat.S_IFDIR:
        raise error(f"{path} is a directory, and no file", hint="give the path of a file in it")
    if kind != stat.S_IFREG:
        raise error(
            f"{path} is {_NO_FILES.get(kind, 'something else')}, and no file",
            details="what it holds need never end, and nothing of it was read",
            hint="write what you need of it into a file, and give that",
        )


_LAYOUT = "\n\t"
_JOINERS = "\u200c\u200d"  # Indic scripts, Persian and emoji need them
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # categories that draw nothing, or move what does


def printable(text: object) -> str:
    r"""Return the text with everything made visible that a terminal would obey.

    Escape sequences, other control characters and those that change the direction of writing are
    written out; line ends and tabs stay.

    >>> print(printable("red: \x1b[31m, backwards: \u202e"))
    red: \x1b[31m, backwards: \u202e
    """
    text = str(text)
    if text.isprintable():
        return text  # as nearly all are
    return "".join(
        repr(sign)[1:-1]
        if unicodedata.category(sign) in _INVISIBLE and sign not in _LAYOUT + _JOINERS
        else sign
        for sign in text
    )


def is_storable(text: str) -> bool:
    r"""Tell whether a text can be stored and sent.

    >>> is_storable("naïve 🜚"), is_storable("\x00"), is_storable("\ud800")
    (True, False, False)
    """
    if "\0" in text:
        return False
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def texts_in(value: object) -> Iterator[str]:
    """Yield every text of a JSON document, names too; not by recursion, as it may be deep.

    >>> sorted(texts_in({"a": ["b", 1, {"c": "d"}]}))
    ['a', 'b', 'c', 'd']
    """
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as mapping:
                waiting += [*mapping.keys(), *mapping.values()]
            case list() as values:
                waiting += values
