"""Settings: all that is fixed when a campaign is created, as the store keeps it."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from hashlib import blake2b, sha256
from numbers import Real
from typing import Annotated, Any, Literal, Self

from assay.core.answers import Answer, answers_to, parse_answer
from assay.core.cuts import Variable
from assay.core.deck import NUMBERS, Id, number
from assay.core.design import Design
from assay.core.evaluation import Evaluation, Prior
from assay.core.goal import Goal
from assay.core.label_sets import vocabulary_from
from assay.core.ranking import deepest
from assay.core.strata import Strata
from assay.core.types import between
from assay.core.vocabulary import Vocabulary
from assay.errors import DesignError, InputError, LabelError, StorageError, counted
from assay.labelling.review_rule import Words, words_of
from assay.labelling.rounds import Rounds
from assay.labelling.source import Source
from assay.options import CliOption
from assay.results import Forecast
from assay.storage import CardRow, Session, reading_stored

MOST_REVIEWERS = 20  # of one item
_LONGEST_QUESTION = 10_000
_LONGEST_ANSWER = 40


@dataclass(frozen=True)
class Before:
    """Campaign whose labels another one uses: the one it replaced, or another beside it."""

    campaign: str  # its current name
    judged: int  # number of items that had been judged
    # Number of these that the metric is no longer about: they are not among the predictions, or are
    # predicted otherwise. Their labels stay in the log.
    gone: int
    # More campaigns whose labels it uses; items may have been judged in several.
    others: tuple[str, ...] = ()
    # Number of labels taken from each, if they may have got more since.
    labels: tuple[int, ...] | None = None

    @property
    def campaigns(self) -> tuple[str, ...]:
        """All campaigns whose labels it uses."""
        return (self.campaign, *self.others)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild from the values of `dataclasses.asdict`; JSON has no tuples."""
        listed = {name: tuple(each) for name, each in values.items() if isinstance(each, list)}
        return cls(**{**values, **listed})


_judging = partial(CliOption, panel="Reviewing")
_QUESTION = "Question that reviewers answer for every item."
_PER_ITEM = "Number of reviewers for each item of the share."
_SHARE = "Share of items, drawn at random, that K reviewers label."


