"""Classification: known probabilities are found, labels of any kind come back, and bad ones are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from termwise import AdditiveGPClassifier, OAKClassifier
from termwise.errors import OptionError, TargetError, TermwiseWarning
from termwise.estimators.labels import classes_of
from termwise.estimators.merge import merged_rows
from termwise.estimators.probabilities import joint_result
from termwise.estimators.targets import Target
from termwise.inference.result import FitResult, Status
from termwise.likelihoods import Logit
from termwise.table import read_table

ROWS = 400


def quick(**options: Any) -> OAKClassifier:
    return OAKClassifier(**{"max_order": 1, "n_restarts": 1, **options})


def latent(X: np.ndarray) -> np.ndarray:
    return 2.5 * np.sin(2.0 * X[:, 0]) + 0.7 * X[:, 1]


def a_table(n: int = ROWS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-latent(X)))).astype(int)


@parametrize_with_checks([quick(), AdditiveGPClassifier(kind="gam", n_restarts=1)])
def test_it_is_a_classifier_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module", params=["exact", "sparse"])
def fitted(request: Any) -> OAKClassifier:
    options = {"n_inducing": 60} if request.param == "sparse" else {}
    return quick(inference=request.param, **options).fit(*a_table(1500 if options else ROWS))


def test_known_probabilities_are_found(fitted: OAKClassifier) -> None:
    X, _ = a_table(2000, seed=1)
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.sqrt(np.mean((p[:, 1] - 1.0 / (1.0 + np.exp(-latent(X)))) ** 2)) < 0.08
    assert [term.name for term in fitted.terms_[:2]] == ["x0", "x1"]


def test_terms_add_up_on_the_latent_scale(fitted: OAKClassifier) -> None:
    X, _ = a_table(50, seed=2)
    total = fitted.constant_ + fitted.predict_terms(X).sum(axis=1)
    np.testing.assert_allclose(total, fitted.posterior_.mean(fitted._encode(X)), atol=1e-8)
    assert np.corrcoef(total, latent(X))[0, 1] > 0.95


def test_probabilities_are_averaged_over_what_is_not_known(fitted: OAKClassifier) -> None:
    rows = np.array([[50.0, 0.0, 0.0], [0.8, 0.0, 0.0], [-0.8, 1.0, 0.0]])
    encoded = fitted._encode(rows)
    mean, sd = fitted.posterior_.mean(encoded), np.sqrt(fitted.posterior_.variance(encoded))
    nodes = np.linspace(-9.0, 9.0, 4001)
    density = np.exp(-0.5 * nodes**2) / np.sum(np.exp(-0.5 * nodes**2))
    averaged = 1.0 / (1.0 + np.exp(-(mean[:, None] + sd[:, None] * nodes))) @ density
    p = fitted.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(p, averaged, atol=1e-6)
    sure = 1.0 / (1.0 + np.exp(-mean))
    assert np.all(np.abs(p - 0.5) < np.abs(sure - 0.5) - 1e-3)


def test_a_pruned_model_is_less_sure(fitted: OAKClassifier) -> None:
    X, _ = a_table(200, seed=3)
    pruned = fitted.prune(0.99)
    assert len(pruned.terms_) < len(fitted.terms_)
    p, q = fitted.predict_proba(X)[:, 1], pruned.predict_proba(X)[:, 1]
    assert np.mean(np.abs(q - 0.5)) < np.mean(np.abs(p - 0.5))


@pytest.mark.parametrize(
    "labels",
    [
        ["no", "yes"],
        [False, True],
        [-1, 1],
        [2.0, 5.0],
        [np.datetime64("2024-01-01"), np.datetime64("2025-01-01")],
        [np.datetime64("2024-01-01", "ns"), np.datetime64("2025-01-01", "ns")],
    ],
)
def test_labels_of_any_kind_come_back(labels: Any) -> None:
    X, y = a_table(80)
    model = quick().fit(X, np.array(labels)[y])
    np.testing.assert_array_equal(model.classes_, np.array(labels))
    assert set(model.predict(X).tolist()) <= set(np.array(labels).tolist())
    assert np.mean(model.predict(X) == np.array(labels)[y]) > 0.7


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_are_labels_by_their_names(unit: str) -> None:
    X, y = a_table(80)
    days = np.array(["2024-01-01", "2025-01-01"], dtype=f"datetime64[{unit}]")
    by_date = quick(class_weight={pd.Timestamp("2024-01-01"): 0.2}).fit(X, days[y])
    np.testing.assert_array_equal(
        by_date.predict_proba(X), quick(class_weight={0: 0.2}).fit(X, y).predict_proba(X)
    )
    assert by_date.explain(X[:1]).quantity == "log odds of 2025-01-01"
    density = by_date.log_predictive_density(X, days[y].astype("datetime64[us]"))
    np.testing.assert_array_equal(density, by_date.log_predictive_density(X, days[y]))
    with pytest.raises(OptionError, match="not one of the labels 2024-01-01, 2025-01-01;"):
        quick(class_weight={"2023-01-01": 2.0}).fit(X, days[y])
    with pytest.raises(OptionError, match="names 'soon', which is not one of the labels"):
        quick(class_weight={"soon": 2.0}).fit(X, days[y])


def test_more_labels_are_one_against_the_rest() -> None:
    X, _ = a_table(150)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = quick().fit(pd.DataFrame(X, columns=["a", "b", "c"]), np.array(["low", "mid", "top"])[y])
    assert len(model.estimators_) == 3
    p = model.predict_proba(pd.DataFrame(X, columns=["a", "b", "c"]))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.mean(model.classes_[p.argmax(axis=1)] == np.array(["low", "mid", "top"])[y]) > 0.9


def test_weights_count_rows() -> None:
    X, y = a_table(120)
    whole = quick().fit(X, y)
    same = quick().fit(X, y, sample_weight=np.ones(120))
    np.testing.assert_allclose(same.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    y = np.arange(120) % 2  # nothing to do with X, so that the weights are all that counts
    more = quick().fit(X, y, sample_weight=np.where(y == 1, 1.0, 0.2))
    assert more.predict_proba(X)[:, 1].mean() == pytest.approx(5.0 / 6.0, abs=0.07)


def test_class_weights_are_those_of_rows_where_both_labels_have_the_same_inputs() -> None:
    """Elsewhere what is average among the inputs follows the weights of rows alone."""
    X, _ = a_table(60)
    X, y = np.vstack([X, X]), np.repeat([0, 1], 60)
    by_class = quick(class_weight={0: 0.2, 1: 1.0}).fit(X, y)
    by_row = quick().fit(X, y, sample_weight=np.where(y == 1, 1.0, 0.2))
    # Repeated rows have quantiles that are not quite those of the rows once each.
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=1e-4)


def test_class_weights_are_beside_each_other() -> None:
    X, y = a_table(120)
    same = quick(class_weight={0: 3.0, 1: 3.0}).fit(X, y)
    np.testing.assert_allclose(same.predict_proba(X), quick().fit(X, y).predict_proba(X), atol=1e-6)


def test_rare_labels_that_count_more_are_not_learned_by_heart() -> None:
    X, _ = a_table(200)
    y = np.random.default_rng(0).random(200) < 0.15  # nothing to do with X
    p = quick(class_weight="balanced").fit(X, y).predict_proba(X)[:, 1]
    assert p.mean() == pytest.approx(0.5, abs=0.05)
    assert p.std() < 0.1


def mixed(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A number, levels, and a few distinct numbers."""
    X, y = a_table(n)
    levels = np.array(["a", "b", "c"], dtype=object)[np.digitize(X[:, 1], [-0.5, 0.5])]
    return pd.DataFrame({"x": X[:, 0], "level": levels, "few": np.round(X[:, 2])}), y


