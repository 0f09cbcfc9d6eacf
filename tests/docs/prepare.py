"""What a page's reader has already: files, and people who answer. Small, and made for each page."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from tests.docs.running import KEYS

_ROWS = 6_000


def predictions(folder: Path) -> None:
    """Write predictions.parquet: pages of the web, and what two classifiers say of them."""
    pq.write_table(pa.table(_pages(seed=1)), folder / "predictions.parquet")


def random_labels(folder: Path) -> None:
    """Write labels.csv, too: what people said of 300 pages that were drawn at random."""
    predictions(folder)
    pages = _pages(seed=1)
    drawn = np.random.default_rng(2).choice(_ROWS, 300, replace=False)
    labels = {"url": pages["url"][drawn], "label": np.where(pages["truth"][drawn], "yes", "no")}
    pa.csv.write_csv(pa.table(labels), folder / "labels.csv")


def days(folder: Path) -> None:
    """Write a folder of pages for each of two days."""
    for number in (1, 2):
        day(folder, number)


def day(folder: Path, number: int) -> None:
    """Write the pages of one day."""
    place = folder / "preds" / f"day={number}"
    place.mkdir(parents=True)
    pq.write_table(pa.table(_pages(seed=number, day=number)), place / "part.parquet")


def reviewing(folder: Path) -> None:
    """Write predictions, and guidelines for those who judge."""
    predictions(folder)
    (folder / "guidelines.txt").write_text("A page is spam if it was made to be found, not read.")


def first(folder: Path) -> None:
    """Write a CSV, and the keys that its owner presses: every twelfth is a no."""
    spreadsheet(folder)
    keys = ("n" if number % 12 == 11 else "y" for number in range(600))
    (folder / KEYS).write_text("\n".join(keys))


def labels_in_and_out(folder: Path) -> None:
    """Write predictions and make the campaign that the page talks about."""
    import assay

    predictions(folder)
    assay.create_campaign(
        str(folder / "predictions.parquet"),
        id="url",
        score="p_spam",
        predicted="is_spam",
        show=["title"],
        within=0.02,
        name="spam-week-46",
        storage=f"sqlite:///{folder / 'assay.db'}",
    )


def spreadsheet(folder: Path) -> None:
    """Write predictions.csv: addresses, titles and probabilities."""
    pages = _pages(seed=1)
    columns = {name: pages[name] for name in ("url", "title", "p_spam")}
    pa.csv.write_csv(pa.table(columns), folder / "predictions.csv")


def spreadsheets_back(folder: Path) -> None:
    """Answer what went out to ann and bob, who see spam in every page of an even number."""
    for file in (folder / "ann.csv", folder / "bob.csv"):
        with file.open(newline="") as out:
            rows = list(csv.DictReader(out))
        for row in rows:
            row["label"] = "no" if int(row["title"].split()[-1]) % 2 else "yes"
        with file.open("w", newline="") as back:
            writer = csv.DictWriter(back, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def three_models(folder: Path) -> None:
    """Write what three models say of the same pages, and what people would."""
    rng = np.random.default_rng(3)
    spam, hard = rng.random(_ROWS) < 0.3, rng.normal(size=_ROWS)
    url = [f"https://example.org/{number}" for number in range(_ROWS)]
    table: dict[str, Any] = {"url": url, "title": [f"Page {number}" for number in range(_ROWS)]}
    for name, noise in {"new": 0.4, "old": 0.9, "cheap": 1.2}.items():
        margin = 3 * spam - 1.5 + 0.5 * hard + rng.normal(0, noise, _ROWS)
        table |= {f"p_{name}": 1 / (1 + np.exp(-margin)), f"says_{name}": margin > 0}
    pq.write_table(pa.table(table), folder / "predictions.parquet")
    pq.write_table(pa.table({"url": url, "is_spam": spam}), folder / "truth.parquet")


def opinions(folder: Path) -> None:
    """Write predictions with an older model's score and metadata, and the truth.

    Short pages fool the classifier. Shops are spam more often than the text tells, and news less.
    """
    rng = np.random.default_rng(6)
    quality, fools = rng.normal(size=(2, _ROWS))
    lang = rng.choice(["en", "fr", "de"], _ROWS, p=[0.6, 0.3, 0.1])
    length = np.exp(rng.normal(6, 1, _ROWS)).astype(np.int64)
    short = length < 250
    site = rng.choice(["forum", "news", "shop"], _ROWS)
    true = quality + np.select([site == "news", site == "shop"], [-0.8, 0.8])
    spam = rng.random(_ROWS) < 1 / (1 + np.exp(-20 * true))
    url = [f"https://example.org/{number}" for number in range(_ROWS)]
    table = {
        "url": url,
        "title": [f"Page {number}" for number in range(_ROWS)],
        "lang": lang,
        "length": length,
        "site": site,
        "p_spam": 1 / (1 + np.exp(-2 * (quality + np.where(short, 4.0, 0.15) * fools))),
        # The order of the items depends on all digits, and the last ones on the processor.
        "p_old": (1 / (1 + np.exp(-2 * (true + 0.3 * rng.normal(size=_ROWS))))).round(4),
    }
    pq.write_table(pa.table(table), folder / "predictions.parquet")
    pq.write_table(pa.table({"url": url, "is_spam": spam}), folder / "truth.parquet")


def two_weeks(folder: Path) -> None:
    """Write the pages of two weeks, a fifth of them new and often misjudged, and the truth."""
    first, later = _pages(seed=1), _pages(seed=2, day=1)
    fresh = np.random.default_rng(3).random(_ROWS) < 0.2
    second = {name: np.where(fresh, later[name], first[name]) for name in first}
    second["truth"] &= ~(fresh & second["is_spam"] & (np.arange(_ROWS) % 2 == 0))
    for file, pages in (("week-46", first), ("week-47", second)):
        pq.write_table(pa.table(pages).drop_columns("truth"), folder / f"{file}.parquet")
    truth = dict(zip(first["url"], first["truth"], strict=True))
    truth |= dict(zip(second["url"], second["truth"], strict=True))
    answers = {"url": list(truth), "is_spam": list(truth.values())}
    pq.write_table(pa.table(answers), folder / "truth.parquet")


def label_studio(folder: Path) -> None:
    """Answer a batch in Label Studio: person 5 says yes to every other item."""
    tasks = json.loads((folder / "batch.json").read_text())
    exported = [
        {
            "id": number,
            "annotations": [_annotation(number, "no" if number % 2 else "yes")],
            "predictions": [],
            "data": task["data"],
        }
        for number, task in enumerate(tasks, start=1)
    ]
    (folder / "export.json").write_text(json.dumps(exported))


def ten(folder: Path) -> None:
    """Label ten messages of the tutorial's campaign, as its reader does on the page."""
    import assay
    from assay.demo import make_population
    from assay.storage import Label

    truth = make_population(seed=7).truth
    campaign = assay.load_campaign("week-46", storage=f"sqlite:///{folder / 'assay.db'}")
    items = campaign.review([], reviewer="owner", want=10).items
    said = ["yes" if truth[int(item.id)] else "no" for item in items]
    labels = [
        Label(str(item.id), each, key=str(item.id)) for item, each in zip(items, said, strict=True)
    ]
    campaign.review(labels, reviewer="owner")


