"""Files that are refused: labels from tables and tools, and logs of judges."""

import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import assay
from assay.campaign.exchange import import_labels
from assay.exchange import read_map
from tests.exchange.campaigns import campaign_of

Call = Callable[[], object]
CHOSEN = {"from_name": "answer", "type": "choices", "value": {"choices": ["yes"]}}
LINE = {"id": 31, "text": "x", "label": ["yes"], "assay_id": "a"}


def labels(content: bytes | str, file: str = "", ids: Any = ("a", "b"), **options: Any) -> Call:
    """Import an upload, or a file of this name; nothing may be recorded of it."""
    data = content.encode() if isinstance(content, str) else content

    def call() -> None:
        campaign = campaign_of(ids)
        if file:
            Path(file).write_bytes(data)
        try:
            import_labels(campaign, Path(file) if file else data, **options)
        finally:
            assert campaign.events() == []

    return call


def table(ids: Any = (1,), **columns: Any) -> Call:
    """Import a Parquet file into a campaign of items with numbers."""

    def call() -> None:
        pq.write_table(pa.table(columns), "mine.parquet")
        labels(Path("mine.parquet").read_bytes(), "mine.parquet", ids)()

    return call


def studio(*annotations: Any, id: object = "a", key: str = "annotations") -> Call:
    task = {"id": 1, "data": {"assay_id": id}, key: list(annotations)}
    return labels(json.dumps([task]), format="label-studio")


def note(**more: Any) -> dict[str, Any]:
    return {"result": [CHOSEN], **more}


def judge(text: str) -> Call:
    def call() -> object:
        Path("log.json").write_text(text)
        return assay.read_judgements("log.json")

    return call


def meaning(text: str, file: str = "map.csv") -> Call:
    def call() -> object:
        Path(file).write_text(text)
        return read_map(file)

    return call


