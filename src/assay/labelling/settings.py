"""Settings: all that is fixed when a campaign is made, as the store keeps it."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from hashlib import sha256
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from assay.core.answers import Answer, answers_to, parse_answer
from assay.core.cuts import Variable
from assay.core.deck import NUMBERS, Id, number
from assay.core.design import Design
from assay.core.evaluation import Evaluation, Prior
from assay.core.goal import Goal
from assay.core.ranking import deepest
from assay.core.strata import Strata
from assay.core.types import between
from assay.core.vocabulary import BETWEEN, YES_OR_NO, Vocabulary
from assay.errors import DesignError, InputError, LabelError, StorageError
from assay.labelling.epochs import Epoch, epoch_seed, rounds_after
from assay.labelling.review_rule import Words, words_of
from assay.labelling.rounds import Rounds
from assay.labelling.source import Source
from assay.options import Told
from assay.storage import Session, reading_stored

if TYPE_CHECKING:
    pass

MOST_REVIEWERS = 20  # of one item
_LONGEST_QUESTION = 10_000
_LONGEST_ANSWER = 40


@dataclass(frozen=True)
class Before:
    """The campaign whose labels another one goes on with: whose place it took, or beside which."""

    campaign: str  # its name since then
    judged: int  # the items that had been judged
    # How many of these the metric is no longer about: they are not among the predictions, or are
    # predicted otherwise. Their labels stay in the log.
    gone: int
    # More campaigns whose labels it goes on with; items may have been judged in several.
    others: tuple[str, ...] = ()
    # How many labels of each were taken, where they may have got more since.
    labels: tuple[int, ...] | None = None

    @property
    def campaigns(self) -> tuple[str, ...]:
        """All campaigns whose labels it goes on with."""
        return (self.campaign, *self.others)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return what `dataclasses.asdict` was called on; JSON has no tuples."""
        listed = {name: tuple(each) for name, each in values.items() if isinstance(each, list)}
        return cls(**{**values, **listed})


_judging = partial(Told, panel="Reviewing")
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
    share: Annotated[
        float,
        _judging(_SHARE, "SHARE", float, keyword="overlap"),
    ] = 0.0
    # What is stored stays yes and no.
    answers: Annotated[
        tuple[str, str] | None,
        _judging('Names of yes and no: "Spam,Not spam".', "YES,NO"),
    ] = None

    def __post_init__(self) -> None:
        """Refuse what cannot be done."""
        if self.question is not None and not str(self.question).strip():
            raise DesignError(f"a question must be a word or more, got {self.question!r}")
        if self.question is not None and len(str(self.question)) > _LONGEST_QUESTION:
            raise DesignError(
                f"a question of {len(str(self.question)):,} characters, which nobody reads",
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
                f"{self.per_item} reviewer(s) on a share of {self.share:g} of the items",
                details="several reviewers an item and a share above 0 go together",
                hint="for two reviewers on a tenth of the items: reviewers_per_item=2, overlap=0.1",
            )
        if self.answers is not None:
            object.__setattr__(self, "answers", _answers_called(self.answers))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; without words of its own it is what it was before."""
        return {name: value for name, value in asdict(self).items() if name != "answers" or value}


def _answers_called(given: object) -> tuple[str, str]:
    """Return what yes and no are called; raise where a reviewer could take one for another."""
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
            details=f"two different names of 1 to {_LONGEST_ANSWER} signs: of yes, then of no; "
            "'cannot judge' and 'broken' are there beside them",
            hint="as in answers=('Spam', 'Not spam')",
        )
    return words[0], words[1]


def _meaning(word: str) -> str | None:
    """Return the answer that a word stands for already; None where it is none."""
    if word.casefold() in ("skip", "withdrawn", "undo"):
        return word
    try:
        return parse_answer(word).value
    except LabelError:
        return None


@dataclass(frozen=True)
class Series:
    """The series that a campaign is a period of."""

    name: str  # what the series is called
    period: str  # what the period is called; the classifier's metrics of that period bear the name
    number: int  # how many periods came before
    metric: str  # what is followed; of several, the first
    floor: float | None = None  # what that metric must not be below
    change_within: float | None = None  # the half-width that is wanted of a change
    budget: int | None = None  # what people may be asked in a period
    more: tuple[str, ...] = ()  # the other metrics that are followed

    @property
    def metrics(self) -> tuple[str, ...]:
        """All that is followed."""
        return (self.metric, *self.more)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; of one metric as before there could be several."""
        return {name: value for name, value in asdict(self).items() if name != "more" or value}

    def __post_init__(self) -> None:
        """Refuse a floor that no metric can be below."""
        object.__setattr__(self, "more", tuple(self.more))  # JSON has no tuples
        if self.floor is not None:
            between("floor", self.floor, 0.0, 1.0, hint="0.9 means 90%")
        if self.change_within is not None:
            between("change_within", self.change_within, 0.0, 0.5, hint="0.02 means ±2 points")


