"""Errors that Assay raises, as one tree.

::

    AssayError
    ├── InputError                  an input cannot be used as given
    │   ├── PredictionsError        a column, a score, an id, a predicted label
    │   ├── DesignError             a method, a number of bins, a metric, a target
    │   └── LabelError              an invalid label, or one for an item that was not asked for
    │       └── LabelConflictError  another label than the one already given
    ├── StorageError                a storage URL, a campaign's name, a database
    ├── ServiceError                a server that does not answer now, but may later
    └── MissingDependencyError      an optional package that is not installed

    UserWarning
    └── AssayWarning                a choice that works, at a cost

Each error states the problem, the value found, what is expected and, if useful, a hint. Each is an
`AssayError`, so one ``except`` is enough; bad input never raises any other exception.
"""

import stat
import unicodedata
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from os import PathLike
from pathlib import Path

# Distribution: its name on the package index, its version, and the command for an extra.

NAME = "assay-eval"  # `assay` is another project there; the package and the command are `assay`
VERSION = "0.2.0"
DOCUMENTS = "https://github.com/assay-eval/assay/blob/main/docs"  # read without this repository


def install(extra: str) -> str:
    """Command that installs an extra, for the hint of an error.

    >>> install("spark")
    "pip install 'assay-eval[spark]'"
    """
    return f"pip install '{NAME}[{extra}]'"


class AssayError(Exception):
    """Base class of all errors.

    Parameters
    ----------
    problem : str
        What is wrong, with the value found.
    details : str, optional
        What is expected: the range, the existing columns, the first bad rows.
    hint : str, optional
        How to fix it.
    """

    def __init__(self, problem: str, *, details: str = "", hint: str = "") -> None:
        self.problem = problem
        self.details = details
        self.hint = hint
        lines = [problem, details, f"hint: {hint}" if hint else ""]
        super().__init__("\n".join(line for line in lines if line))


class InputError(AssayError, ValueError):
    """An input cannot be used as given."""


class PredictionsError(InputError):
    """The predictions have a missing column, a bad score, a duplicate id and the like."""


class DesignError(InputError):
    """The design or the goal asks for something that does not exist or fit together."""


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
    """The storage cannot be opened, or lacks something."""


class ServiceError(AssayError):
    """An external server does not answer, or fails; a retry may succeed."""


class MissingDependencyError(AssayError, ImportError):
    """An optional package is needed and not installed."""


class AssayWarning(UserWarning):
    """A request can be met, but at a measured cost."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Hint that names the nearest known word, or nothing.

    >>> did_you_mean("p_spam", ["url", "pspam"]), did_you_mean("url", ["URL"])
    ("did you mean 'pspam'?", "did you mean 'URL'?")
    """
    near = nearest(word, known)
    return f"did you mean {near!r}?" if near else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """Known word most similar to a word, in any case; empty if none is similar."""
    words = {each.casefold(): each for each in known}
    near = get_close_matches(word.casefold(), words, n=1)
    return words[near[0]] if near else ""


# Files and texts from outside.

_NO_FILES = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device or a terminal",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def refuse_no_file(
    path: str | PathLike[str], mode: int | None = None, *, error: type[InputError] = InputError
) -> None:
    """Raise if a path is a pipe, a device or a terminal, whose content may never end.

    >>> refuse_no_file("/dev/zero")
    Traceback (most recent call last):
    assay.errors.InputError: /dev/zero is a device or a terminal, not a file
    its content may never end; nothing was read
    hint: write the part that you need into a file, and give that file
    """
    kind = stat.S_IFMT(Path(path).stat().st_mode if mode is None else mode)
    if kind == stat.S_IFDIR:
        raise error(f"{path} is a directory, not a file", hint="give the path of a file in it")
    if kind != stat.S_IFREG:
        raise error(
            f"{path} is {_NO_FILES.get(kind, 'something else')}, not a file",
            details="its content may never end; nothing was read",
            hint="write the part that you need into a file, and give that file",
        )


_LAYOUT = "\n\t"
_JOINERS = "\u200c\u200d"  # Indic scripts, Persian and emoji need them
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # invisible, or moving visible text


def counted(number: float, noun: str) -> str:
    """Write a number of things in words.

    >>> counted(1, "class"), counted(2, "class"), counted(1_000, "row")
    ('1 class', '2 classes', '1,000 rows')
    """
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def printable(text: object) -> str:
    r"""Text with everything made visible that a terminal would obey.

    Escape sequences, other control characters and those that change the direction of writing are
    written out; line ends and tabs stay.

    >>> print(printable("red: \x1b[31m, backwards: \u202e"))
    red: \x1b[31m, backwards: \u202e
    """
    text = str(text)
    if text.isprintable():
        return text  # the usual case
    return "".join(
        repr(sign)[1:-1]
        if unicodedata.category(sign) in _INVISIBLE and sign not in _LAYOUT + _JOINERS
        else sign
        for sign in text
    )


def is_storable(text: str) -> bool:
    r"""Whether a text can be stored and sent.

    >>> is_storable("naïve 🜚"), is_storable("\x00"), is_storable("\ud800")
    (True, False, False)
    """
    if "\0" in text:
        return False
    return text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text)


def texts_in(value: object) -> Iterator[str]:
    """Yield every text of a JSON document, keys included; without recursion.

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