@dataclass(frozen=True)
class Reviewing:
    """How people judge."""

    question: Annotated[
        str | None, _judging("Question that reviewers answer for every item.", "TEXT")
    ] = None
    per_item: Annotated[int, _judging(_PER_ITEM, "K", int, keyword="reviewers_per_item")] = 1
    share: Annotated[float, _judging(_SHARE, "SHARE", float, keyword="overlap")] = 0.0
    # The storage keeps yes and no.
    answers: Annotated[
        tuple[str, str] | None, _judging('Names of yes and no: "Spam,Not spam".', "YES,NO")
    ] = None

    def __post_init__(self) -> None:
        """Raise if a setting is invalid."""
        if self.question is not None and not str(self.question).strip():
            raise DesignError(f"the question must not be empty, got {self.question!r}")
        if self.question is not None and len(str(self.question)) > _LONGEST_QUESTION:
            raise DesignError(
                f"the question has {len(str(self.question)):,} characters",
                details=f"at most {_LONGEST_QUESTION:,}; more fits into guidelines",
            )
        whole = isinstance(self.per_item, int) and not isinstance(self.per_item, bool)
        if not whole or not 1 <= self.per_item <= MOST_REVIEWERS:
            raise DesignError(
                f"{self.per_item!r} reviewers an item",
                details=f"a whole number from 1 to {MOST_REVIEWERS}",
            )
        real = isinstance(self.share, Real) and not isinstance(self.share, bool)
        if not real or not 0 <= self.share <= 1:
            raise DesignError(
                f"{self.share!r} of all items for several reviewers",
                details="a share from 0 (none) to 1 (all)",
            )
        if (self.per_item > 1) != (self.share > 0):
            raise DesignError(
                f"{counted(self.per_item, 'reviewer')} on a share of {self.share:g} of the items",
                details="several reviewers per item need a share above 0, and a share needs "
                "several reviewers",
                hint="for two reviewers on a tenth of the items: reviewers_per_item=2, overlap=0.1",
            )
        if self.answers is not None:
            object.__setattr__(self, "answers", _answers_called(self.answers))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; custom words for the answers are left out if there are none."""
        return {name: value for name, value in asdict(self).items() if name != "answers" or value}


def _answers_called(given: object) -> tuple[str, str]:
    """Words for yes and no; raise if a reviewer could confuse them."""
    problem, words = "", [*given] if isinstance(given, tuple | list) else []
    if len(words) != 2 or not all(isinstance(word, str) for word in words):
        problem = f"{given!r} are not the names of two answers"
    else:
        words = [" ".join(word.split()) for word in words]
        for word, other in zip(words, ("no", "yes"), strict=True):
            if not word or len(word) > _LONGEST_ANSWER or not word.isprintable():
                problem = f"{word!r} cannot be the name of an answer"
            elif _meaning(word) not in (None, "no" if other == "yes" else "yes"):
                problem = f"{word!r} would stand for {'yes' if other == 'no' else 'no'}"
        if not problem and words[0].casefold() == words[1].casefold():
            problem = f"both answers are called {words[0]!r}"
    if problem:
        raise DesignError(
            problem,
            details=f"two different names of 1 to {_LONGEST_ANSWER} characters: first yes, then "
            "no; 'cannot judge' and 'broken' are always available",
            hint="as in answers=('Spam', 'Not spam')",
        )
    return words[0], words[1]


def _meaning(word: str) -> str | None:
    """Answer that a word already stands for; None if it is free."""
    if word.casefold() in ("skip", "withdrawn", "undo"):
        return word
    try:
        return parse_answer(word).value
    except LabelError:
        return None


@dataclass(frozen=True)
class Series:
    """Series that a campaign is a period of."""

    name: str  # name of the series
    period: str  # name of the period; the classifier's metrics of that period have it
    number: int  # number of earlier periods
    metric: str  # followed metric; of several, the first
    floor: float | None = None  # lower limit of that metric
    change_within: float | None = None  # requested half-width of a change
    budget: int | None = None  # answers allowed in a period
    more: tuple[str, ...] = ()  # the other metrics that are followed

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics that are followed."""
        return (self.metric, *self.more)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; further metrics are left out if there are none."""
        return {name: value for name, value in asdict(self).items() if name != "more" or value}

    def __post_init__(self) -> None:
        """Raise if no metric can be below the floor."""
        object.__setattr__(self, "more", tuple(self.more))  # JSON has no tuples
        if self.floor is not None:
            between("floor", self.floor, 0.0, 1.0, hint="0.9 means 90%")
        if self.change_within is not None:
            between("change_within", self.change_within, 0.0, 0.5, hint="0.02 means ±2 points")


# Epochs of a guaranteed campaign: the times before its strata were cut anew, with their draws.
#
# If a campaign bets, wealth is carried over a recut of the strata, card by card. So the bets of all
# epochs must be recomputed from the store, also if an answer was revised since. The cards of an
# epoch are therefore kept with the settings of the next one, so that a campaign can be rebuilt from
# its own rows, in a bundle, too.
#
# After a recut, judged items lie on top of the new decks, as a round that nobody bets on. The
# others get an order of their own. Given the draws so far they would not lie at random in the old
# one, because the rest of a stratum that was drawn from often has larger numbers.


@dataclass(frozen=True)
class Dealt:
    """Card of an epoch: its stratum then, its prediction, and its item."""

    stratum: int
    predicted: int
    item_id: str


@dataclass(frozen=True)
class Epoch:
    """Finished epoch of a campaign, with its strata and rounds."""

    strata: Strata  # as they were then
    # Cards of each round, in the order in which they were bet on. From the second epoch on the
    # first round holds the items that were judged before.
    rounds: tuple[tuple[Dealt, ...], ...]
    judged: int  # number of items judged at its end

    def to_dict(self) -> dict[str, Any]:
        """Epoch as plain values."""
        rounds = [[[c.stratum, c.predicted, c.item_id] for c in cards] for cards in self.rounds]
        return {"strata": self.strata.to_dict(), "rounds": rounds, "judged": self.judged}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild from the values of `to_dict`."""
        rounds = (
            tuple(Dealt(int(h), int(predicted), str(item)) for h, predicted, item in cards)
            for cards in values["rounds"]
        )
        return cls(Strata.from_dict(values["strata"]), tuple(rounds), int(values["judged"]))


