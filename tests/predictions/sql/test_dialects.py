"""The spellings for further databases that docs/sources.md gives, and the SQL they lead to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import sqlglot

from assay.predictions.query import Query, Spell, statement

PAGE = (Path(__file__).parents[3] / "docs" / "sources.md").read_text()
ROW = re.compile(r"^\| `(\w+)\((.*?)\)` \| (.*) \|$", re.MULTILINE)
NAMES = ("BigQuery", "Snowflake", "Trino", "Databricks")
STEPS = (
    Query("SELECT url AS id, p AS score FROM preds")
    .select("settled(text_word(id)) AS word", "CAST(score >= 5.0e-01 AS SMALLINT) AS says")
    .select("xor_bits(word, right_by(word, 32)) AS mixed", "or_bits(says, 2) AS code")
    .group(["code"], "count(*) AS items", "xor_all(and_bits(mixed, left_by(1, 40))) AS digest")
)


@dataclass(frozen=True)
class Written:
    """What the page says of a database."""

    dialect: str
    functions: dict[str, Spell]
    smallint: str = "INT64"

    def double(self, digits: str) -> str:
        return digits

    def lookup(self, index: str, which: int, values: Sequence[float]) -> str:
        raise NotImplementedError


def spell(parameters: str, pattern: str, *arguments: str) -> str:
    """Put arguments in the place of the parameters."""
    given = dict(zip(parameters.split(", "), arguments, strict=True))
    return re.sub(r"\b[an]\b|\bb\b", lambda found: given[found[0]], pattern)


def spelling_of(name: str) -> Written:
    place = NAMES.index(name)
    functions: dict[str, Spell] = {}
    for function, parameters, cells in ROW.findall(PAGE):
        pattern = re.split(r"(?<!\\) \| ", cells)[place].strip("`").replace("\\|", "|")
        functions[function] = partial(spell, parameters, pattern)
    return Written(name.lower(), functions)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_gives_every_function_and_the_sql_of_it(name: str) -> None:
    written = spelling_of(name)
    assert len(written.functions) == 7
    sql = statement(STEPS, written, "")
    (block,) = re.findall(rf"-- {name}\n(.*?)\n```", PAGE, re.DOTALL)
    assert " ".join(block.split()) == " ".join(sql.split())
    assert sqlglot.parse_one(sql, read=name.lower())  # its own dialect can read it
