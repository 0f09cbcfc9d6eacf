"""First look at predictions: their columns with some values, and what each of them probably is."""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.core.answers import probable_yes
from assay.errors import printable
from assay.predictions.databases import find_database
from assay.predictions.databases.database import find_rows
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.relations import open_relation
from assay.predictions.faults import nothing_in
from assay.predictions.scan import as_scan

_ROWS = 2_000  # that are looked at
_EXAMPLES = 3  # values of each column
_LONGEST = 80  # characters of an example
_MOST_CLASSES = 50

# Names of columns by what they hold, without case; the more usual a pattern, the earlier it stands.
_ID = (r"id", r".*[_ ]?id", r"uuid|guid|key|sha\d*", r"url|link|path|file(name)?")
_SCORE = (
    r"score|prob(ability)?|confidence",
    r".*(score|prob|confidence|logit|margin).*",
    r"p|p_.+",
)
_PREDICTED = (
    r"predicted|prediction|pred|y_pred|yhat",
    r"(pred|said|flag|verdict|decision|output|answer_class).*|.*(predicted|prediction|_pred)",
)
_TRUTH = (
    r"(true|gold|correct|human|real)[_ ]?.*|.*[_ ](true|truth|gold)",
    r"label|truth|target|y|class",
    r"(label|rater|annotat|judge).*",
)

# A class in the name of a column, unless it is one of these words: they name a model or say yes.
_NAMES = (r"is_(\w+)", r"p_(\w+)", r"prob(?:ability)?_(?:of_)?(\w+)")
_NO_CLASS = re.compile(
    r"\d*|[a-z]|v\d+|y(es)?|no|true|false|pos(itive)?s?|neg(ative)?s?|pass|fail|correct|match(es)?|class|label"
    r"|pred(icted|iction)?|raw|mean|max|min|old|new|base(line)?|current|candidate|prod|test|judge"
    r"|model\w*|cnn\w*|rnn|nn|lstm|bert|gpt\w*|llm\w*|svm|lr|rf|xgb|gbm|lgbm|ensemble|classifier"
)


def default_question(positive: object, *columns: str | None) -> str | None:
    """Question to reviewers that names the class; None if nothing names it.

    `positive`: predicted label that means yes; `columns`: those of the predicted label and the
    score.

    >>> default_question("toxic"), default_question(None, None, "p_spam")
    ('Is it toxic?', 'Is it spam?')
    >>> default_question(1, "is_click_bait"), default_question("yes", "said", "p_cnn")
    ('Is it click bait?', None)
    """
    named = (
        found[1] for each in columns for name in _NAMES if (found := re.fullmatch(name, each or ""))
    )
    words = ("" if positive is None else str(positive), *named)
    classes = (word for word in words if not _NO_CLASS.fullmatch(word.lower()))
    return next((f"Is it {word.replace('_', ' ')}?" for word in classes), None)


@dataclass(frozen=True)
class SeenColumn:
    """Column, as far as the first rows show it."""

    name: str
    is_number: bool
    distinct: int  # number of different values
    examples: tuple[str, ...]
    longest: int  # characters of the longest value


@dataclass(frozen=True)
class Proposal:
    """Columns of predictions, and a proposal how to use them."""

    source: str
    columns: tuple[SeenColumn, ...]
    first: Mapping[str, str]  # the first row, as text
    id: str | None  # None: the number of the row
    score: str | None
    predicted: str | None
    positive: str | None  # the predicted label that means yes
    threshold: float | None  # of the score, without predicted labels
    show: tuple[str, ...]
    truth: tuple[str, ...]  # columns that may hold the answer: reviewers should not see them
    question: str | None  # to reviewers; None if nothing names the class

    @property
    def options(self) -> dict[str, Any]:
        """The same as options of a campaign, without those that are not proposed."""
        names = ("id", "score", "predicted", "positive", "threshold")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return {**given, **({"show": [*self.show]} if self.show else {})}

    def use_of(self, column: str) -> str:
        """Use of a column, in a word or two."""
        uses = {self.score: "score", self.predicted: "predicted label", self.id: "id"}
        uses |= dict.fromkeys(self.show, "shown to reviewers")
        uses |= dict.fromkeys(self.truth, "may hold the answer: not shown")
        return uses.get(column, "")


def as_command(path: str, options: Mapping[str, Any]) -> str:
    """Command that creates a campaign with these options.

    >>> as_command("my file.csv", {"score": "p", "threshold": 0.5, "show": ["text", "title"]})
    "assay create 'my file.csv' --score p --threshold 0.5 --show text --show title"
    """
    words = ["assay", "create", path]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{name}", f"{each:g}" if isinstance(each, float) else str(each)]
    return shlex.join(words)


