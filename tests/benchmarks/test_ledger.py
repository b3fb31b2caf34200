"""A file of measurements: each made once, read as it was told, and no line lost in silence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from benchmarks.ledger import Ledger, LedgerError


@dataclass(frozen=True)
class Told:
    """A measurement."""

    name: str
    seed: int
    value: float

    @property
    def key(self) -> tuple[str, int]:
        """What was measured."""
        return self.name, self.seed


def test_a_line_is_made_once_and_the_same_whenever_it_is_asked_for(tmp_path: Path) -> None:
    path, made = tmp_path / "lines.csv", []

    def make() -> Told:
        made.append(1)
        return Told("a, b", 3, 1.0 / 3.0)

    first = Ledger(Told, path).of(("a, b", 3), make)
    assert Ledger(Told, path).of(("a, b", 3), make) == first == Told("a, b", 3, 0.333333)
    assert len(made) == 1
    far = Ledger(Told, path).of(("c", 0), lambda: Told("c", 0, np.inf))
    assert Ledger(Told, path).read() == [first, far]
    assert Ledger(Told, None).of(("a, b", 3), make) == first


@pytest.mark.parametrize(("cut", "line"), [(1, 3), (3, 3), (4, 3)])
def test_a_line_that_was_cut_short_is_named(tmp_path: Path, cut: int, line: int) -> None:
    path = tmp_path / "lines.csv"
    for seed in (1, 2):
        Ledger(Told, path).of(("a", seed), lambda seed=seed: Told("a", seed, 0.5))
    path.write_text(path.read_text()[:-cut])
    with pytest.raises(LedgerError, match=f"lines.csv, line {line}, is damaged; delete it"):
        Ledger(Told, path).read()


def test_other_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_text("name,value\na,1\n")
    with pytest.raises(LedgerError, match="other columns"):
        Ledger(Told, tmp_path / "lines.csv").read()