def _annotation(number: int, answer: str) -> dict[str, Any]:
    choice = {"from_name": "answer", "to_name": "item", "type": "choices"}
    return {
        "id": number,
        "completed_by": 5,
        "result": [{**choice, "value": {"choices": [answer]}}],
        "was_cancelled": False,
        "created_at": "2026-11-15T15:05:26.970020Z",
        "updated_at": "2026-11-15T15:05:26.970063Z",
        "task": number,
    }


def _pages(seed: int, day: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.random(_ROWS) < 0.3
    margin = {name: 2.5 * truth - 1.2 + rng.normal(0, 0.9, _ROWS) for name in ("new", "cnn", "mve")}
    chance = {name: 1 / (1 + np.exp(-2 * values)) for name, values in margin.items()}
    numbers = np.arange(_ROWS) + day * _ROWS
    return {
        "url": np.array([f"https://example.org/{number}" for number in numbers]),
        "title": np.array([f"Page {number}" for number in numbers]),
        "text": np.array([f"What page {number} says." for number in numbers]),
        "lang": rng.choice(["en", "fr", "de"], _ROWS, p=[0.6, 0.3, 0.1]),
        "p_spam": chance["new"],
        "is_spam": margin["new"] > 0,
        "p_cnn": chance["cnn"],
        "said_cnn": margin["cnn"] > 0,
        "vote": margin["mve"] > 0,
        "score_cnn": chance["cnn"],
        "pred_cnn": margin["cnn"] > 0,
        "pred_mve": margin["mve"] > 0,
        "truth": truth,
    }


FILES: dict[str, Callable[[Path], None]] = {
    "README.md": first,
    "docs/any_size.md": days,
    "docs/howto/csv_and_colleagues.md": spreadsheet,
    "docs/howto/every_week.md": two_weeks,
    "docs/howto/metadata.md": opinions,
    "docs/howto/old_model.md": opinions,
    "docs/howto/pull_request.md": two_weeks,
    "docs/howto/random_labels.md": random_labels,
    "docs/howto/rare_recall.md": predictions,
    "docs/howto/three_models.md": three_models,
    "docs/labels_in_and_out.md": labels_in_and_out,
    "docs/plan.md": random_labels,
    "docs/random_labels.md": random_labels,
    "docs/reviewing.md": reviewing,
    "docs/several.md": predictions,
    "docs/simulate.md": predictions,
}
"""By page: what is there before its first block."""


def judged(folder: Path) -> None:
    """Fill in what the judge says of the items that went out to it."""
    log = (json.loads(line) for line in (folder / "judge.jsonl").read_text().splitlines())
    said = {str(each["id"]): "yes" if each["verdict"] == "second" else "no" for each in log}
    with (folder / "todo.csv").open(newline="") as out:
        rows = list(csv.DictReader(out))
    with (folder / "judged.csv").open("w", newline="") as back:
        writer = csv.DictWriter(back, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "verdict": said.get(row["id"], "no")} for row in rows)


BEFORE: dict[str, Callable[[Path], None]] = {
    "assay import part --judge judged.csv": judged,
    "assay import spam ann.csv": spreadsheets_back,
    "assay import spam-week-46 export.json": label_studio,
    "assay status week-46 | sed": ten,
    "assay rebase 'preds/day=8/*.parquet'": lambda folder: day(folder, 8),
}
"""By the beginning of a block: what happens elsewhere before it."""

FIXTURES: dict[str, dict[str, str]] = {
    "docs/reviewing.md": {"postgresql://ann@db.example/labels": "postgres_url"}
}
"""By page: what only exists in the text, and the fixture that is there instead."""

NEEDS = {"docs/howto/spark.md": "spark"}
"""By page: the fixture that must be there."""