def propose(source: object) -> Proposal:
    """Look at the first rows of predictions, and propose what each column is for.

    >>> found = propose({"mail_id": [1, 2], "p_spam": [0.9, 0.2], "text": ["Buy!", "Hello"]})
    >>> found.id, found.score, found.predicted, found.threshold, found.show
    ('mail_id', 'p_spam', None, 0.5, ('text',))
    """
    label, rows = _first_rows(source)
    columns = [_seen(name, values) for name, values in rows.items()]
    by_name = {each.name: each for each in columns}
    size = len(next(iter(rows.values())))
    truth = _named(columns, _TRUTH, lambda each: each.distinct <= _MOST_CLASSES)
    left = [each for each in columns if each.name not in truth]
    predicted = _first(_named(left, _PREDICTED, lambda each: each.distinct <= _MOST_CLASSES))
    left = [each for each in left if each.name != predicted]
    id = _first(_named(left, _ID, lambda each: each.distinct == size))
    left = [each for each in left if each.name != id]
    score = _first(_named(left, _SCORE, lambda each: each.is_number)) or _only_share(left, rows)
    swaying = _named(left, (*_SCORE, *_PREDICTED), lambda _: True)  # of other classifiers
    left = [each for each in left if each.name not in swaying]
    texts = [each.name for each in left if not each.is_number]
    positive = _positive(rows[predicted]) if predicted else None
    return Proposal(
        source=label,
        columns=tuple(columns),
        first={name: str(values[0]) for name, values in rows.items()},
        id=id,
        score=score,
        predicted=predicted,
        positive=positive,
        threshold=None if predicted or score is None else _threshold(by_name[score], rows[score]),
        show=tuple(texts or [each.name for each in left]),
        truth=tuple(truth),
        question=default_question(positive, predicted, score),
    )


def _first_rows(source: object) -> tuple[str, dict[str, list[object]]]:
    """Describe a source, and read the values of its columns in the first rows."""
    if isinstance(source, Mapping):
        return "the columns", {str(name): list(values)[:_ROWS] for name, values in source.items()}
    scan = as_scan(source)
    if (database := find_database(scan.path or "")) is not None:
        with database.connected(database.name_of(scan.table)):
            rows = find_rows(database, table=scan.table, where=scan.where, wanted=[])
            names = [column.name for column in rows.columns]
            found = database.fetch(f"{rows.select(names)} LIMIT {_ROWS}")
        if not found:
            raise nothing_in(rows.source, scan.where)
        return rows.source, dict(zip(names, map(list, zip(*found, strict=True)), strict=True))
    relation = open_relation(scan, [], staged=False)
    with reading(relation.label):
        table = relation.connection.sql(f"FROM {relation.sql} LIMIT {_ROWS}").to_arrow_table()
    if not table.num_rows:
        raise nothing_in(relation.label, scan.where)
    return relation.label, {
        name: column.to_pylist()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _seen(name: str, values: list[object]) -> SeenColumn:
    texts = [str(value) for value in values if value is not None]
    different = list(dict.fromkeys(texts))
    examples = (printable(text[:_LONGEST]) for text in different[:_EXAMPLES])
    is_number = bool(texts) and all(map(_is_number, different))
    longest = max(map(len, texts), default=0)
    return SeenColumn(name, is_number, len(different), tuple(examples), longest)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _named(
    columns: list[SeenColumn], patterns: tuple[str, ...], fits: Callable[[SeenColumn], bool]
) -> list[str]:
    """Names that match a pattern, of columns that fit; those of the earliest pattern first."""
    return list(
        dict.fromkeys(
            each.name
            for pattern in patterns
            for each in columns
            if fits(each) and re.fullmatch(pattern, each.name.strip().lower())
        )
    )


def _first(names: list[str]) -> str | None:
    return next(iter(names), None)


def _only_share(columns: list[SeenColumn], rows: Mapping[str, list[Any]]) -> str | None:
    """Name of the only column of fractions between 0 and 1, if there is just one."""
    shares = [each.name for each in columns if each.is_number and _ends(rows[each.name]) == (0, 1)]
    return shares[0] if len(shares) == 1 else None


def _ends(values: list[Any]) -> tuple[int, int] | None:
    """(0, 1) for fractions between 0 and 1, (0, 100) for percent; otherwise None."""
    numbers = [float(value) for value in values if value is not None]
    if not numbers or min(numbers) < 0 or all(number == int(number) for number in numbers):
        return None
    return (0, 1) if max(numbers) <= 1 else (0, 100) if max(numbers) <= 100 else None


def _threshold(score: SeenColumn, values: list[Any]) -> float:
    """Middle of the scale of the score; 0 for a margin."""
    ends = _ends(values) if score.is_number else None
    return 0.0 if ends is None else sum(ends) / 2


def _positive(values: list[Any]) -> str | None:
    """Which of two predicted labels probably means yes; None if Assay knows, or nobody can."""
    words = {str(value) for value in values if value is not None}
    if len(words) != 2 or all(each.lower() in ("true", "false", "0", "1") for each in words):
        return None
    return probable_yes(words)
