"""Models along directions: scikit-learn, tables of any kind, what the models say, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import termwise as tw
from termwise import ProjectedGPRegressor
from termwise.cli.main import cli
from termwise.errors import (
    GridError,
    ModelFileError,
    OptionError,
    TableError,
    TargetError,
    TermError,
    UnknownLevelError,
)
from termwise.estimators import projected
from termwise.inference import directed
from termwise.inference.ski import Grid
from termwise.table import read_table, shortened
from tests.io.models import NEW, TABLE, TARGET, rewritten, same_bits

QUICK: dict[str, Any] = {"n_directions": 4, "n_restarts": 1}
KINDS: dict[str, dict[str, Any]] = {
    "diverse": QUICK,
    "random": {**QUICK, "directions": "random", "kernel": "matern32", "ard": False},
    "degrees": {"degrees": (1, 2, 3), "directions": "random", "n_restarts": 1, "weights": "learned"},
    "one of all": {"directions": "none", "kernel": "imq", "n_restarts": 1},
    "grid": {**QUICK, "inference": "ski"},
    "sparse": {**QUICK, "inference": "sparse", "n_inducing": 15},
    "cosine": {**QUICK, "kernel": "cosine"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@parametrize_with_checks([ProjectedGPRegressor(**QUICK), ProjectedGPRegressor(**KINDS["grid"])])
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def ridge(n: int = 200, seed: int = 0, features: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """A function of a sum of two features; the others do nothing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, features))
    return X, np.sin(1.5 * (X[:, 0] + X[:, 1])) + 0.1 * rng.standard_normal(n)


@every_kind
def test_terms_and_constant_sum_to_the_prediction(kind: str) -> None:
    model = ProjectedGPRegressor(**KINDS[kind]).fit(TABLE, TARGET)
    terms = model.predict_terms(NEW)
    mean, std = model.predict(NEW, return_std=True)
    np.testing.assert_allclose(model.constant_ + np.asarray(terms).sum(axis=1), mean, atol=1e-8)
    assert np.all(std > 0.0)
    _, of_terms = model.predict_terms(NEW, return_std=True)
    assert np.all(np.asarray(of_terms) >= 0.0)
    assert len(model.terms_) == model.n_directions_ == np.asarray(terms).shape[1]
    assert model.sobol_["share"].sum() == pytest.approx(1.0)
    assert 0.0 < model.explained_ <= 1.0


@every_kind
def test_a_loaded_model_is_the_same_bit_for_bit(kind: str, tmp_path: Any) -> None:
    model = ProjectedGPRegressor(**KINDS[kind]).fit(TABLE, TARGET)
    tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert isinstance(loaded, ProjectedGPRegressor)
    for one, other in zip(
        model.predict(NEW, return_std=True), loaded.predict(NEW, return_std=True), strict=True
    ):
        assert same_bits(one, other)
    assert loaded.posterior_.kernel == model.posterior_.kernel
    assert (loaded.fit_result_, loaded.n_directions_) == (model.fit_result_, model.n_directions_)
    assert (loaded.inference_, loaded.encoder_.dense) == (model.inference_, model.encoder_.dense)
    assert same_bits(loaded.sensitivity_.shares, model.sensitivity_.shares)
    tw.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def _set(*path: str, to: Any) -> Any:
    def change(document: dict[str, Any]) -> None:
        for name in path[:-1]:
            document = document[name]
        document[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("kernel", "groups", to=[1, 1, 1, 2]), "projection has the shape"),
        (_set("kernel", "groups", to=[0]), "its directions are"),
        (_set("kernel", "kind", to="so"), "no kernel 'so'"),
        (_set("kernel", "weights", to=[0.25, 0.25, 0.25]), "weights and variances"),
        (_set("kernel", "variances", to=[1.0, -1.0]), "weights and variances"),
        (_set("encoder", "parts", to=[[0.1]]), "do not belong to"),
        (_set("inference", to="auto"), "inference is 'auto'"),
        (_set("noise", to=-1.0), "the noise is"),
    ],
)
def test_a_changed_file_is_refused(change: Any, message: str, tmp_path: Any) -> None:
    model = ProjectedGPRegressor(**QUICK).fit(TABLE, TARGET)
    with pytest.raises(ModelFileError, match=message):
        tw.load(rewritten(model, tmp_path, change))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_levels_and_missing_cells(frame: Any) -> None:
    model = ProjectedGPRegressor(**QUICK).fit(frame(TABLE), TARGET)
    np.testing.assert_allclose(
        model.predict(frame(NEW)), ProjectedGPRegressor(**QUICK).fit(TABLE, TARGET).predict(NEW)
    )
    names = model.encoder_.dense.names
    assert {"age", "age missing", "city=Oslo", "city=Bern", "city missing"} <= set(names)
    assert "income missing" not in names
    frame_of_terms = model.predict_terms(frame(NEW))
    assert list(frame_of_terms.columns) == [term.name for term in model.terms_]


