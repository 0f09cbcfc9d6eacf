"""The confusion matrix in a report."""

import json
import re
from itertools import pairwise
from typing import Any

import numpy as np

import assay
from assay.results import ConfusionCell, ConfusionMatrix, Table


def finished() -> assay.Campaign:
    """Return a campaign of three classes with every item labelled, two of which are confused."""
    rng = np.random.default_rng(3)
    truth = rng.choice(["cat", "dog", "<fish>"], 90)
    said = np.where((truth == "dog") & (rng.random(90) < 0.4), "cat", truth)
    campaign = assay.create_campaign({"said": said}, predicted="said", metric="macro_f1", budget=90)
    while not campaign.done:
        campaign.tell({item.id: str(truth[item.id]) for item in campaign.ask(45)})
    return campaign


def test_a_report_has_the_matrix_as_a_shaded_table_and_in_words() -> None:
    report = finished().report()
    html = report.html
    assert 'class="matrix"' in html
    assert "&lt;fish&gt;" in html
    assert "<fish>" not in html
    assert re.search(r'class="number level-9">100<', html)
    first = report.to_dict()["confusion"][0]
    wrong = [cell for cell in first["cells"] if cell["said"] != cell["is_of"]]
    assert [(cell["said"], cell["is_of"]) for cell in wrong] == [("cat", "dog")]
    assert "Most frequent confusion: predicted cat, truth dog" in report.markdown
    json.loads(report.json)


def test_a_report_of_yes_and_no_has_none() -> None:
    campaign = assay.create_campaign(
        {"y": [True, False]}, predicted="y", metric="accuracy", budget=1
    )
    report = campaign.report()
    assert "matrix" not in report.html.partition("</style>")[2]
    assert "confusion" not in report.to_dict()


def many(number: int) -> ConfusionMatrix:
    """Return a matrix of so many classes, each confused with the next."""
    names = tuple(f"class {place}" for place in range(number))
    cells: list[Any] = []
    for place, name in enumerate(names):
        other = names[(place + 1) % number]
        cells.append(ConfusionCell(name, name, 80.0, 0.8, 0.7, 0.9, 8))
        cells.append(ConfusionCell(name, other, 20.0 + place, 0.2, 0.1, 0.3, 2))
    return ConfusionMatrix(names, tuple(cells), dict.fromkeys(names, 100), 0.95)


def test_of_many_classes_those_with_most_errors_are_shown() -> None:
    pairs, table = (each for each in many(120).document().blocks if isinstance(each, Table))
    assert table.is_picture and len(table.rows) == 24
    assert "24 classes of 120" in table.note
    assert pairs.note == "and 108 more pairs with fewer items"


def test_classes_that_are_confused_stand_beside_each_other() -> None:
    order = many(6).order
    assert sorted(order) == [f"class {place}" for place in range(6)]
    beside = [abs(int(a[-1]) - int(b[-1])) for a, b in pairwise(order)]
    assert beside.count(1) + beside.count(5) >= 4
