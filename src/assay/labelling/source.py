"""Source: where predictions came from, and how to find them again, as the store keeps it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from assay.core.bins import Scale
from assay.predictions import Roles, fits_pattern, joint_fingerprint, listed, score_name

if TYPE_CHECKING:
    from assay.core.error_model import Model


@dataclass(frozen=True)
class Lessons:
    """Lessons from another campaign's labels, used from the first label on."""

    campaign: str  # the other's name
    model: Mapping[str, Any]  # `Model.to_dict` of its model


@dataclass(frozen=True)
class Part:
    """Predictions that were read from one place.

    `scan`: result of `Scan.to_dict`, None for predictions in memory; `fingerprint`: changes when
    they do.
    """

    description: str
    scan: Mapping[str, Any] | None
    fingerprint: str
    rows: int


@dataclass(frozen=True)
class Source:
    """Where the predictions came from, and how to find them again.

    `parts`: one, and one more for each extension of the population; `columns`: arguments of
    `read_predictions`; `slices`: columns whose values are kept with the cards, and hidden from
    reviewers; `scores`: likewise, the columns of scores and second opinions; `shown`: seal of the
    values kept with the first cards (`assay.labelling.reserve`). Older campaigns have neither
    scores nor a seal. `doubts`: apparent problems of the scores; `opinions`: digest of the columns
    of `aux` that the seed depends on; `lessons`: what an earlier campaign has learned of the
    columns, if the first strata were cut by that; `by_score`: `Strata.to_dict` of the strata by the
    score, if others have replaced them.
    """

    parts: tuple[Part, ...]
    columns: Mapping[str, Any]
    id_kind: Literal["integer", "string"]
    scale: Scale
    slices: tuple[str, ...] = ()
    shown: str = ""
    doubts: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    opinions: str = ""
    lessons: "Lessons | None" = None
    by_score: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values; later additions are left out if empty."""
        later = ("shown", "doubts", "scores", "opinions", "lessons", "by_score")
        return {name: value for name, value in asdict(self).items() if name not in later or value}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild from the values of `to_dict`, of this version or the first."""
        shared = {name: values[name] for name in ("columns", "id_kind", "scale")}
        for name in ("slices", "scores"):
            shared[name] = tuple(values.get(name, ()))
        shared["shown"] = values.get("shown", "")
        shared["opinions"] = values.get("opinions", "")
        shared["doubts"] = tuple(values.get("doubts", ()))
        shared["by_score"] = values.get("by_score")
        if values.get("lessons"):
            shared["lessons"] = Lessons(**values["lessons"])
        if "parts" in values:
            return cls(tuple(Part(**part) for part in values["parts"]), **shared)
        path = values["path"]
        scan = None if path is None else {"source": path}
        own = {name: values[name] for name in ("description", "fingerprint", "rows")}
        return cls((Part(scan=scan, **own),), **shared)

    @property
    def description(self) -> str:
        """Description for people."""
        return listed([part.description for part in self.parts])

    @property
    def fingerprint(self) -> str:
        """Text that changes when the predictions do."""
        return joint_fingerprint([part.fingerprint for part in self.parts], self.rows)

    @property
    def rows(self) -> int:
        """Number of items."""
        return sum(part.rows for part in self.parts)

    @property
    def kept(self) -> list[str]:
        """Columns whose values are kept with every card: shown columns, slices, scores."""
        return list(dict.fromkeys([*self.columns["show"], *self.slices, *self.scores]))

    @property
    def judgements(self) -> tuple[str, ...]:
        """Columns with predictions or verdicts about an item."""
        named_columns = [
            each.get(role) for each in self._classifiers for role in ("score", "predicted")
        ]
        # For the columns of all classes' probabilities, only named ones are known.
        named = [name for name in self.kept if any(fits_pattern(name, p) for p in self._patterns)]
        every = (*named_columns, *self.aux, *named)
        return tuple(dict.fromkeys(name for name in every if name is not None))

    @property
    def _patterns(self) -> list[str]:
        """Patterns of the names of class columns, with a star for the class."""
        roles = ("probabilities", "predicted")
        given = [each.get(role) for each in (*self._classifiers, self.columns) for role in roles]
        return [pattern for pattern in given if pattern is not None]

    @property
    def seen(self) -> list[str]:
        """Columns that reviewers may see: those chosen, without predictions and verdicts."""
        kept_back = (self.columns["id"], *self.judgements)
        return [name for name in self.columns["show"] if name not in kept_back]

    @property
    def aux(self) -> tuple[str, ...]:
        """Columns that a model of the outcome may use beside the score."""
        return tuple(self.columns.get("aux", ()))

    @property
    def own_scores(self) -> tuple[str, ...]:
        """Names of the classifiers' scores among the columns for a model."""
        if "classifiers" not in self.columns:
            return () if self.columns["score"] is None else (self.columns["score"],)
        each = self.columns["classifiers"].items()
        return tuple(score_name(name) for name, one in each if one.get("score") is not None)

    @property
    def model(self) -> "Model | None":
        """Model whose log odds replace the score, if there is one by now."""
        stored = self.columns.get("model")
        return None if stored is None else _model(stored)

    @property
    def model_before(self) -> "Model | None":
        """Model that another campaign's labels had trained before this one began."""
        return None if self.lessons is None else _model(self.lessons.model)

    @property
    def compares(self) -> bool:
        """Whether they are two sets of predictions, side by side."""
        return "classifiers" in self.columns and len(self.parts) > 1

    @property
    def has_score(self) -> bool:
        """Whether there is a score to cut by."""
        return any(
            each.get(role) is not None
            for each in self._classifiers
            for role in ("score", "probabilities")
        )

    @property
    def positive(self) -> object:
        """Predicted label that means yes, if it was given, and only one."""
        named = {each.get("positive") for each in self._classifiers} - {None}
        return named.pop() if len(named) == 1 else None

    @property
    def roles(self) -> tuple[Roles | None, ...]:
        """Column roles of each classifier, in order; None if it has no score."""
        names = ("score", "predicted", "threshold", "positive", "score_of", "scale")
        given: list[dict[str, Any]] = [
            {name: each.get(name) for name in names} for each in self._classifiers
        ]
        return tuple(None if each["score"] is None else Roles(id=None, **each) for each in given)

    @property
    def _classifiers(self) -> list[Mapping[str, Any]]:
        """Options of each classifier; those of a single one are among the columns."""
        return list(self.columns.get("classifiers", {"": self.columns}).values())


def _model(stored: Mapping[str, Any]) -> "Model":
    from assay.core.error_model import Model  # takes long to load, and few campaigns have one

    return Model.from_dict(stored)