def test_dense_features_are_centred_with_variance_one_for_each_column() -> None:
    model = ProjectedGPRegressor(**QUICK).fit(TABLE, TARGET)
    dense = model.encoder_.dense
    X = dense.transform(read_table(TABLE))
    known = [name for name in dense.names if name not in ("age",) and not name.startswith("city=")]
    np.testing.assert_allclose(
        X[:, [dense.names.index(name) for name in known]].mean(axis=0), 0.0, atol=1e-12
    )
    cities = [i for i, name in enumerate(dense.names) if name.startswith("city=")]
    rows = np.array([city is not None for city in TABLE["city"]])
    assert X[rows][:, cities].var(axis=0).sum() == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_array_equal(X[~rows][:, cities], 0.0)
    assert X[:, dense.names.index("income")].var() == pytest.approx(1.0)


def test_an_unknown_level_stands_at_the_mean_or_is_refused() -> None:
    model = ProjectedGPRegressor(**QUICK).fit(TABLE, TARGET)
    strange, missing = ({**NEW, "city": [city] * 4} for city in ("Atlantis", None))
    assert same_bits(model.predict(strange), model.predict(missing))
    strict = ProjectedGPRegressor(**QUICK, unknown="error").fit(TABLE, TARGET)
    with pytest.raises(UnknownLevelError, match="Atlantis"):
        strict.predict(strange)


def test_sensitivity_finds_the_features_that_matter() -> None:
    X, y = ridge()
    model = ProjectedGPRegressor(n_directions=10, n_restarts=1).fit(X, y)
    shares = model.sensitivity_.shares
    assert shares[:2].sum() > 0.95
    frame = model.sensitivity_.frame()
    assert set(frame["feature"][:2]) == {"x0", "x1"}
    assert frame["sensitivity"].sum() == pytest.approx(1.0)


def test_sensitivity_is_the_mean_squared_slope() -> None:
    X, y = ridge(80, features=3)
    for options in (QUICK, KINDS["degrees"]):
        model = ProjectedGPRegressor(**options).fit(X, y)
        sd = X.std(axis=0)
        slopes = []
        for d in range(3):
            step = 1e-4 * sd[d] * np.eye(3)[d]
            slopes.append((model.predict(X + step) - model.predict(X - step)) / 2e-4)
        squares = np.mean(np.square(slopes), axis=1)
        np.testing.assert_allclose(model.sensitivity_.shares, squares / squares.sum(), rtol=1e-3)


def test_a_curve_is_about_its_mean_over_the_rows_and_says_what_its_direction_is_made_of() -> None:
    X, y = ridge(150)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = ProjectedGPRegressor(n_directions=8, n_restarts=1).fit(frame, y)
    [drawn] = model.explain(n_terms=1).effects
    [column], posterior = model.terms_[0].columns, model.posterior_
    at = np.full((drawn.axes[0].size, 8), np.nan)
    at[:, column] = drawn.axes[0]
    both = np.vstack([at, posterior.rows])
    mean, covariance = posterior.term_mean((column,), both), posterior.term_covariance((column,), both)
    grid, scale = len(at), model.target_scale_.scale
    less = np.hstack([np.eye(grid), np.full((grid, len(posterior.rows)), -1.0 / len(posterior.rows))])
    np.testing.assert_allclose(drawn.mean, scale * less @ mean, atol=1e-8)
    np.testing.assert_allclose(
        drawn.std, scale * np.sqrt(np.einsum("ij,jk,ik->i", less, covariance, less)), rtol=1e-5, atol=1e-6
    )
    assert np.mean(drawn.std) < 0.8 * scale * np.mean(np.sqrt(posterior.term_variance((column,), at)))
    assert drawn.axis_labels[0].startswith(f"{model.terms_[0].name}\n")
    leading = frame.columns[np.argmax(np.abs(model.loadings_.values[0]))]
    # words that belong together are on one line
    assert f"\N{NO-BREAK SPACE}{leading} " in drawn.axis_labels[0].splitlines()[1]
    assert drawn.features == (model.terms_[0].name,)


