"""All that is fixed when a campaign is made, as it is kept in the store."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from assay.core.deck import Id
from assay.core.strata import Strata
from assay.core.variable import Scale
from assay.core.venn import CellStrata
from assay.design import Design, Goal
from assay.targets import JointGoal

__all__ = ["Settings", "Source"]


@dataclass(frozen=True)
class Source:
    """Where the predictions came from, and how to find them again.

    `path` is None for predictions that were only in memory; `columns` are the arguments of
    `read_predictions`, or of `read_classifiers`; `fingerprint` tells whether they are still the
    same.
    """

    description: str
    path: str | None
    columns: Mapping[str, Any]
    fingerprint: str
    rows: int
    id_kind: Literal["integer", "string"]
    scale: Scale

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
class Settings:
    """The frozen part of a campaign: of one metric, or of several targets at once."""

    name: str
    design: Design
    goal: Goal | JointGoal
    strata: Strata | CellStrata
    seed: int
    source: Source

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
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the settings that `to_dict` was called on."""
        goal, strata = values["goal"], values["strata"]
        several = "targets" in goal
        return cls(
            name=values["name"],
            design=Design.from_dict(values["design"]),
            goal=JointGoal.from_dict(goal) if several else Goal.from_dict(goal),
            strata=CellStrata.from_dict(strata) if several else Strata.from_dict(strata),
            seed=values["seed"],
            source=Source(**values["source"]),
        )