@pytest.mark.parametrize("inference", ["exact", "sparse"])
def test_a_weight_is_a_repetition_and_the_order_of_rows_does_not_matter(inference: str) -> None:
    frame, y = mixed(150)
    weight = np.arange(150) % 4
    options = {"inference": inference} | ({"n_inducing": 20} if inference == "sparse" else {})
    weighted = quick(**options).fit(frame, y, sample_weight=weight)
    times = np.random.default_rng(0).permutation(np.repeat(np.arange(150), weight))
    repeated = quick(**options).fit(frame.iloc[times], y[times])
    np.testing.assert_array_equal(repeated.predict_proba(frame), weighted.predict_proba(frame))
    assert repeated.columns_ == weighted.columns_
    assert repeated.fit_result_.rows == times.size
    once = quick(**options).fit(frame, y)
    assert np.max(np.abs(once.predict_proba(frame) - weighted.predict_proba(frame))) > 1e-3


def test_encodings_and_frequencies_are_weighted() -> None:
    frame, y = mixed(80)
    weight = np.arange(80) % 4
    model = AdditiveGPClassifier(kind="gam", n_restarts=1).fit(frame, y, sample_weight=weight)
    shift = model.encoder_.columns[0].flow.units.shift
    assert shift == pytest.approx(np.average(frame["x"], weights=weight))
    measure = quick().fit(frame, y, sample_weight=weight).posterior_.kernel.components[1].measure
    shares = [np.average(frame["level"] == level, weights=weight) for level in ("a", "b", "c")]
    np.testing.assert_allclose(measure.probabilities, shares, atol=1e-12)


