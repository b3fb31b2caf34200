"""Models of the terms that a user allows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import termwise as tw
from termwise.errors import OptionError, TableError, TermError, TermwiseWarning
from termwise.kernels.selection import ListedTerms, selection_of

N = 240


def rows(seed=0, n=N):
    """y = sin 2a + b c, of four numbers and a column of levels; some cells are missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 4)), columns=["a", "b", "c", "d:e"])
    frame["city"] = rng.choice(["Bergen", "Oslo"], n)
    y = (
        np.sin(2.0 * frame["a"])
        + frame["b"] * frame["c"]
        + (frame["city"] == "Oslo")
        + 0.1 * rng.normal(size=n)
    )
    frame.loc[rng.choice(n, 12, replace=False), "a"] = np.nan
    return frame, y.to_numpy()


X, Y = rows()
TRUE = ["a", "b", "c", "b:c", "city"]


@pytest.mark.parametrize("options", [{}, {"inference": "sparse", "n_inducing": 60}], ids=["exact", "sparse"])
def test_it_has_these_terms_and_they_sum_to_the_prediction(options):
    model = tw.OAKRegressor(terms=TRUE, n_restarts=1, **options).fit(X, Y)
    new, truth = rows(seed=1)
    assert {term.name for term in model.terms_} == set(TRUE)
    assert set(model.predict_terms(new).columns) == set(TRUE)
    total = model.constant_ + model.predict_terms(new).sum(axis=1)
    np.testing.assert_allclose(total, model.predict(new), atol=1e-8)
    assert model.sobol_["share"].sum() == pytest.approx(1.0)
    assert model.score(new, truth) > 0.93
    changed = new.assign(**{"d:e": 7.0})
    np.testing.assert_array_equal(model.predict(changed), model.predict(new))


def test_the_true_terms_are_learned_better_than_all():
    every = tw.OAKRegressor(n_restarts=1).fit(X, Y)
    alone = tw.OAKRegressor(terms=TRUE, n_restarts=1).fit(X, Y)
    assert alone.objective_ > every.objective_ + 20.0
    new, truth = rows(seed=1)
    assert alone.score(new, truth) > every.score(new, truth)


def test_what_prune_has_kept_can_be_fitted_by_itself():
    kept = tw.OAKRegressor(n_restarts=1).fit(X, Y).prune(n_terms=5)
    names = [term.name for term in kept.terms_]
    assert {"a", "b:c", "city"} < set(names)
    again = tw.OAKRegressor(terms=kept.terms_, n_restarts=1).fit(X, Y)
    new, truth = rows(seed=1)
    assert again.score(new, truth) > kept.score(new, truth) - 0.01
    assert set(again.prune(n_terms=2).predict_terms(new).columns) < set(names)


def test_order_of_terms_and_features_and_repetitions_do_not_matter():
    one = tw.OAKRegressor(terms=TRUE, n_restarts=1).fit(X, Y)
    other = tw.OAKRegressor(terms=["city", ("c", "b"), "a", "c", "b", "b: c"], n_restarts=1).fit(X, Y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_names_with_colons_and_columns_that_do_not_vary():
    table = X.assign(same=1.0)
    asked = ["a", "`d:e`:b", "d:e", "same", "same:c"]
    with pytest.warns(TermwiseWarning, match="the term 'same.*' is left out"):
        model = tw.OAKRegressor(terms=asked, n_restarts=1).fit(table, Y)
    assert {term.features for term in model.terms_} == {("a",), ("b", "d:e"), ("d:e",)}
    assert model.encoder_.names == ("a", "b", "d:e")  # and not c, which no term is left of
    for terms in (["same:a"], ["same"]):
        with pytest.raises(TableError, match="one value only"):
            tw.OAKRegressor(terms=terms).fit(table, Y)


def test_arrays_of_names_are_lists_and_sets_have_no_order():
    names = pd.Series(TRUE)
    model = tw.OAKRegressor(terms=names, n_restarts=1).fit(X, Y)
    assert {term.name for term in model.terms_} == set(TRUE)
    with pytest.raises(OptionError, match="list of names"):
        tw.OAKRegressor(terms=set(TRUE)).fit(X, Y)


def test_many_columns_and_a_large_term_need_no_list_of_all():
    assert isinstance(selection_of((*[(d,) for d in range(60)], tuple(range(12))), 60), ListedTerms)


def test_labels_counts_and_files(tmp_path):
    label = tw.OAKClassifier(terms=TRUE).fit(X, Y > 0.5)
    assert {term.name for term in label.terms_} == set(TRUE)
    assert label.score(X, Y > 0.5) > 0.85
    count = tw.OAKRegressor(terms=TRUE, likelihood="poisson").fit(X, np.round(np.exp(Y / 2.0)))
    assert {term.name for term in count.terms_} == set(TRUE)
    tw.save(label, tmp_path / "m.termwise")
    again = tw.load(tmp_path / "m.termwise")
    np.testing.assert_array_equal(again.predict_proba(X), label.predict_proba(X))
    assert again.terms == TRUE
    assert clone(label).terms == TRUE
    tw.save(tw.OAKRegressor(terms=label.terms_).fit(X, Y), tmp_path / "of-terms.termwise")
    assert set(tw.load(tmp_path / "of-terms.termwise").terms) == set(TRUE)


def test_data_larger_than_memory_and_the_page(tmp_path):
    pytest.importorskip("pyarrow")
    X.assign(y=Y).to_parquet(tmp_path / "t.parquet", row_group_size=80)
    model = tw.OAKRegressor(terms=TRUE, n_inducing=60, n_restarts=1)
    model.fit_dataset(tmp_path / "t.parquet", target="y")
    assert {term.name for term in model.terms_} == set(TRUE)
    assert model.score(X, Y) > 0.9
    model.explain().report(tmp_path / "page.html")
    assert "b:c" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_list_that_is_every_term_is_the_same_model():
    numbers = X[["a", "b", "c"]]
    every = tw.OAKRegressor(max_order=1, n_restarts=1).fit(numbers, Y)
    listed = tw.OAKRegressor(terms=["c", "a", "b"], n_restarts=1).fit(numbers, Y)
    np.testing.assert_array_equal(every.predict(numbers), listed.predict(numbers))


@pytest.mark.parametrize(
    ("terms", "error", "match"),
    [
        ("a", OptionError, r"\['age', 'age:income'\]"),
        ([], OptionError, "list of names"),
        (3, OptionError, "list of names"),
        ([3], OptionError, "terms has 3"),
        (["a:a"], OptionError, "each of its features once"),
        ([()], OptionError, "each of its features once"),
        (["a:"], OptionError, "each of its features once"),
        (["a", "citty"], TermError, "did you mean 'city'"),
        (["a:zzz"], TermError, "no column 'zzz'; the columns are 'a', 'b'"),
        (["d:e:a"], TermError, "in backticks"),
    ],
)
def test_what_is_no_list_of_terms_is_refused(terms, error, match):
    with pytest.raises(error, match=match):
        tw.OAKRegressor(terms=terms).fit(X, Y)
