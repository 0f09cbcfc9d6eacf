"""Findings: estimates, slices, curves, errors and reports of a campaign. Nothing is changed.

Imports needed by few methods are inside them: a status should not wait for the code that draws
reports, cuts strata or reads predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING

from assay.campaign.desk import Desk
from assay.core.stopping import Reason
from assay.errors import DesignError, InputError, did_you_mean
from assay.labelling import Settings, estimates_of, history_in, strata_in
from assay.results import (
    Block,
    Document,
    Estimate,
    Estimates,
    Headline,
    Item,
    Outlook,
    Paragraph,
    StratumRow,
    notebook_of,
    outlook_of,
    plain_words,
)

if TYPE_CHECKING:
    from assay.audit import Bundle
    from assay.report import Report
    from assay.results import (
        ClassTable,
        ConfusionMatrix,
        JudgeQuality,
        Mistakes,
        Savings,
        Slices,
        ThresholdAnswer,
        ThresholdCurve,
    )

_LOOKS = 20  # at rounds that wait for answers, for the picture in a notebook


class Findings:
    """Read-only half of a `Campaign`.

    Every method first takes in what other processes have added to the storage.
    """

    desk: Desk

    @property
    def name(self) -> str:
        """Name under which the campaign is stored."""
        return self.desk.name

    @property
    def settings(self) -> Settings:
        """Settings that were fixed when the campaign was created."""
        return self.desk.settings

    @property
    def done(self) -> bool:
        """Whether no more labels are needed."""
        return self.desk.current().rounds.reason is not Reason.GO_ON

    def outlook(self) -> Outlook:
        """Forecast of the further answers that the goal takes, with its basis.

        Examples
        --------
        >>> import assay
        >>> campaign = assay.create_campaign(
        ...     {"p": [0.9, 0.8, 0.7]}, score="p", threshold=0.5, budget=2)
        >>> campaign.outlook()
        Outlook(answers=2, words='until the budget is used up')
        """
        estimates, rounds = self.estimates(), self.desk.labelling.rounds
        return outlook_of(
            estimates,
            answers=len(rounds.answers) + rounds.state.elsewhere,
            items=int(self.settings.strata.sizes.sum()),
            budget=self.settings.goal.budget,
            of_sample=max(each.of_sample for each in rounds.standings),
            forecast=self.settings.forecast,
        )

    def savings(self) -> Savings | None:
        """Labels saved by second opinions; None if strata are by the score.

        Also None if fewer than 50 judged items are known, or if the scores were not kept with them.
        """
        from assay.labelling import savings_of

        return savings_of(self.desk.current())

    def threshold(self) -> ThresholdAnswer:
        """Answer to the request of `threshold_for`, from the labels so far.

        Examples
        --------
        >>> import numpy as np, assay
        >>> rng = np.random.default_rng(0)
        >>> p = rng.random(5_000)
        >>> spam = rng.random(5_000) < p**0.5
        >>> campaign = assay.create_campaign(
        ...     {"p": p}, score="p", threshold_for="precision >= 0.8", budget=400)
        >>> while not campaign.done:
        ...     batch = campaign.ask(20)
        ...     _ = campaign.tell({item.id: bool(spam[item.id]) for item in batch})
        >>> result = campaign.threshold()
        >>> result.certified, bool(spam[p >= result.threshold].mean() >= 0.8)
        (True, True)
        """
        from assay.labelling import threshold_of

        answer = threshold_of(self.desk.current())
        if answer is None:
            raise DesignError(
                f"campaign {self.name!r} was not made for a threshold",
                hint="make one with threshold_for='precision >= 0.95'; `assay curve` shows all "
                "thresholds. In Python: Campaign.curve()",
            )
        return answer

    def estimate(self, metric: str | None = None) -> Estimate:
        """Compute the current estimate of a metric.

        Default: of several metrics, the one farthest from its goal; `estimates` has all of them.
        """
        every = self.estimates()
        if metric is None:
            return max(every.values(), key=attrgetter("distance"))
        if metric not in every:
            raise InputError(
                f"{metric!r} is not estimated by campaign {self.name!r}",
                details=f"metrics: {', '.join(every)}",
                hint=did_you_mean(metric, list(every)),
            )
        return every[metric]

    def estimates(self) -> Estimates:
        """Compute the current estimates of all requested metrics, by name."""
        return estimates_of(self.desk.current())

    def strata(self) -> list[StratumRow]:
        """One row per stratum: its definition, its size, and its labels so far."""
        return strata_in(self.desk.current())

    def slices(
        self,
        column: str,
        *,
        metric: str | None = None,
        predictions: object = None,
        simultaneous: bool = False,
    ) -> Slices:
        """Metric in every slice of the items, from the labels so far.

        Parameters
        ----------
        column : str
            Column whose values are the slices: one of `slices` or `show` of the new campaign, or
            any column of predictions that can be read again.
        metric : str, optional
            One of the campaign's metrics. Default: the first that is not a difference.
        predictions : optional
            Where to look up the items, as in `load_campaign`.
        simultaneous : bool
            Whether the confidence is that all intervals are right at once (Bonferroni), instead of
            each.

        Examples
        --------
        >>> import assay
        >>> pages = {"p": [0.9, 0.8, 0.7, 0.6], "lang": ["de", "en", "en", None]}
        >>> campaign = assay.create_campaign(
        ...     pages, score="p", threshold=0.5, slices=["lang"], budget=3)
        >>> estimate = campaign.tell({item.id: item.id != 2 for item in campaign.ask(3)})
        >>> slices = campaign.slices("lang")
        >>> round(slices["en"].value, 3), slices["en"].verdict, list(slices)
        (0.667, 'too few labels: 2 of 30 labels', ['en', '(missing)'])
        """
        from assay.labelling import slices_of

        return slices_of(
            self.desk.current(),
            column,
            metric=metric,
            predictions=predictions,
            simultaneous=simultaneous,
        )

    def errors(
        self,
        *,
        kind: str | None = None,
        where: Mapping[str, object] | None = None,
        classifier: str | None = None,
        predictions: object = None,
    ) -> Mistakes:
        """Judged items with a wrong prediction, the most confident first.

        For the campaign's owner: knowing the predictions biases a reviewer.

        Parameters
        ----------
        kind : {"fp", "fn"}, optional
            Only false positives, or only false negatives. With more classes: a class's name, for
            items of this class, and for those predicted to be of it.
        where : mapping of str to object, optional
            Only these slices: ``{"lang": "de"}``; columns as in `slices`.
        classifier : str, optional
            Which classifier, if there are several.
        predictions : optional
            Where to look up scores and slices that were not kept with the items, as in
            `load_campaign`.

        Examples
        --------
        >>> import assay
        >>> campaign = assay.create_campaign(
        ...     {"p": [0.9, 0.8, 0.7, 0.2], "text": ["ab", "cd", "ef", "gh"]},
        ...     score="p", threshold=0.5, show=["text"], metric="accuracy", budget=4)
        >>> estimate = campaign.tell({item.id: item.id in (1, 3) for item in campaign.ask(4)})
        >>> errors = campaign.errors()
        >>> print(errors.headline)
        2 false positives and 1 false negative among 4 judged items
        >>> [(each.id, each.kind, each.score, each.shown["text"]) for each in errors][:2]
        [(0, 'false positive', 0.9, 'ab'), (3, 'false negative', 0.2, 'gh')]
        """
        from assay.labelling import mistakes_of

        return mistakes_of(
            self.desk.current(),
            kind=kind,
            where=where,
            classifier=classifier,
            predictions=predictions,
        )

    def confusion(self, classifier: str | None = None) -> ConfusionMatrix:
        """Confusion matrix of a campaign with more than two classes.

        Parameters
        ----------
        classifier : str, optional
            Which classifier, if there are several.

        Examples
        --------
        >>> import assay
        >>> topic, truth = ["a", "a", "b", "c", "c"], ["a", "b", "b", "c", "a"]
        >>> campaign = assay.create_campaign({"topic": topic}, predicted="topic", budget=5)
        >>> _ = campaign.tell({item.id: truth[item.id] for item in campaign.ask(5)})
        >>> campaign.confusion().cell("a", "b").items
        1.0
        """
        from assay.labelling import confusion_of

        return confusion_of(self.desk.current(), classifier)

    def by_class(
        self, classifier: str | None = None, *, classes: Sequence[str] | None = None
    ) -> ClassTable:
        """Precision, recall and F1 of each class, in a campaign with more than two.

        Parameters
        ----------
        classifier : str, optional
            Which classifier, if there are several.
        classes : sequence of str, optional
            Which classes. Default: all, or of more than sixty those with the most labels.

        Examples
        --------
        >>> import assay
        >>> topic, truth = ["a", "a", "b", "c", "c"], ["a", "b", "b", "c", "a"]
        >>> campaign = assay.create_campaign({"topic": topic}, predicted="topic", budget=5)
        >>> _ = campaign.tell({item.id: truth[item.id] for item in campaign.ask(5)})
        >>> campaign.by_class()["b"].recall
        0.5
        """
        from assay.labelling import class_table_of

        return class_table_of(self.desk.current(), classifier, classes)

    def curve(self, *, predictions: object = None) -> ThresholdCurve:
        """Precision, recall and others at every threshold of the score, with intervals.

        Uses the labels so far. A campaign for accuracy or F1, with labels on both sides of the
        threshold, supports the whole curve. One for precision supports precision from its threshold
        on.

        Parameters
        ----------
        predictions : optional
            Location of the predictions, as in `load_campaign`: the scores of all items are counted
            again.

        Examples
        --------
        >>> import assay
        >>> campaign = assay.create_campaign(
        ...     {"p": [0.9, 0.8, 0.7, 0.2]}, score="p", threshold=0.5, metric="accuracy", budget=4)
        >>> estimate = campaign.tell({item.id: item.id in (0, 2) for item in campaign.ask(4)})
        >>> curve = campaign.curve()
        >>> curve.at(0.75).metrics["recall"].value
        0.5
        >>> print(curve.areas["roc_auc"])
        0.7500 [0.7500, 0.7500]
        """
        from assay.labelling import threshold_curve

        return threshold_curve(self.desk.current(), predictions=predictions)

    def judge(
        self,
        column: str,
        *,
        at: float | None = None,
        positive: object = None,
        by: str | None = None,
        predictions: object = None,
    ) -> JudgeQuality:
        """Quality of a judge whose verdicts are in a column, from the labels so far.

        Sensitivity, specificity, agreement and Cohen's kappa, with people's answers as the truth,
        and the difference between metrics by its verdicts and by people's answers.

        Parameters
        ----------
        column : str
            A column of `aux`, or any column as in `slices`: true and false, yes and no, or numbers.
            Items without a value are left out.
        at : float, optional
            Number from which on the verdict is yes.
        positive : optional
            The value that means yes, such as ``"pass"``; all others mean no.
        by : str, optional
            Column of slices, to repeat all figures in each.
        predictions : optional
            Where to look up the items, as in `load_campaign`.

        Examples
        --------
        >>> import assay
        >>> pages = {"p": [0.9, 0.8, 0.3, 0.2], "judge": [0.7, 0.9, 0.6, 0.1]}
        >>> campaign = assay.create_campaign(
        ...     pages, score="p", threshold=0.5, aux=["judge"], metric="accuracy", budget=4)
        >>> estimate = campaign.tell({item.id: item.id < 2 for item in campaign.ask(4)})
        >>> quality = campaign.judge("judge", at=0.5)
        >>> quality.sensitivity.value, quality.specificity.value, quality.kappa.value
        (1.0, 0.5, 0.5)
        >>> print(quality.gaps[0])
        accuracy: the judge says 0.750, people say 1.000; -0.250 [-0.250, -0.250], the judge is
        too strict
        """
        from assay.labelling import judge_of

        return judge_of(
            self.desk.current(), column, at=at, positive=positive, by=by, predictions=predictions
        )

    def judges(self) -> tuple[JudgeQuality, ...]:
        """Quality of every judge among the columns of `aux`, from the labels so far.

        Only judges that say yes or no and whose verdicts are kept with the items: nothing is read.
        `judge` takes any column.
        """
        from assay.labelling import judges_of

        return judges_of(self.desk.current())

    def unjudged(self, n: int, *, column: str | None = None) -> list[Item]:
        """Items without a judge's verdict, to have a random part of all items judged.

        They are the first in an order of their own, independent of the labels' order: a random part
        of the items that the metric is about. Items with a verdict in the column are passed over,
        so the next ones follow once the verdicts are in. They show what reviewers see.

        Parameters
        ----------
        n : int
        column : str, optional
            A column of `aux`, with the verdicts so far. Default: its only one, or none yet.

        Examples
        --------
        >>> import assay
        >>> pages = {"p": [0.9, 0.8, 0.7, 0.6], "judge": [1, None, 0, None]}
        >>> campaign = assay.create_campaign(
        ...     pages, score="p", threshold=0.5, aux=["judge"], budget=4)
        >>> sorted(item.id for item in campaign.unjudged(10))
        [1, 3]
        """
        from assay.campaign.unjudged import unjudged_in

        return unjudged_in(self.desk.current(), n, column)

    def report(self, *, names: bool = False, curve: bool = False) -> Report:
        """Full report of the current state: HTML, Markdown and JSON.

        Parameters
        ----------
        names : bool
            Name the reviewers. Otherwise they are numbered, in the order of their first labels.
        curve : bool
            Include the curve of the score, for which all scores are counted again.

        Examples
        --------
        >>> import assay, tempfile
        >>> campaign = assay.create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     campaign.report().save(f"{folder}/report.html")
        """
        from assay.report import report_of

        threshold_curve = self.curve() if curve else None
        series, trend = self.settings.series, None
        if series is not None and series.number > 0:
            from assay.campaign.trends import trend_in

            trend = trend_in(self.desk.store, series.name, type(self)).document()
        return report_of(self.desk.labelling, names=names, curve=threshold_curve, trend=trend)

    def bundle(
        self,
        path: str | PathLike[str],
        *,
        names: bool = False,
        shown: bool = False,
        comments: bool = False,
    ) -> Bundle:
        """Write the basis of all estimates into one zip, which any machine can check.

        The same state gives the same bytes. `assay.verify_bundle` and ``assay verify audit.zip``
        rebuild the campaign from the bundle alone, and compare every figure.

        Parameters
        ----------
        path : path
            Name of the zip, ending in ``.zip``; an existing file is replaced.
        names : bool
            Keep the reviewers' names. Otherwise they are numbered, in the order of their first
            labels.
        shown : bool
            Keep the columns that reviewers saw. The items' ids are always included.
        comments : bool
            Keep the reviewers' comments, which may reveal who they are and what they saw.
        """
        from assay.audit import write_bundle

        keep = {"names": names, "shown": shown, "comments": comments}
        return write_bundle(self.desk.labelling, path, **keep)

    def __str__(self) -> str:
        """Name, a one-sentence summary, and every metric."""
        estimates = self.estimates()
        return "\n".join([self.name, plain_words(estimates), str(estimates)])

    def __repr__(self) -> str:
        return f"<Campaign {self.name!r}: {str(self.estimate()).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        from assay.report import curve_of, figure_of

        estimates = self.estimates()
        blocks: list[Block] = [
            Headline(self.name, self.settings.question),
            Paragraph(plain_words(estimates)),
            Paragraph(self.outlook().text),
            *estimates.document().blocks,
        ]
        name, farthest = max(estimates.items(), key=lambda each: each[1].distance)
        past = history_in(self.desk.labelling, unfinished=_LOOKS).get(name, ())
        if curve := curve_of(farthest, past, at_least=self.settings.goal.at_least):
            blocks.append(figure_of(curve, farthest))
        return notebook_of(Document(self.name, tuple(blocks)))