def test_what_cannot_be_drawn_is_said() -> None:
    X, y = ridge(60)
    whole = ProjectedGPRegressor(directions="none", n_restarts=1).fit(X, y)
    with pytest.raises(TermError, match="no term has one or two features"):
        whole.explain().plot()
    assert "6 features" in repr(whole.sensitivity_)
    assert "coordinates" in repr(whole.loadings_)


def test_one_column_has_one_direction() -> None:
    X, y = ridge(60)
    assert ProjectedGPRegressor(n_restarts=1).fit(X[:, :1], y).n_directions_ == 1


def test_the_command_line_says_what_the_prediction_depends_on(tmp_path: Any) -> None:
    X, y = ridge(80)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    tw.save(ProjectedGPRegressor(**QUICK).fit(frame, y), tmp_path / "m")
    shown = CliRunner().invoke(cli, ["explain", str(tmp_path / "m")]).stdout
    assert "sensitivity of the prediction" in shown
    assert "measure" not in shown


def test_loadings_move_rows_along_directions() -> None:
    X, y = ridge(60, features=3)
    model = ProjectedGPRegressor(**QUICK).fit(X, y)
    loadings = model.loadings_
    assert loadings.frame().shape == (4, 3)
    assert loadings.coordinates[0] == model.terms_[0].name
    moved = model._encode(X + X.std(axis=0) * np.array([1.0, 0.0, 0.0])) - model._encode(X)
    order = [model.encoder_.names.index(name) for name in loadings.coordinates]
    np.testing.assert_allclose(moved[:, order], np.tile(loadings.values[:, 0], (60, 1)), atol=1e-10)


def test_explanations_are_curves_along_directions() -> None:
    X, y = ridge()
    model = ProjectedGPRegressor(**QUICK).fit(X, y)
    found = model.explain(n_terms=2)
    curve = found.effects[0]
    assert curve.term.name == model.terms_[0].name
    assert curve.mean.shape == curve.axes[0].shape
    assert np.all(curve.high >= curve.low)
    rows = model.explain(X[:3])
    np.testing.assert_allclose(rows.predictions, model.predict(X[:3]), atol=1e-10)
    assert model.check(X, y).fit.status in ("converged", "max_steps")
    assert model.cumulative_score(X, y).frame().shape[0] == 5
    assert model.concurvity(X).frame().shape[0] >= 1
    with pytest.raises(OptionError, match="along directions"):
        found.report()


def test_a_grid_predicts_as_exact_inference_does() -> None:
    X, y = ridge(300)
    exact, grid = (ProjectedGPRegressor(n_directions=10, inference=i).fit(X, y) for i in ("exact", "ski"))
    new, target = ridge(200, seed=1)
    errors = [np.sqrt(np.mean((model.predict(new) - target) ** 2)) for model in (exact, grid)]
    assert errors[1] == pytest.approx(errors[0], rel=0.03)
    assert grid.objective_ == pytest.approx(exact.objective_, abs=1.0)


def test_the_engine_follows_the_rows() -> None:
    X, y = ridge(2100)
    assert ProjectedGPRegressor(**QUICK).fit(X, y).inference_ == "ski"
    assert ProjectedGPRegressor(**QUICK, kernel="imq").fit(X, y).inference_ == "sparse"
    assert ProjectedGPRegressor(**QUICK).fit(X[:100], y[:100]).inference_ == "exact"