def epoch_seed(seed: int, epochs: Sequence[Epoch]) -> int:
    """Seed of the draws of a new epoch: its own, and fixed before the first label.

    The number of judged items is part of it, because it grows: after a rebase, which begins again,
    no order is repeated.

    >>> epoch_seed(7, [])
    7
    """
    if not epochs:
        return seed
    text = f"assay-epoch-1:{seed}:{len(epochs)}:{epochs[-1].judged}".encode("ascii")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") % 2**63


def rounds_after(
    epochs: Sequence[Epoch],  # oldest first
    # design, goal: of all epochs.
    design: Design,
    goal: Goal,
    evaluation: Evaluation,  # of the current strata
    elsewhere: Callable[[], int] | None = None,
) -> Rounds:
    """Restore the rounds of a campaign that goes on after epochs, without its own."""
    former: Rounds | None = None
    for epoch in epochs:
        former = Rounds(Evaluation(design, goal, epoch.strata), former=former, goes_on=True)
        for cards in epoch.rounds:
            former.deal([CardRow(c.stratum, 0, c.item_id, c.predicted, "{}") for c in cards])
    return Rounds(evaluation, elsewhere, former)


@dataclass(frozen=True)
class Settings:
    """Fixed part of a campaign, for one metric or several targets.

    `epochs`: those of a guaranteed campaign before its strata were cut anew; `classes`: possible
    classes of an item; older campaigns have yes and no; `forecast`: made before the first answer.
    """

    name: str
    design: Design
    goal: Goal
    strata: Strata
    seed: int
    source: Source
    before: Before | None = None
    reviewing: Reviewing = Reviewing()
    series: Series | None = None
    prior: Prior | None = None
    epochs: tuple[Epoch, ...] = ()
    classes: Vocabulary = field(default_factory=Vocabulary)
    forecast: Forecast | None = None

    def __post_init__(self) -> None:
        """Raise if names of yes and no are given beside classes."""
        if self.reviewing.answers is not None and not self.is_binary:
            raise DesignError(
                "names of yes and no beside classes",
                details=f"people choose one of {len(self.classes):,} classes, by its name",
                hint="leave out answers; in classes, each has its name and guideline",
            )

    @property
    def is_binary(self) -> bool:
        """Whether the question is answered with yes or no."""
        return self.classes.is_yes_or_no

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """Possible answers, in the order in which people see them."""
        return answers_to(self.classes)

    @cached_property
    def words(self) -> Mapping[str, None]:
        """Words of a label in order: the answers, skip and withdrawn."""
        return Words(self.classes, words_of(self.classes))

    @cached_property
    def answer_words(self) -> Mapping[str, None]:
        """Words of an answer: `answers` and, with several classes, every set of them."""
        return Words(self.classes, self.answers)

    def evaluation(self) -> Evaluation:
        """Set up the evaluation with these settings, before the first answer."""
        return Evaluation(self.design, self.goal, self.strata, self.prior, self.draw_seed)

    def rounds(
        self, evaluation: Evaluation | None = None, elsewhere: Callable[[], int] | None = None
    ) -> Rounds:
        """Restore the rounds of a campaign with these settings, before the first of its own."""
        now = self.evaluation() if evaluation is None else evaluation
        return rounds_after(self.epochs, self.design, self.goal, now, elsewhere)

    @property
    def draw_seed(self) -> int:
        """Seed of the draws: of the order within strata, and of the number from each."""
        return epoch_seed(self.seed, self.epochs)

    @property
    def commitment(self) -> str:
        """SHA-256 of all that fixes the draws: predictions, goal, design, strata, seed.

        Whoever publishes it before the first label cannot secretly try another seed. The name is
        not included: a rebase changes it, but no draw.
        """
        fixed = {
            "commitment": 1,
            "predictions": self.source.fingerprint,
            "goal": self.goal.to_dict(),
            "design": self.design.to_dict(),
            "strata": self.strata.to_dict(),
            "seed": self.seed,
        }
        return sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()

    @property
    def ranked(self) -> int:
        """Number of an item's most probable classes kept with it, for top-k accuracy."""
        return 0 if self.goal.single else deepest(self.goal.targets)

    @property
    def id_kind(self) -> Literal["integer", "string"]:
        """Whether the items' ids are integers or strings."""
        return self.source.id_kind

    @property
    def items(self) -> int:
        """Number of items; an item in both of two sets of predictions counts once."""
        counted = None if self.strata.weighted else self.strata.items
        return self.source.rows if counted is None else counted

    @property
    def variable(self) -> Variable:
        """Stratification variable."""
        return self.design.variable if self.goal.single else "rank"

    @property
    def strata_words(self) -> list[str]:
        """Descriptions of the strata."""
        return self.strata.describe(None if self.source.model is None else "log odds")

    @property
    def notes(self) -> tuple[str, ...]:
        """Cautions about the scores and the strata, shown before and beside any estimate."""
        return (*self.source.doubts, *self.strata.notes)

    @property
    def question(self) -> str:
        """Question that reviewers answer about every item."""
        if self.reviewing.question:
            return self.reviewing.question
        positive = self.source.positive if self.is_binary else None
        return self.classes.question if positive is None else f"Is it {positive}?"

    def called(self, answer: str) -> str:
        """Name of an answer for people."""
        if not self.is_binary:
            return ", ".join(self.classes.parted(answer)) or answer
        words = self.reviewing.answers or ("yes", "no")
        return {"yes": words[0], "no": words[1]}.get(answer, answer)

    def reviewers_wanted(self, item_id: str) -> int:
        """Find how many reviewers an item is for.

        Items for several reviewers are drawn by their permanent numbers under a separate key,
        independent of the strata, the order and the answers.
        """
        if self.reviewing.share <= 0:
            return 1
        drawn = number(self.item_id(item_id), self.seed ^ 2)
        return self.reviewing.per_item if drawn < self.reviewing.share * NUMBERS else 1

    def item_id(self, text: str) -> Id:
        """Id as in the predictions, from the stored text."""
        return int(text) if self.id_kind == "integer" else text

    def to_dict(self) -> dict[str, Any]:
        """Convert the settings to plain values."""
        return {
            "name": self.name,
            "design": self.design.to_dict(),
            "goal": self.goal.to_dict(),
            "strata": self.strata.to_dict(),
            "seed": self.seed,
            "source": self.source.to_dict(),
            "before": None if self.before is None else asdict(self.before),
            "reviewing": self.reviewing.to_dict(),
            **({} if self.series is None else {"series": self.series.to_dict()}),
            **({} if self.prior is None else {"prior": asdict(self.prior)}),
            **({"epochs": [each.to_dict() for each in self.epochs]} if self.epochs else {}),
            **({} if self.classes == Vocabulary() else {"classes": self.classes.to_dict()}),
            **({} if self.forecast is None else {"forecast": asdict(self.forecast)}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild from the values of `to_dict`."""
        goal, strata, before = values["goal"], values["strata"], values.get("before")
        series, prior = values.get("series"), values.get("prior")
        forecast = values.get("forecast")
        return cls(
            name=values["name"],
            design=Design.from_dict(values["design"]),
            goal=Goal.from_dict(goal),
            strata=Strata.from_dict(strata),
            seed=values["seed"],
            source=Source.from_dict(values["source"]),
            before=None if before is None else Before.from_dict(before),
            reviewing=Reviewing(**values.get("reviewing", {})),
            series=None if series is None else Series(**series),
            prior=None if prior is None else Prior(*map(tuple, prior.values())),
            epochs=tuple(map(Epoch.from_dict, values.get("epochs", ()))),
            classes=vocabulary_from(values.get("classes")),
            forecast=None if forecast is None else Forecast(**forecast),
        )


def find_campaign(session: Session, name: str) -> tuple[int, Settings]:
    """Find the number and settings of a stored campaign, under its current name."""
    with reading_stored(f"the settings of campaign {name!r}"):
        key, values = session.find(name)
        try:
            return key, Settings.from_dict({**values, "name": name})
        except InputError as error:  # not given by anybody: it was stored
            raise ValueError(error.problem) from error


def listed_names(session: Session) -> list[str]:
    """Names of campaigns for people to choose from.

    Without those whose strata were cut anew since: their replacements have all their labels.
    """
    replaced = set()
    for name in session.names(mentioning='"model"'):  # few: to parse all takes long
        with suppress(StorageError):  # the caller reports those that cannot be read
            settings = find_campaign(session, name)[1]
            if settings.source.model is not None and settings.before is not None:
                replaced.add(settings.before.campaign)
    return [name for name in session.names() if name not in replaced]
