"""Learning by a grid: which starts and grids a fit goes on with, what it refuses, and what it foretells."""

from collections.abc import Callable

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.errors import GridError, NumericalError
from termwise.inference import coarse, fit_ski, ski
from termwise.inference.fit_ski import SkiOptions
from termwise.inference.progress import Progress
from termwise.inference.projected import ProjectedModel
from termwise.inference.ski import Grid, SkiObjective
from termwise.kernels.directions import diverse_directions

N, D, J = 120, 2, 3
SHORT = 1e-6  # a lengthscale by which no grid can cover the rows


@pytest.fixture
def model() -> ProjectedModel:
    return ProjectedModel(diverse_directions(J, D, np.random.default_rng(0)), (1,) * J, "se")


def rows(n: int = N) -> ArrayChunk:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, D))
    return ArrayChunk(X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n))


def fitted(model: ProjectedModel, part: ArrayChunk, options: SkiOptions, told: list[Progress] | None = None):
    monitor: Callable[[Progress], None] | None = None if told is None else told.append
    return fit_ski.fit_ski(model, part, options, np.random.default_rng(2), monitor)


def begin_at(monkeypatch: pytest.MonkeyPatch, model: ProjectedModel, *lengthscales: float) -> None:
    """Starts at these lengthscales, whatever their bounds."""
    starts = [model.start(np.full(D, lengthscale), 0.1) for lengthscale in lengthscales]
    monkeypatch.setattr(fit_ski, "first_points", lambda *_: starts)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_start_that_is_refused_does_not_end_the_others(model, monkeypatch, threads):
    begin_at(monkeypatch, model, 1.0)
    alone = fitted(model, rows(), SkiOptions(n_starts=1, threads=threads))
    begin_at(monkeypatch, model, SHORT, 1.0, SHORT)
    found = fitted(model, rows(), SkiOptions(n_starts=3, threads=threads))
    np.testing.assert_array_equal(found.theta, alone.theta)
    assert found.result.starts[1] == alone.result.starts[0]
    assert max(found.result.starts[0], found.result.starts[2]) < -1e99


@pytest.mark.parametrize("n_starts", [1, 2])
def test_if_all_grids_are_too_wide_the_error_says_so(model, monkeypatch, n_starts):
    begin_at(monkeypatch, model, *[SHORT] * n_starts)
    with pytest.raises(GridError, match=r"nodes that are .*; leave out rows that lie far away"):
        fitted(model, rows(), SkiOptions(n_starts=n_starts))


def test_if_starts_are_refused_for_other_reasons_too_that_of_the_grid_is_said(model, monkeypatch):
    begin_at(monkeypatch, model, 1.0, SHORT)

    def indefinite(*_: object) -> float:
        raise NumericalError("not positive definite")

    own = fit_ski.fine_enough
    monkeypatch.setattr(fit_ski, "fine_enough", lambda *of: indefinite() if of[3][0] > 0.0 else own(*of))
    with pytest.raises(GridError):
        fitted(model, rows(), SkiOptions())
    begin_at(monkeypatch, model, 1.0, 1.0)
    with pytest.raises(NumericalError, match="not positive definite"):
        fitted(model, rows(), SkiOptions())


def test_rows_by_which_a_grid_is_checked_have_the_limit_of_all_rows(model, monkeypatch):
    """Else a grid would be found that some rows may have, and refused for all of them."""
    monkeypatch.setattr(fit_ski, "TRIED_ROWS", 50)
    monkeypatch.setattr(fit_ski, "MOST_ERROR", 0.0)  # as fine a grid as can be
    for module in (ski, fit_ski):
        monkeypatch.setattr(module, "FEW_ROWS", 60)
    used: list[SkiObjective] = []
    own = fit_ski._objective

    def kept(*of):
        used.append(own(*of))
        return used[-1]

    monkeypatch.setattr(fit_ski, "_objective", kept)
    fitted(model, rows(), SkiOptions(Grid(0.25, most=70, most_of_few=100_000), n_starts=1))
    assert [objective.grid.step for objective in used] == [0.25 / 4]  # an eighth would need more nodes


def test_few_rows_may_have_more_nodes_than_many(model):
    grid = Grid(0.05, most=30)
    assert fitted(model, rows(), SkiOptions(grid, n_starts=1)).result.rows == N
    with pytest.raises(GridError, match="more than the 30 allowed"):
        fitted(model, rows(), SkiOptions(Grid(0.05, 30, 30), n_starts=1))


class EvaluationsAsSeconds:
    """A clock by which every evaluation takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("n", "few"), [(N, 1500), (N, 60), (1100, 60)], ids=["few", "many", "samples"])
def test_no_stage_is_foretold_that_does_not_come(model, monkeypatch, n, few):
    for module in (ski, fit_ski):
        monkeypatch.setattr(module, "FEW_ROWS", few)
    made: list[coarse.Stages] = []
    own = coarse.Stages.watch

    def watch(stages, part, start):
        made.append(stages)
        return own(stages, part, start)

    monkeypatch.setattr(coarse.Stages, "watch", watch)
    fitted(model, rows(n), SkiOptions(threads=1))
    forecast = made[-1].forecast
    assert forecast.stage == len(forecast.stages) - 1


def test_the_time_that_is_left_of_few_rows_is_that_of_their_evaluations(model, monkeypatch):
    """Wrong stages would foretell minutes to the very end."""
    clock, told = EvaluationsAsSeconds(), []
    monkeypatch.setattr(coarse, "Clock", lambda: clock)
    own = coarse.Stages.watch

    def watch(stages, part, start):
        counted = own(stages, part, start)

        def tick(evaluations, value):
            clock.now += 1.0
            counted(evaluations, value)

        return tick

    monkeypatch.setattr(coarse.Stages, "watch", watch)
    fitted(model, rows(), SkiOptions(threads=1), told)
    expected = 2 * fit_ski.FEW_EXPECTED + fit_ski.FEW_LAST
    assert told[0].remaining == pytest.approx(expected - 1)
    assert told[-1].remaining <= fit_ski.FEW_LAST


def test_the_work_of_an_evaluation_grows_with_the_cube_of_few_rows_and_with_many_rows():
    assert fit_ski._work(1000, 10) / fit_ski._work(500, 10) == pytest.approx(4.0 * 1300.0 / 800.0)
    assert fit_ski._work(200_000, 10) / fit_ski._work(100_000, 10) == pytest.approx(2.0, rel=1e-3)
    assert fit_ski._work(10_000, 400) == fit_ski._work(10_000, 60)  # lines share so many features