def test_a_number_of_directions_is_found_by_the_evidence(monkeypatch: Any) -> None:
    """A function of all columns at once wants many directions; noise alone does not care."""
    monkeypatch.setattr(directed, "COUNTS", (1, 40))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.prod(np.sin(1.5 * X), axis=1) + 0.02 * rng.standard_normal(200)
    assert ProjectedGPRegressor(n_directions="auto", n_restarts=1).fit(X, y).n_directions_ == 40
    assert ProjectedGPRegressor(n_directions="auto", n_restarts=1).fit(X[:, :1], X[:, 0]).n_directions_ == 1


def test_one_row_far_away_does_not_take_the_centres_of_the_others() -> None:
    X, y = ridge(400)
    new, target = ridge(200, seed=1)
    X[0] = 15.0
    found = [ProjectedGPRegressor(n_directions=10, inference=i).fit(X, y) for i in ("exact", "ski")]
    errors = [np.sqrt(np.mean((model.predict(new) - target) ** 2)) for model in found]
    assert errors[1] < 1.1 * errors[0]


def test_where_a_grid_would_be_too_wide_rows_are_seen_through_some(monkeypatch: Any) -> None:
    X, y = ridge(2100)
    monkeypatch.setattr(projected, "Grid", lambda step: Grid(step, most=20))
    assert ProjectedGPRegressor(**QUICK).fit(X, y).inference_ == "sparse"
    with pytest.raises(GridError, match="nodes"):
        ProjectedGPRegressor(**QUICK, inference="ski").fit(X, y)


@pytest.mark.parametrize("inference", ["exact", "ski"])
def test_more_columns_than_rows_one_direction_and_constant_columns(inference: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 60))
    X[:, 5] = 3.0
    y = X[:, 0] + 0.1 * rng.standard_normal(30)
    for count in (1, 8, 90):
        model = ProjectedGPRegressor(n_directions=count, n_restarts=1, inference=inference).fit(X, y)
        mean, std = model.predict(X, return_std=True)
        assert np.all(np.isfinite(mean))
        assert np.all(std > 0.0)
        assert model.encoder_.projection.shape == (count, 59)


def test_duplicate_rows_and_points_far_away_are_no_trouble() -> None:
    X, y = ridge(60)
    for inference in ("exact", "ski"):
        model = ProjectedGPRegressor(**QUICK, inference=inference).fit(np.vstack([X, X]), np.append(y, y))
        far = np.vstack([X[:2], 50.0 * X[:2], np.full((1, 6), 1e6)])
        mean, std = model.predict(far, return_std=True)
        assert np.all(np.isfinite(mean))
        assert np.all(std > 0.0)
        assert std[-1] >= std[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_directions": 0}, "n_directions is 0"),
        ({"n_directions": "many"}, "n_directions is 'many'; use a whole number, or 'auto'"),
        ({"directions": "learned"}, "directions is 'learned'"),
        ({"kernel": "rbf"}, "kernel is 'rbf'"),
        ({"degrees": (1, 2)}, "use directions='random' with them"),
        ({"degrees": (), "directions": "random"}, r"degrees is \(\); give a whole number for each"),
        ({"degrees": 3, "directions": "random"}, "degrees is 3; give a whole number for each"),
        ({"degrees": (0,), "directions": "random"}, "a degree is 0"),
        ({"kernel": "cosine", "directions": "none"}, "no kernel of several"),
        ({"inference": "stochastic"}, "inference is 'stochastic'"),
        ({"inference": "ski", "kernel": "matern12"}, "interpolates"),
        ({"inference": "ski", "degrees": (2,), "directions": "random"}, "degrees of one"),
        ({"inference": "exact", "n_inducing": 5}, "no inducing rows"),
        ({"n_grid": 1}, "n_grid is 1"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"progress": "x"}, "progress is 'x'"),
        ({"unknown": "marginalise"}, "unknown is 'marginalise'"),
        ({"inference": "ski", "n_inducing": 5}, "no inducing rows"),
        ({"inference": "ski", "n_directions": 500}, "at most 400"),
        ({"ard": "yes"}, "ard is 'yes'"),
        ({"weights": None}, "weights is None"),
    ],
)
def test_options_that_cannot_be_are_named(options: dict[str, Any], message: str) -> None:
    X, y = ridge(20)
    with pytest.raises(OptionError, match=message):
        ProjectedGPRegressor(**options).fit(X, y)


