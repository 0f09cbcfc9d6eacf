"""Report: the state of a campaign, to be kept, sent and checked."""

import json
import os
from dataclasses import asdict, dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from assay.errors import InputError
from assay.labelling import Labelling
from assay.report.facts import Facts, MetricFacts
from assay.report.front import Front, front_of
from assay.report.gather import facts_of
from assay.report.html import html_of
from assay.report.pdf import printed
from assay.report.sections import page_of
from assay.results import Document, Page, ThresholdCurve, markdown_of, write_whole

FORMAT = 1  # of `to_dict`; it grows when a key changes its meaning or goes
SUFFIXES = {".html": "html", ".pdf": "pdf", ".md": "markdown", ".json": "json"}


@dataclass(frozen=True)
class Report:
    """Full report of a campaign, as of one moment.

    Made by `Campaign.report`. The same state gives the same bytes: the report's time is that of the
    last label.

    Attributes
    ----------
    facts : Facts
        All facts of the report, as values.
    curve : ThresholdCurve or None
        The curve of the score, if requested.
    front : Front
        Owner, trend and errors of the first page, which the JSON does not have.

    Examples
    --------
    >>> import assay
    >>> campaign = assay.create_campaign({"p": [0.9, 0.8]}, score="p", threshold=0.5, budget=2)
    >>> estimate = campaign.tell({item.id: True for item in campaign.ask(2)})
    >>> report = campaign.report()
    >>> print(report)
    Report of 'campaign': precision 1.000 [1.000, 1.000] at 95%, 2 labels: every item has been
    reviewed
    >>> report.to_dict()["metrics"]["precision"]["value"]
    1.0
    """

    facts: Facts
    curve: ThresholdCurve | None = None
    front: Front = field(default=Front(), repr=False)

    @cached_property
    def _page(self) -> Page:
        return page_of(self.facts, self.curve, self.front)

    @property
    def html(self) -> str:
        """The report as one self-contained HTML file."""
        return html_of(self._page)

    @property
    def pdf(self) -> bytes:
        """The report as PDF, printed by a browser on this machine."""
        return printed(self.html)

    @property
    def markdown(self) -> str:
        """The report as Markdown."""
        return markdown_of(self._page)

    @property
    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Report as JSON values, with the `format` of their keys."""
        values = asdict(self.facts)
        if not self.facts.answer:
            del values["answer"]
        del values["confusion"], values["classes"]
        if self.facts.confusion:
            values["confusion"] = [each.to_dict() for each in self.facts.confusion]
        if self.facts.classes:
            values["classes"] = [each.to_dict() for each in self.facts.classes]
        values["metrics"] = {each.estimate.metric: _plain(each) for each in self.facts.metrics}
        values["slices"] = {each.column: each.to_dict() for each in self.facts.slices}
        values["judges"] = {each.column: each.to_dict() for each in self.facts.judges}
        if self.curve is not None:
            values["curve"] = self.curve.to_dict()
        plain: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, **values}))
        return plain

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file; its suffix chooses ``.html``, ``.pdf``, ``.md`` or ``.json``.

        A PDF needs Chromium, Chrome or Edge on this machine.

        After an error, the file is unchanged.
        """
        content: str | bytes = getattr(self, kind_of(path))
        write_whole(path, content.encode() if isinstance(content, str) else content)

    def __str__(self) -> str:
        first, *more = (str(each.estimate).splitlines()[0] for each in self.facts.metrics)
        others = f" and {len(more):,} metrics more" if more else ""
        return f"Report of {self.facts.campaign.name!r}: {first}{others}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        # A frame of its own: the report's style must not touch the notebook's, nor the reverse.
        return (
            f'<iframe sandbox srcdoc="{escape(self.html)}" title="{escape(str(self))}" '
            'style="width:100%;height:40rem;border:1px solid #8884;background:#fff"></iframe>'
        )


def kind_of(path: str | os.PathLike[str]) -> str:
    """Format of a file by its name: ``html``, ``pdf``, ``markdown`` or ``json``."""
    name = Path(path)
    kind = SUFFIXES.get(name.suffix.lower())
    if kind is None:
        raise InputError(
            f"a report cannot be written to {str(name)!r}",
            details=f"the name of a report ends in one of: {', '.join(SUFFIXES)}",
            hint=f"for example {name.stem or 'report'}.html",
        )
    return kind


def report_of(
    labelling: Labelling,
    *,
    names: bool = False,
    curve: ThresholdCurve | None = None,
    trend: Document | None = None,  # of a series, its periods
) -> Report:
    """Report of a campaign, by its labelling so far; `names` as in `Campaign.report`."""
    return Report(facts_of(labelling, names=names), curve, front_of(labelling, trend=trend))


def _plain(each: MetricFacts) -> dict[str, Any]:
    values = asdict(each)
    values.pop("estimate")
    return {**each.estimate.to_dict(), **values}
