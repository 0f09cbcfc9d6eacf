"""All that is fixed when a campaign is made, as it is kept in the store."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from assay.core.deck import Id
from assay.core.strata import Strata
from assay.core.variable import Scale
from assay.core.venn import CellStrata
from assay.design import Design, Goal
from assay.predictions.union import joint_fingerprint, listed
from assay.targets import JointGoal

__all__ = ["Before", "Part", "Settings", "Source"]


@dataclass(frozen=True)
class Part:
    """Predictions that were read from one place.

    `scan` is what `Scan.to_dict` returned, and None for those that were only in memory;
    `fingerprint` tells whether they are still the same.
    """

    description: str
    scan: Mapping[str, Any] | None
    fingerprint: str
    rows: int


@dataclass(frozen=True)
class Source:
    """Where the predictions came from, and how to find them again.

    `parts` are one, and one more for each time that the population was extended; `columns` are the
    arguments of `read_predictions`, or of `read_classifiers`.
    """

    parts: tuple[Part, ...]
    columns: Mapping[str, Any]
    id_kind: Literal["integer", "string"]
    scale: Scale

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return what `dataclasses.asdict` was called on, by this version or the first."""
        shared = {name: values[name] for name in ("columns", "id_kind", "scale")}
        if "parts" in values:
            return cls(tuple(Part(**part) for part in values["parts"]), **shared)
        path = values["path"]
        scan = None if path is None else {"source": path}
        own = {name: values[name] for name in ("description", "fingerprint", "rows")}
        return cls((Part(scan=scan, **own),), **shared)

    @property
    def description(self) -> str:
        """Where they came from, for people."""
        return listed([part.description for part in self.parts])

    @property
    def fingerprint(self) -> str:
        """A text that changes when the predictions do."""
        return joint_fingerprint([part.fingerprint for part in self.parts], self.rows)

    @property
    def rows(self) -> int:
        """The number of items."""
        return sum(part.rows for part in self.parts)

    @property
    def judgements(self) -> tuple[str, ...]:
        """The columns that tell what a classifier said of an item."""
        said = (each.get(role) for each in self._classifiers for role in ("score", "predicted"))
        return tuple(dict.fromkeys(name for name in said if name is not None))

    @property
    def has_score(self) -> bool:
        """Whether there is a score to cut by."""
        return any(each.get("score") is not None for each in self._classifiers)

    @property
    def positive(self) -> object:
        """The predicted label that means yes, if it was given, and not in two ways."""
        named = {each.get("positive") for each in self._classifiers} - {None}
        return named.pop() if len(named) == 1 else None

    @property
    def _classifiers(self) -> list[Mapping[str, Any]]:
        """What was said of each classifier; of one alone it stands among the columns."""
        return list(self.columns.get("classifiers", {"": self.columns}).values())


@dataclass(frozen=True)
class Before:
    """The campaign whose place another one took, and whose labels it goes on with.

    Parameters
    ----------
    campaign : str
        Its name since then.
    judged : int
        The items that had been judged.
    gone : int
        How many of these the metric is no longer about: they are not among the predictions, or are
        predicted otherwise. Their labels stay in the log.
    """

    campaign: str
    judged: int
    gone: int


@dataclass(frozen=True)
class Settings:
    """The frozen part of a campaign: of one metric, or of several targets at once."""

    name: str
    design: Design
    goal: Goal | JointGoal
    strata: Strata | CellStrata
    seed: int
    source: Source
    before: Before | None = None

    @property
    def id_kind(self) -> Literal["integer", "string"]:
        """Whether the items' ids are integers or strings."""
        return self.source.id_kind

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
            "source": asdict(self.source),
            "before": None if self.before is None else asdict(self.before),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the settings that `to_dict` was called on."""
        goal, strata, before = values["goal"], values["strata"], values.get("before")
        several = "targets" in goal
        return cls(
            name=values["name"],
            design=Design.from_dict(values["design"]),
            goal=JointGoal.from_dict(goal) if several else Goal.from_dict(goal),
            strata=CellStrata.from_dict(strata) if several else Strata.from_dict(strata),
            seed=values["seed"],
            source=Source.from_dict(values["source"]),
            before=None if before is None else Before(**before),
        )