@dataclass(frozen=True)
class Settings:
    """The frozen part of a campaign: of one metric, or of several targets at once.

    `epochs` are those of a guaranteed campaign from before its strata were cut anew. `classes` are
    what an item can be; campaigns of before are of yes and no.
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
    classes: Vocabulary = YES_OR_NO

    def __post_init__(self) -> None:
        """Refuse names of yes and no where there are neither."""
        if self.reviewing.answers is not None and not self.is_binary:
            raise DesignError(
                "names of yes and no beside classes",
                details=f"people choose one of {len(self.classes):,} classes, by its name",
                hint="leave out answers; in classes, each has its name and guideline",
            )

    @property
    def is_binary(self) -> bool:
        """Whether people are asked for a yes or a no."""
        return self.classes.is_yes_or_no

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answers that there are, in the order in which people are shown them."""
        return answers_to(self.classes)

    @cached_property
    def words(self) -> Mapping[str, None]:
        """All that a label can say: the answers, skip and withdrawn; in their order."""
        return Words(self.classes, words_of(self.classes))

    @cached_property
    def answer_words(self) -> Mapping[str, None]:
        """All that an answer can be: `answers` and, of several classes, every set of them."""
        return Words(self.classes, self.answers)

    def evaluation(self) -> Evaluation:
        """Return what a campaign with these settings runs, before its first answer."""
        return Evaluation(self.design, self.goal, self.strata, self.prior, self.draw_seed)

    def rounds(
        self, evaluation: Evaluation | None = None, elsewhere: Callable[[], int] | None = None
    ) -> Rounds:
        """Return the rounds of a campaign with these settings, before the first of its own."""
        now = self.evaluation() if evaluation is None else evaluation
        return rounds_after(self.epochs, self.design, self.goal, now, elsewhere)

    @property
    def draw_seed(self) -> int:
        """The seed of the draws: of the order within strata, and of how many come from each."""
        return epoch_seed(self.seed, self.epochs)

    @property
    def commitment(self) -> str:
        """The SHA-256 of all that fixes the draws: predictions, goal, design, strata, seed.

        Who has made it known before the first label cannot try another seed unseen. The name is no
        part of it: a rebase changes that, and no draw.
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
        """How many of an item's most probable classes are kept with it, for top-k accuracy."""
        return 0 if self.goal.single else deepest(self.goal.targets)

    @property
    def id_kind(self) -> Literal["integer", "string"]:
        """Whether the items' ids are integers or strings."""
        return self.source.id_kind

    @property
    def items(self) -> int:
        """The number of items; one that is in both of two sets of predictions counts once."""
        counted = None if self.strata.weighted else self.strata.items
        return self.source.rows if counted is None else counted

    @property
    def variable(self) -> Variable:
        """What the items are cut by."""
        return self.design.variable if self.goal.single else "rank"

    @property
    def strata_words(self) -> list[str]:
        """What each stratum is, for people."""
        return self.strata.describe(None if self.source.model is None else "log odds")

    @property
    def notes(self) -> tuple[str, ...]:
        """What one should know of the scores and the strata, before and beside any estimate."""
        return (*self.source.doubts, *self.strata.notes)

    @property
    def question(self) -> str:
        """What reviewers are asked of every item."""
        if self.reviewing.question:
            return self.reviewing.question
        if not self.is_binary:
            return (
                "Which classes does it have?" if self.classes.multilabel else "Which class is it?"
            )
        positive = self.source.positive
        return f"Is it {'positive' if positive is None else positive}?"

    def called(self, answer: str) -> str:
        """Return what an answer is called where people give it."""
        if not self.is_binary:
            return answer.replace(BETWEEN, ", ") if self.classes.multilabel else answer
        words = self.reviewing.answers or ("yes", "no")
        return {"yes": words[0], "no": words[1]}.get(answer, answer)

    def reviewers_wanted(self, item_id: str) -> int:
        """Return how many reviewers an item is for.

        Who gets more than one is drawn by the items' permanent numbers under a key of its own, so
        it has nothing to do with the strata, the order, or what is said.
        """
        if self.reviewing.share <= 0:
            return 1
        drawn = number(self.item_id(item_id), self.seed ^ 2)
        return self.reviewing.per_item if drawn < self.reviewing.share * NUMBERS else 1

    def item_id(self, text: str) -> Id:
        """Return an id as the predictions have it, from the text that is stored."""
        return int(text) if self.id_kind == "integer" else text

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
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
            **({} if self.classes == YES_OR_NO else {"classes": self.classes.to_dict()}),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the settings that `to_dict` was called on."""
        goal, strata, before = values["goal"], values["strata"], values.get("before")
        series, prior = values.get("series"), values.get("prior")
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
            classes=Vocabulary.from_dict(values.get("classes")),
        )


def find_campaign(session: Session, name: str) -> tuple[int, Settings]:
    """Return a stored campaign's number and its settings, under the name that it has now."""
    with reading_stored(f"the settings of campaign {name!r}"):
        key, values = session.find(name)
        try:
            return key, Settings.from_dict({**values, "name": name})
        except InputError as error:  # nobody has given it: it was stored
            raise ValueError(error.problem) from error


def listed_names(session: Session) -> list[str]:
    """Return the names of campaigns for people to choose from.

    Not of those whose strata were cut anew since: what took their place has all their labels.
    """
    names = session.names()
    replaced = set()
    for name in names:
        with suppress(StorageError):  # whoever lists them tells which cannot be read
            settings = find_campaign(session, name)[1]
            if settings.source.model is not None and settings.before is not None:
                replaced.add(settings.before.campaign)
    return [name for name in names if name not in replaced]
