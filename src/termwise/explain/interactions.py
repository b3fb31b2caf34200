"""Which columns act together, as plain data: ranked sets, and what other models make of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, overload

from termwise.explain.plain import frame_of, plain
from termwise.explain.terms import Term

MOST_FEATURES = 3  # of a term that another model is allowed


@dataclass(frozen=True)
class Interaction:
    """Columns that were found to act together.

    `strength` is by the weights of the networks that were asked, and means something beside others of one
    table only; `stability` is the part of these networks that rank the set as high as it stands among all, or
    as high as those that are kept are many. `kept` says that it helped to predict rows that were left out,
    by itself or together with other pairs.
    """

    columns: tuple[str, ...]
    strength: float
    stability: float
    kept: bool

    @property
    def name(self) -> str:
        """As the name of a term: "age:income"."""
        return Term(self.columns, ()).name


@dataclass(frozen=True, eq=False)
class Interactions(Sequence[Interaction]):
    """Sets of columns, the strongest first. `names` are all columns that were looked at.

    `untold` is the part of the mean absolute error of rows left out that one network of all columns takes off
    beside the kept sets, zero where that is not sure: many sets may do a little each.
    """

    ranked: tuple[Interaction, ...]
    names: tuple[str, ...]
    untold: float = 0.0

    @overload
    def __getitem__(self, place: int) -> Interaction: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Interaction, ...]: ...

    def __getitem__(self, place: int | slice) -> Interaction | tuple[Interaction, ...]:
        """By rank."""
        return self.ranked[place]

    def __len__(self) -> int:
        """How many sets are ranked."""
        return len(self.ranked)

    def __iter__(self) -> Iterator[Interaction]:
        """The strongest first."""
        return iter(self.ranked)

    def __repr__(self) -> str:
        """How many help to predict, and the first of these."""
        kept = self.kept
        leading = ", ".join(f"{row.name} {row.strength:.3g} ({row.stability:.0%})" for row in kept[:3])
        said = f": {leading}" if kept else ""
        more = f"; {self.untold:.0%} of the error untold" if self.untold else ""
        return f"<Interactions of {len(self.names)} columns, {len(kept)} of {len(self)} kept{said}{more}>"

    @property
    def kept(self) -> list[Interaction]:
        """Those that help to predict."""
        return [row for row in self.ranked if row.kept]

    def terms(self, max_size: int = MOST_FEATURES) -> list[tuple[str, ...]]:
        """All single columns, and the sets that help with all their parts, of up to so many columns.

        That is what `terms` of `OAKRegressor` takes, whose terms are orthogonal to those of their parts.
        """
        found: dict[tuple[str, ...], None] = {(name,): None for name in self.names}
        for row in self.kept:
            for size in range(2, min(max_size, len(row.columns)) + 1):
                found.update(dict.fromkeys(combinations(row.columns, size)))
        return sorted(found, key=len)

    def sets(self) -> list[tuple[str, ...]]:
        """The sets that help, without those that are part of others, and each column that is in none alone.

        That is what `sets` of `DeepKernelRegressor` takes.
        """
        columns = [set(row.columns) for row in self.kept]
        whole = [row.columns for row in self.kept if not any(set(row.columns) < other for other in columns)]
        inside = {name for columns in whole for name in columns}
        return [*whole, *((name,) for name in self.names if name not in inside)]

    def frame(self) -> Any:
        """A pandas data frame with a row for each set."""
        return frame_of(
            {
                "columns": [row.name for row in self],
                "strength": [row.strength for row in self],
                "stability": [row.stability for row in self],
                "kept": [row.kept for row in self],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can write."""
        rows = [plain(asdict(row)) for row in self]
        return {"columns": list(self.names), "interactions": rows, "untold": self.untold}