csv = partial(labels, file="mine.csv")
numbers = partial(csv, ids=(7, 8))
argilla = partial(labels, format="argilla")
doccano = partial(labels, format="doccano")
tasks = partial(labels, format="label-studio")
ANSWER = '[{"id": "a", "fields": {}, "responses": '
IMPORTS: dict[str, Call] = {
    "argilla, no object": argilla(f"{ANSWER}[]}}]"),
    "argilla, no list": argilla(f'{ANSWER}{{"answer": {{"value": "yes"}}}}}}]'),
    "argilla, uneven": argilla(
        '[{"id": "a", "answer.responses": ["yes"], "answer.responses.users": []}]'
    ),
    "argilla, a status": argilla(f'{ANSWER}{{"answer": [{{"status": "x"}}]}}}}]'),
    "argilla, no user": argilla(
        '[{"id": "a", "answer.responses": ["yes"], "answer.responses.users": [[1]], '
        '"answer.responses.status": ["submitted"]}]'
    ),
    "argilla, no record": argilla("[[]]"),
    "doccano, two labels": doccano(json.dumps({**LINE, "label": ["yes", "no"]})),
    "doccano, no id": doccano('{"id": 3, "text": "x", "label": ["yes"]}'),
    "doccano, no labels": doccano('{"assay_id": "a", "text": "x"}'),
    "doccano, no object": doccano("7"),
    "doccano, a key twice": doccano('{"assay_id": "a", "label": ["yes"], "label": ["no"]}'),
    "doccano, no JSON": doccano(f"{json.dumps(LINE)}\n{{"),
    "studio, no id": tasks('[{"id": 7, "data": {"text": "x"}, "annotations": []}]'),
    "studio, as we wrote it": tasks('[{"data": {"assay_id": "a"}}]'),
    "studio, two choices": studio({"result": [{**CHOSEN, "value": {"choices": ["yes", "no"]}}]}),
    "studio, no user": studio(note(completed_by=[])),
    "studio, no result": studio({"result": "yes"}),
    "studio, no list": tasks('{"data": {"assay_id": "a"}}'),
    "studio, no task": tasks("[7]"),
    "studio, a key twice": tasks('[{"data": {"assay_id": "a", "assay_id": "b"}}]'),
    "studio, no JSON": tasks('[{"data": '),
    "studio, too deep": tasks("[" * 200_000),
    "studio, a number as id": studio(note(), id=7),
    **{
        f"studio, time {time!s:.9}": studio(note(), note(updated_at=time))
        for time in ("soon", 1e300, -1e18, float("nan"), 10**400, True, "NaN", [5], {"a": 1})
    },
    "csv, no answer": csv("id,label\na,yes\nb,maybe\n"),
    "csv, not asked for": csv("id,label\na,yes\nz,yes\n"),
    "csv, told both": csv('id,label\n"a",yes\n"b",no\na,no\n'),
    "csv, too few fields": csv("id,label\na,yes\nb\n"),
    "csv, too many fields": csv("id,label\na,yes,b\n"),
    "csv, no such column": csv("id,lable\na,yes\n"),
    "csv, column twice": csv("id,label,id\na,yes,b\n"),
    "csv, nothing at all": csv(""),
    "csv, tabs": csv("id\tlabel, or not\ttext\na\tyes\tx\n"),
    "csv, open quotes": csv('id,label\na,"yes\n'),
    "csv, words": numbers("id,label\n7,spam\n8,ham\n"),
    "csv, latin-1": numbers("id,label\n7,yes\n8,né\n".encode("latin-1")),
    "csv, no names": numbers("7,yes\n8,no\n"),
    "csv, other names": numbers("url,verdict\n7,yes\n"),
    "csv, a web page": numbers("<!DOCTYPE html>\n<html>"),
    "csv, not packed": numbers("id,label\n7,yes\n", file="not packed.csv.gz"),
    "csv, damaged": numbers(gzip.compress(b"id,label\n7,yes\n" * 99)[:-20], file="damaged.csv.gz"),
    "csv, an id as a date": numbers("id,label\n7-Jan,yes\n"),
    "csv, a large number": numbers("id,label\n7e+00,yes\n"),
    "csv, an odd word": numbers("id,label\n7,yes\n8,NaN\n"),
    "parquet, both": table(id=[1, 1], label=["yes", "no"]),
    "parquet, no answer": table(id=[1], label=["maybe"]),
    "parquet, no number": table(id=["x"], label=["yes"]),
    "parquet, a half": table(id=[1.5], label=["yes"]),
    "parquet, no id": table(id=[None], label=["yes"]),
    "parquet, no label": table(id=[1], lable=["yes"]),
    "parquet, no such column": table(key=[1], label=["yes"]),
    "no parquet": labels("id,label\n", "bad.parquet"),
    "no format, a list": labels("[]"),
    "no format, a number": labels("[1]"),
    "no format, another": labels('[{"id": "a", "said": "yes"}]'),
    "no format, a bracket": labels("["),
    "no format, brackets": labels("[" * 100_000),
    "no format, near": labels("", format="docano"),
    "no format, parquet": labels("PAR1"),
    **{
        f"reviewer {name!r:.12}": labels(json.dumps({"id": "a", "label": "yes", "reviewer": name}))
        for name in ("x" * 201, "\0", "\ud800", 5, True, ["ann"], {"id": 5})
    },
    "ruling, csv": csv("id,label,reviewer,ruling\na,yes,ann,\na,no,eve,WAHR\n"),
    "ruling, JSON": labels('{"id": "a", "label": "no", "ruling": "WAHR"}'),
    **{
        f"judge, {name}": judge(text)
        for name, text in {
            "csv": "id,verdict\n1,yes\n",
            "half a line": '{"id": 1, "verdict": "yes"}\n{"id": 2',
            "no id": '{"verdict": "yes"}',
            "nothing said": '{"id": 1}',
            "half an id": '{"id": 1.5, "verdict": 1}',
            "a true id": '{"id": true, "verdict": 1}',
            "a word": '{"id": 1, "score": "high"}',
            "infinite": '{"id": 1, "score": 1e999}',
            "large": '{"eval": {}, "samples": [{"id": 1, "scores": {"a": {"value": 1%s}}}]}'
            % ("0" * 400),
            "no samples": '{"eval": {}, "status": "success"}',
            "no scores": '{\n"eval": {}, "samples": [{"id": 1, "scores": {}}]}',
            "no id of a sample": '{\n"eval": {}, "samples": [{"scores": {}}]}',
            "deep": '{\n"eval": ' + "[" * 100_000,
            "nothing": "",
        }.items()
    },
    "map, a list": meaning("[1]", "map.json"),
    "map, half": meaning("{", "map.json"),
    "map, no meaning": meaning("word,answer\nA,\n"),
    "map, two meanings": meaning("word,answer\nA,b\nA,c\n"),
    "map, one column": meaning("word\nA\n"),
    **{
        f"rename {names!r}": labels("id,label,reviewer\na,yes,x:1\n", rename=names)
        for names in ({"x:1": " "}, {"": "ann"}, {"\0": "ann"}, {"x:1": "ann", "x:1 ": "bob"})
    },
}
"""By name: imports whose error is recorded."""
