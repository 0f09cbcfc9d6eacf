"""All that is fixed when a campaign is made, as it is kept in the store."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from assay.core.deck import Id
from assay.core.strata import Strata
from assay.core.variable import Scale
from assay.design import Design, Goal

__all__ = ["Settings", "Source"]


@dataclass(frozen=True)
class Source:
    """Where the predictions came from, and how to find them again.

    `path` is None for predictions that were only in memory; `columns` are the arguments of
    `read_predictions`; `fingerprint` tells whether they are still the same.
    """

    description: str
    path: str | None
    columns: Mapping[str, Any]
    fingerprint: str
    rows: int
    id_kind: Literal["integer", "string"]
    scale: Scale


@dataclass(frozen=True)
class Settings:
    """The frozen part of a campaign."""

    name: str
    design: Design
    goal: Goal
    strata: Strata
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
        return cls(
            name=values["name"],
            design=Design.from_dict(values["design"]),
            goal=Goal.from_dict(values["goal"]),
            strata=Strata.from_dict(values["strata"]),
            seed=values["seed"],
            source=Source(**values["source"]),
        )
