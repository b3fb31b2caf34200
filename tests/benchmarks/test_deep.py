"""The made-up functions of the benchmark of networks: defined everywhere, of the columns that they name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.deep import METHODS, published
from benchmarks.functions import FUNCTIONS, Fit, Fits, Made
from benchmarks.harness.cells import Cell
from benchmarks.harness.ours import DEEP, Ours
from benchmarks.harness.tables import TABLES
from benchmarks.networks import PARTS, draw
from benchmarks.networks import printed as in_units
from benchmarks.published import published as printed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_a_sum_over_its_sets(name: str) -> None:
    made = FUNCTIONS[name]
    assert _parts_of(made) == {frozenset(columns) for columns in made.sets}
    X, y, X_test, truth = made.rows(0)
    assert X.shape == (made.n, made.d)
    assert np.all(np.isfinite(y))
    assert np.all(np.isfinite(truth))
    assert np.std(y - made.function(X.T)) == pytest.approx(0.1, rel=0.15)
    np.testing.assert_array_equal(truth, made.function(X_test.T))


def _parts_of(made: Made) -> set[frozenset[int]]:
    """The largest sets whose columns interact, by mixed differences of the function."""
    rng = np.random.default_rng(0)
    low, high = rng.uniform(-0.9, 0.9, (2, made.d, 50))
    found: set[frozenset[int]] = set()
    for code in range(1 << made.d):
        columns = [column for column in range(made.d) if code >> column & 1]
        if not 2 <= len(columns) <= 4:
            continue
        total = np.zeros(50)
        for choice in range(1 << len(columns)):
            x = low.copy()
            up = [column for place, column in enumerate(columns) if choice >> place & 1]
            x[up] = high[up]
            total += (-1.0) ** len(up) * made.function(x)
        if np.max(np.abs(total)) > 1e-9:
            found.add(frozenset(columns))
    return {columns for columns in found if not any(columns < other for other in found)}


def test_a_fit_is_made_once_whoever_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def fitted(function: str, method: str, seed: int, part: float) -> Fit:
        made.append((function, method, seed, part))
        return Fit(function, method, seed, part, 0.125, 2.5, 300, "2:3 0:2 0:1", "2:3 0:1", "1.0")

    monkeypatch.setattr("benchmarks.functions.fitted", fitted)
    asked = [
        ("F1", "D-IOK", 0, 1.0),
        ("F1", "D-IOK", 0, 0.2),
        ("F1", "D-IOK", 0, 1.0),
        ("F1", "D-OK", 1, 1.0),
    ]
    first = [Fits(tmp_path / "fits.csv").of(*one) for one in asked]
    assert made == [asked[0], asked[1], asked[3]]
    assert Fits(tmp_path / "fits.csv").ledger.read() == [first[0], first[1], first[3]]
    assert first[0].rank == 3
    assert Fit("F4", "D-IOK", 0, 1.0, 0.1, 1.0, 3, "0:1 5:6").rank == np.inf


def test_the_paper_has_an_error_for_each() -> None:
    assert set(published()) == {(name, method) for name in FUNCTIONS for method in METHODS}


def test_table_4_has_the_models_of_the_paper() -> None:
    for row in printed("deep-kernel-4", "rmse_units").values():
        assert set(row) <= set(TABLES["deep"].models)


@pytest.mark.parametrize("name", ["K-ARC", "DNN"])
def test_a_model_of_the_paper_is_one_of_ours(name: str) -> None:
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = {"a": rng.standard_normal(40), "b": rng.standard_normal(40)}
    model = Ours(name, "regression", seed=1)
    model.fit(X, X["a"], ())
    assert model.estimator.kernel == DEEP[name]
    assert np.all(np.isfinite(model.predict(X).mean))
    assert set(model.own_scores(X, X["a"])) == {"log_density", "coverage"}


def test_errors_with_fewer_rows_are_written_down_and_drawn(tmp_path: Path) -> None:
    draw({("F1", "D-OK"): np.linspace(0.1, 0.5, len(PARTS)), ("F5", "D-OK"): np.ones(len(PARTS))}, tmp_path)
    lines = (tmp_path / "deep_rows.csv").read_text().splitlines()
    assert lines[0] == "function,method,1,0.8,0.6,0.4,0.2"
    assert lines[1].startswith("F1,D-OK,0.100000,0.2")
    assert (tmp_path / "deep_rows.png").stat().st_size > 5000


def test_table_4_is_told_in_the_units_of_the_paper() -> None:
    cells = [
        Cell("bike", split, method, rmse=0.2, mae=0.1) for split in (0, 1) for method in ("D-OK", "D-IOK")
    ]
    cells += [Cell("elevators", 0, "D-OK", rmse=0.1, mae=0.1)]  # the other method has not run yet
    found = {figure.name: figure for figure in in_units(cells, {"bike": 1.5, "elevators": 1.0})}
    assert found["bike, D-OK: RMSE (paper 0.183)"].value == pytest.approx(0.3)
    assert found["bike, D-OK: mean absolute error (paper 0.183)"].value == pytest.approx(0.15)
    assert found["sets of 1, RMSE: D-OK or D-IOK is as good as it is there"].value == 0
    assert found["sets of 1, mean absolute error: D-OK or D-IOK is as good as it is there"].value == 1
    assert not any(name.startswith("elevators") for name in found)


def test_table_4_holds_each_kernel_against_its_own_and_our_best_against_the_best() -> None:
    cells = [Cell("bike", 0, method, mae=0.2) for method in ("D-OK", "D-IOK")]
    # 0.28, as the worse of theirs
    values = [
        figure.value for figure in in_units(cells, {"bike": 1.4}) if figure.name.startswith(("sets", "  "))
    ]
    assert values == [1, 0]
