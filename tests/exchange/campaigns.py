"""Campaigns that have asked for every one of their items, and ids that files like to spoil."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.campaign.campaign import Campaign
from assay.campaign.create import create_campaign
from assay.core.deck import Id
from assay.core.vocabulary import Vocabulary

AWKWARD = (
    *("007", "NA", "null", "None", "1e5", "1.0", "true", " padded ", "two\nlines"),
    *("two\r\nlines", 'quo"te', "it's", "'=guarded", "=1+1", "-5", "@a", "\ttab"),
    *("comma, and; more", "naïve 😀 漢字", "\u2028separator", "<b>&amp;$text_1"),
    *("\\back\\u0041",),
)


def campaign_of(
    ids: Sequence[Id],
    columns: Mapping[str, Sequence[object]] | None = None,
    *,
    per_item: int = 1,
    said: Mapping[str, object] | None = None,
    **options: Any,
) -> Campaign:
    """Return a campaign in memory that has asked for every one of the items.

    Options, with the columns of what is said, make it one of classes.
    """
    shown = {name: list(values) for name, values in (columns or {}).items()}
    given: dict[str, Any] = {"score": "p", "threshold": 0.5} if said is None else {}
    campaign = create_campaign(
        {"id": list(ids), "p": [0.9] * len(ids), **(said or {}), **shown},
        id="id",
        show=list(shown),
        budget=len(ids),
        storage="sqlite://",
        reviewers_per_item=per_item,
        overlap=0.0 if per_item == 1 else 1.0,
        **{**given, **options},
    )
    campaign.ask(len(ids), reviewer="nobody" if per_item > 1 else None)
    return campaign


def campaign_of_classes(
    ids: Sequence[Id], classes: Vocabulary, *, said: Sequence[str] = (), **more: Any
) -> Campaign:
    """Return the same of classes; what is predicted is the first, if not said otherwise."""
    words = {
        name: {
            "aliases": [alias for alias, its in classes.aliases.items() if its == name],
            "guideline": classes.guidelines.get(name, ""),
        }
        for name in classes.names
    }
    predicted = {"class": list(said) or [classes.names[0]] * len(ids)}
    return campaign_of(ids, said=predicted, predicted="class", classes=words, **more)


def campaign_of_sets(ids: Sequence[Id], names: Sequence[str], **more: Any) -> Campaign:
    """Return the same of items that may have several classes."""
    score = np.linspace(0.1, 0.9, len(ids) * len(names)).reshape(len(ids), len(names))
    options: dict[str, Any] = {"probabilities": "each", "threshold": 0.5, "metric": "prevalence"}
    options |= {"classes": tuple(names), "multilabel": True}
    return campaign_of(ids, said={"each": score}, **options, **more)


def workbook(rows: list[list[str]]) -> bytes:
    """Return a workbook as a spreadsheet makes one: texts apart, numbers in their cells."""
    texts: list[str] = []
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = []
        for place, value in enumerate(row):
            name = f"{chr(65 + place)}{number}"
            if value.replace(".", "").isdigit():
                cells.append(f'<c r="{name}"><v>{value}</v></c>')
            elif value:
                texts.append(value)
                cells.append(f'<c r="{name}" t="s"><v>{len(texts) - 1}</v></c>')
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {
        "xl/workbook.xml": f'<workbook {space} xmlns:r="{links}"><sheets>'
        '<sheet name="Labels" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": "<Relationships>"
        '<Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/sharedStrings.xml": f"<sst {space}>"
        + "".join(f"<si><t>{text}</t></si>" for text in texts)
        + "</sst>",
        "xl/worksheets/sheet1.xml": f"<worksheet {space}><sheetData>{''.join(lines)}"
        "</sheetData></worksheet>",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return file.getvalue()