def test_tables_and_targets_that_cannot_be_are_named() -> None:
    X, y = ridge(20)
    with pytest.raises(TableError, match="no column varies"):
        ProjectedGPRegressor().fit(np.ones((20, 2)), y)
    with pytest.raises(TargetError, match="nothing to explain"):
        ProjectedGPRegressor().fit(X, np.ones(20))


def test_pipelines_grids_and_seeds() -> None:
    X, y = ridge(90)
    model = ProjectedGPRegressor(**QUICK)
    search = GridSearchCV(model, {"n_directions": [2, 4]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.0
    piped = make_pipeline(StandardScaler(), clone(model))
    assert np.mean(cross_val_score(piped, X, y, cv=3)) > 0.0
    one, again, other = (
        ProjectedGPRegressor(**QUICK, random_state=seed).fit(X, y).predict(X) for seed in (0, 0, 1)
    )
    assert same_bits(one, again)
    assert not np.allclose(one, other)


@pytest.mark.parametrize("directions", ["diverse", "none"])
def test_more_columns_than_rows_are_not_learned_by_heart(directions):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((360, 100)), rng.standard_normal(360)  # nothing to learn
    model = ProjectedGPRegressor(directions=directions).fit(X[:60], y[:60])
    mean, std = model.predict(X[60:], return_std=True)
    assert np.sqrt(np.mean((y[60:] - mean) ** 2)) < 1.1 * np.std(y[60:])
    assert np.mean(np.abs(y[60:] - mean) < 1.645 * std) > 0.8


def test_some_columns_of_many_still_stand_out():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40))
    y = np.sin(X[:, 3]) + X[:, 7] + 0.1 * rng.standard_normal(300)
    found = ProjectedGPRegressor().fit(X, y).sensitivity_
    assert set(found.frame()["feature"][:2]) == {"x3", "x7"}


@pytest.mark.parametrize("levels", [2, 3, 10])
def test_a_column_of_levels_counts_as_much_as_a_number_that_does_as_much(levels):
    rng = np.random.default_rng(0)
    city, x = np.repeat(np.arange(levels), 600 // levels), rng.standard_normal(600 // levels * levels)
    effects = np.linspace(-1.0, 1.0, levels)
    y = x + (effects / np.std(effects))[city] + 0.1 * rng.standard_normal(x.size)
    table = pd.DataFrame({"x": x / np.std(x), "city": [f"c{level}" for level in city]})
    found = ProjectedGPRegressor(n_restarts=1).fit(table, y).sensitivity_
    assert dict(zip(found.features, found.shares, strict=True)) == pytest.approx(
        {"x": 0.5, "city": 0.5}, abs=0.1
    )


@pytest.mark.parametrize("kind", KINDS)
def test_terms_have_mean_zero_wherever_they_are_told(kind):
    model = ProjectedGPRegressor(**KINDS[kind]).fit(TABLE, TARGET)
    terms, std = (np.asarray(part) for part in model.predict_terms(TABLE, return_std=True))
    np.testing.assert_allclose(model.constant_ + terms.sum(axis=1), model.predict(TABLE), atol=1e-7)
    scale = model.target_scale_.scale
    np.testing.assert_allclose(terms.mean(axis=0), 0.0, atol=1e-7 * scale)
    local = model.explain(TABLE)
    np.testing.assert_allclose(local.contributions, terms)
    # by hand: f_u(x) less its mean over all rows is a normal with this variance
    posterior, term = model.posterior_, model.terms_[0].columns
    rows = model.encoder_.transform(read_table(TABLE))
    half = posterior.by_terms.term_matrix(term, rows, posterior.centres) @ posterior.root
    covariance = posterior.by_terms.term_matrix(term, rows, rows) - half @ half.T
    centring = np.eye(len(rows)) - 1.0 / len(rows)
    expected = scale * np.sqrt(np.diag(centring @ covariance @ centring))
    np.testing.assert_allclose(std[:, 0], expected, rtol=1e-5, atol=1e-6 * scale)


def test_names_are_shortened_in_their_middle():
    assert shortened("age", 20) == "age"
    assert shortened("sensor_reading_000001", 20) != shortened("sensor_reading_000002", 20)
    assert shortened("name of the neighbourhood=Oslo", 20) == "name of t..hood=Oslo"
