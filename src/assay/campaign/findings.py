"""Findings: what a campaign knows. Estimates, slices, curves, errors, reports; nothing is changed.

What only some methods need is imported in them: whoever asks how a campaign stands should not wait
for what draws reports, cuts strata or reads predictions.
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
    """The half of a `Campaign` that reads.

    Every method first takes in what other processes have added to the storage.
    """

    desk: Desk

    @property
    def name(self) -> str:
        """The name it is stored under."""
        return self.desk.name

    @property
    def settings(self) -> Settings:
        """All that was fixed when the campaign was made."""
        return self.desk.settings

    @property
    def done(self) -> bool:
        """Whether no more labels are needed."""
        return self.desk.current().rounds.reason is not Reason.GO_ON

    def outlook(self) -> Outlook:
        """Return how many more answers the goal is likely to take, and how that is known.

        Examples
        --------
        >>> import assay
        >>> campaign = assay.create_campaign(
        ...     {"p": [0.9, 0.8, 0.7]}, score="p", threshold=0.5, budget=2)
        >>> campaign.outlook()
        Outlook(answers=2, words='to the end of the budget')
        """
        estimates, rounds = self.estimates(), self.desk.labelling.rounds
        return outlook_of(
            estimates,
            answers=len(rounds.answers) + rounds.state.elsewhere,
            items=int(self.settings.strata.sizes.sum()),
            budget=self.settings.goal.budget,
            of_sample=max(each.of_sample for each in rounds.standings),
        )

    def savings(self) -> Savings | None:
        """Return what second opinions save in labels; None where strata are by the score.

        Also where fewer than 50 judged items are known, or the scores were not kept with them.
        """
        from assay.labelling import savings_of

        return savings_of(self.desk.current())

    def threshold(self) -> ThresholdAnswer:
        """Return what is known of the threshold that was asked for, with `threshold_for`.

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
        >>> found = campaign.threshold()
        >>> found.certified, bool(spam[p >= found.threshold].mean() >= 0.8)
        (True, True)
        """
        from assay.labelling import threshold_of

        found = threshold_of(self.desk.current())
        if found is None:
            raise DesignError(
                f"campaign {self.name!r} was not made for a threshold",
                hint="make one with threshold_for='precision >= 0.95', or see Campaign.curve()",
            )
        return found

    def estimate(self, metric: str | None = None) -> Estimate:
        """Return what is known now of a metric.

        Of several, and none named, it is the one that is farthest from its goal; `estimates` has
        all of them.
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
        """Return what is known now of every metric that was asked for, by its name."""
        return estimates_of(self.desk.current())

    def strata(self) -> list[StratumRow]:
        """Return one row a stratum: what it is, its size, and its labels so far."""
        return strata_in(self.desk.current())

    def slices(
        self,
        column: str,
        *,
        metric: str | None = None,
        predictions: object = None,
        simultaneous: bool = False,
    ) -> Slices:
        """Return a metric in every slice of the items, from the labels that are there.

        Parameters
        ----------
        column : str
            The column whose values are the slices: named with `slices` or `show` when the campaign
            was made, or any column of predictions that can be read again.
        metric : str, optional
            One that the campaign estimates; otherwise the first that is no difference.
        predictions : optional
            Where to look the items up, as in `load_campaign`.
        simultaneous : bool
            The confidence is that all intervals are right at once (Bonferroni), not each.

        Examples
        --------
        >>> import assay
        >>> pages = {"p": [0.9, 0.8, 0.7, 0.6], "lang": ["de", "en", "en", None]}
        >>> campaign = assay.create_campaign(
        ...     pages, score="p", threshold=0.5, slices=["lang"], budget=3)
        >>> estimate = campaign.tell({item.id: item.id != 2 for item in campaign.ask(3)})
        >>> slices = campaign.slices("lang")
        >>> round(slices["en"].value, 3), slices["en"].verdict, list(slices)
        (0.667, 'too few to say: 2 of 30 labels', ['en', '(missing)'])
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
        """Return the judged items of which a classifier said otherwise than people did.

        Those come first of which it was most sure. It is for the campaign's owner: who knows what
        the classifier said judges otherwise.

        Parameters
        ----------
        kind : {"fp", "fn"}, optional
            False positives alone, or false negatives alone. Of more classes: the name of one, for
            items of this class, and for those that were predicted to be.
        where : mapping of str to object, optional
            Slices to look into: ``{"lang": "de"}``; columns as in `slices`.
        classifier : str, optional
            Of several, which.
        predictions : optional
            Where to look scores and slices up that were not kept with the items, as in
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
        """Return what the items that are called each class are, where there are more than two.

        Parameters
        ----------
        classifier : str, optional
            Whose matrix, where there are several.

        Examples
        --------
        >>> import assay
        >>> said, truth = ["a", "a", "b", "c", "c"], ["a", "b", "b", "c", "a"]
        >>> campaign = assay.create_campaign({"said": said}, predicted="said", budget=5)
        >>> _ = campaign.tell({item.id: truth[item.id] for item in campaign.ask(5)})
        >>> campaign.confusion().cell("a", "b").items
        1.0
        """
        from assay.labelling import confusion_of

        return confusion_of(self.desk.current(), classifier)

    def by_class(
        self, classifier: str | None = None, *, classes: Sequence[str] | None = None
    ) -> ClassTable:
        """Return precision, recall and F1 of each class, where there are more than two.

        Parameters
        ----------
        classifier : str, optional
            Whose predictions, where there are several.
        classes : sequence of str, optional
            Which classes; otherwise all, and of more than sixty those with the most labels.

        Examples
        --------
        >>> import assay
        >>> said, truth = ["a", "a", "b", "c", "c"], ["a", "b", "b", "c", "a"]
        >>> campaign = assay.create_campaign({"said": said}, predicted="said", budget=5)
        >>> _ = campaign.tell({item.id: truth[item.id] for item in campaign.ask(5)})
        >>> campaign.by_class()["b"].recall
        0.5
        """
        from assay.labelling import class_table_of

        return class_table_of(self.desk.current(), classifier, classes)

    def curve(self, *, predictions: object = None) -> ThresholdCurve:
        """Return precision, recall and others at every threshold of the score, with intervals.

        From the labels that are there. A campaign for accuracy or F1, whose labels lie on both
        sides of the threshold, tells all of it; one for precision tells precision from its
        threshold on.

        Parameters
        ----------
        predictions : optional
            Where the predictions are, as in `load_campaign`: the scores of all items are counted
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
        by: str | None = None,
        predictions: object = None,
    ) -> JudgeQuality:
        """Return how good a judge is whose verdicts are in a column, from the labels so far.

        Its sensitivity, specificity, agreement and Cohen's kappa, with people's answers as the
        truth, and how far metrics by its verdicts are from those by people's answers.

        Parameters
        ----------
        column : str
            Of `aux`, or any column as in `slices`: true and false, yes and no, or numbers. Items
            without a value are left out.
        at : float, optional
            The number from which on the verdict is yes.
        by : str, optional
            A column of slices, to have all of it in each.
        predictions : optional
            Where to look the items up, as in `load_campaign`.

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
        accuracy: the judge says 0.750, people say 1.000; -0.250 [-0.250, -0.250], the judge is too
        hard on it
        """
        from assay.labelling import judge_of

        return judge_of(self.desk.current(), column, at=at, by=by, predictions=predictions)

    def judges(self) -> tuple[JudgeQuality, ...]:
        """Return how good every judge is among the columns of `aux`, from the labels so far.

        Of those that say yes or no, and whose verdicts are kept with the items: nothing is read.
        `judge` tells it of any column.
        """
        from assay.labelling import judges_of

        return judges_of(self.desk.current())

    def unjudged(self, n: int, *, column: str | None = None) -> list[Item]:
        """Return items that a judge was not asked about yet, to have a part of all items judged.

        They are the first in an order of their own, which has nothing to do with that of the
        labels: a random part of the items that the metric is about. Those that have a verdict in
        the column are passed over, so that the next ones come when the verdicts are there. What
        they show is what reviewers see.

        Parameters
        ----------
        n : int
        column : str, optional
            Of `aux`, with the verdicts so far. When left out: its only one, or none yet.

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
        """Return all that a careful reader wants to know, as of now: HTML, Markdown and JSON.

        Parameters
        ----------
        names : bool
            Call the reviewers by their names. Otherwise they are numbered, in the order of their
            first labels.
        curve : bool
            With the curve of the score, for which all scores are counted again.

        Examples
        --------
        >>> import assay, tempfile
        >>> campaign = assay.create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     campaign.report().save(f"{folder}/report.html")
        """
        from assay.report import report_of

        found = self.curve() if curve else None
        return report_of(self.desk.labelling, names=names, curve=found)

    def bundle(
        self,
        path: str | PathLike[str],
        *,
        names: bool = False,
        shown: bool = False,
        comments: bool = False,
    ) -> Bundle:
        """Write all that the estimates rest on into one zip, which any machine can check.

        The same state gives the same bytes. `assay.verify_bundle` and ``assay verify audit.zip``
        put the campaign together again from the bundle alone, and compare every figure.

        Parameters
        ----------
        path : path
            Of the zip, whose name must end so; a file that is there is replaced.
        names : bool
            Keep the reviewers' names. Otherwise they are numbered, in the order of their first
            labels.
        shown : bool
            Keep what reviewers saw of the items. The items' ids are there in any case.
        comments : bool
            Keep what reviewers wrote beside their answers, which may tell who they are and what
            they saw.
        """
        from assay.audit import write_bundle

        keep = {"names": names, "shown": shown, "comments": comments}
        return write_bundle(self.desk.labelling, path, **keep)

    def __str__(self) -> str:
        """Return the name, what is known in a sentence, and every metric."""
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