def test_rows_that_lack_a_cell_are_not_the_same_row() -> None:
    X, y = np.repeat(a_table(12)[0], 3, axis=0), np.arange(36) % 2
    X[:, 1] = np.nan
    X[::5, 1] = np.arange(8)
    _, merged = merged_rows(read_table(X), Target(y.astype(float), Logit()))
    apart = np.unique(np.column_stack([X, y])[~np.isnan(X[:, 1])], axis=0)
    assert merged.y.size == len(apart) + np.sum(np.isnan(X[:, 1]))


def test_weights_that_are_not_whole_leave_no_row_out() -> None:
    frame, y = mixed(100)
    frame.loc[0, "level"] = "rare"
    weight = np.where(np.arange(100) == 0, 1e-3, 1.7)
    model = quick().fit(frame, y, sample_weight=weight)
    assert "rare" in model.encoder_.schema.columns[1].levels
    assert np.all(np.isfinite(model.predict_proba(frame)))
    heavy = quick().fit(frame, y, sample_weight=np.where(y == 1, 1e7, 1e6))
    assert np.all(np.isfinite(heavy.predict_proba(frame)))


def test_an_identifier_is_left_out_whatever_the_weights() -> None:
    frame, y = mixed(60)
    frame["id"] = [f"row {i}" for i in range(60)]
    with pytest.warns(TermwiseWarning, match="identifier"):
        model = quick(class_weight="balanced").fit(frame, y)
    assert "id" not in {term.name for term in model.terms_}


def test_separable_data_is_sound() -> None:
    X, _ = a_table(60)
    for y in (X[:, 0] > 0.0, np.digitize(X[:, 0], [-0.5, 0.5])):
        model = quick().fit(X, y)
        p = model.predict_proba(X)
        assert np.all((p > 0.0) & (p < 1.0))
        assert np.mean(model.predict(X) == y) > 0.95


def test_a_class_of_one_row_is_sound() -> None:
    X, _ = a_table(60)
    for y in (np.arange(60) == 7, np.where(np.arange(60) == 7, 2, X[:, 0] > 0.0)):
        p = quick().fit(X, y).predict_proba(X)
        assert np.all((p > 0.0) & (p < 1.0))
        assert p[:, -1].mean() < 0.2


X, Y = a_table(30)
BAD: dict[str, tuple[Any, str]] = {
    "one class": (np.zeros(30), "one class, expected at least two"),
    "fractions": (np.linspace(0.0, 1.0, 30), "use a regressor to predict numbers"),
    "two fractions": (np.where(Y > 0, 0.5, 1.5), "make them texts if they are labels"),
    "infinite": (np.where(np.arange(30) == 3, np.inf, 1.0), "label of row 3 is infinity"),
    "complex": (Y * 1j, "Complex data not supported"),
    "bytes": (np.array([b"a", b"b"] * 15), "decode them to texts"),
    "bytes in a list": ([b"a", b"b"] * 15, "decode them to texts"),
    "things": (np.array([{}, object()] * 15, dtype=object), "give all of them as one"),
    "dicts": (np.array([{"a": 1}] * 30, dtype=object), "give texts or whole numbers"),
    "text and number": (np.array(["a", 1] * 15, dtype=object), "types number, text; give all of them as one"),
    "text and number in a list": (["a", 1] * 15, "types number, text; give all of them as one"),
    "text and truth in a list": ([True, "no"] * 15, "types text, truth value; give"),
    "number and truth in a list": ([True, 2] * 15, "types number, truth value; give"),
    "missing": (np.array(["a", None, "b"] * 10, dtype=object), "row 1 is missing"),
    "missing in a list": (["a", "b", np.nan] * 10, "row 2 is missing or NaN; leave"),
    "missing in pandas": (pd.Series(["a", "b", None] * 10, dtype="string"), "row 2 is missing"),
    "missing whole number": (pd.Series([0, None, 1] * 10, dtype="Int64"), "row 1 is missing"),
    "missing category": (pd.Series(["a", "b", None] * 10, dtype="category"), "row 2 is missing"),
    "missing date": (pd.Series(["2024-01-01", "2025-01-01", None] * 10, dtype="datetime64[ns]"), "row 2 is"),
    "not a number": (np.where(np.arange(30) == 4, np.nan, Y), "row 4 is missing or NaN"),
    "short": (Y[:7], "30 rows; give one label"),
    "two columns": (np.stack([Y, Y], axis=1), r"shape \(30, 2\)"),
    "lists": ([[0, 1]] * 30, r"shape \(30, 2\)"),
    "none": (None, "target y is None"),
}


@pytest.mark.parametrize("how", BAD)
def test_bad_labels_are_named(how: str) -> None:
    y, message = BAD[how]
    with pytest.raises(TargetError, match=message):
        quick().fit(X, y)


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(np.where(Y > 0, True, False), dtype=object),
        pd.Series(Y, dtype="Int64"),
        pd.Series(np.where(Y > 0, "yes", "no"), dtype="category"),
        np.where(Y > 0, "yes", "no").tolist(),
        Y.tolist(),
        tuple((Y > 0).tolist()),
    ],
    ids=["objects", "nullable", "category", "texts", "numbers", "truth values"],
)
def test_labels_in_any_holder(y: Any) -> None:
    codes = classes_of(y, 30)
    np.testing.assert_array_equal(codes[1], Y)
    assert codes[0].size == 2


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(30, -1.0), "negative"),
        (np.where(np.arange(30) == 3, np.nan, 1.0), "not finite"),
        (np.where(np.arange(30) == 3, np.inf, 1.0), "not finite"),
        (np.zeros(30), "zero in every row"),
        (0.0, "zero in every row"),
        (np.ones(7), r"shape \(7,\), but the table has 30 rows"),
        (np.ones((30, 2)), r"shape \(30, 2\)"),
        (["much"] * 30, "not made of numbers"),
        (np.where(Y == 1, 0.0, 1.0), "rows of the class 1 have weight zero"),
    ],
)
def test_bad_weights_are_named(weight: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        quick().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "use None, 'balanced' or a dict"),
        (3, "use None, 'balanced' or a dict"),
        (np.ones(2), "use None, 'balanced' or a dict"),
        ({0: -1.0, 1: 1.0}, "zero or more, not all zero"),
        ({0: 0.0, 1: 0.0}, "zero or more, not all zero"),
        ({0: np.nan, 1: 1.0}, "zero or more"),
        ({0: "much", 1: 1.0}, "give each label a number"),
        ({0: None, 1: 1.0}, "zero or more|give each label a number"),
        ({0: 0.0, 1: 1.0}, "rows of the class 0 have weight zero"),
        ({0: 1.0, 1: 2.0, 7: 3.0}, "class_weight names 7, which is not one of the labels 0, 1"),
        ({"no": 1.0}, "class_weight names 'no'"),
    ],
)
def test_bad_class_weights_are_named(class_weight: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        quick(class_weight=class_weight).fit(X, Y)


@pytest.mark.parametrize("kind", ["additive", "gam", "se", "all-subsets"])
def test_kernels_without_a_constraint_classify_too(kind: str) -> None:
    model = AdditiveGPClassifier(kind=kind, n_restarts=1).fit(*a_table(200))
    new, _ = a_table(1000, seed=1)
    p = model.predict_proba(new)[:, 1]
    assert np.sqrt(np.mean((p - 1.0 / (1.0 + np.exp(-latent(new)))) ** 2)) < 0.16


def test_a_wrong_link_is_named() -> None:
    with pytest.raises(OptionError, match="'logit', 'probit'"):
        quick(link="cloglog").fit(X, Y)


@pytest.mark.parametrize(
    ("went", "together"),
    [
        ([Status.CONVERGED, Status.CONVERGED], Status.CONVERGED),
        ([Status.CONVERGED, Status.MAX_STEPS], Status.MAX_STEPS),
        ([Status.PLANNED, Status.STUCK], Status.STUCK),
    ],
)
def test_one_label_that_is_stuck_is_not_hidden_by_the_others(went: list[Status], together: Status) -> None:
    parts = [FitResult(status, -1.0, 1, 1.0, 0.0, ()) for status in went]
    assert joint_result(parts).status is together
