"""Columns become what the peers want."""

import numpy as np
import pytest

from benchmarks.harness.numbers import Cells, Codes, Factors, Numbers

X = {
    "size": np.array([1.0, 3.0, np.nan, 5.0]),
    "age": np.array([10.0, 20.0, 30.0, 40.0]),
    "same": np.array([0.1, 0.1, 0.1, 0.1]),
    "empty": np.full(4, np.nan),
    "city": np.array(["Rome", None, "Oslo", "Rome"], dtype=object),
    "code": np.array([7.0, 3.0, 7.0, 7.0]),
    "only": np.array(["a", "a", "a", "a"], dtype=object),
}
NEW = {
    "size": np.array([9.0, np.nan]),
    "age": np.array([np.nan, 25.0]),
    "same": np.array([5.0, np.nan]),
    "empty": np.array([1.0, 2.0]),
    "city": np.array(["Lima", np.nan], dtype=object),
    "code": np.array([5.0, np.nan]),
    "only": np.array(["b", None], dtype=object),
}
CATEGORICAL = ["city", "code"]
SIZE, AGE = np.array([1.0, 3.0, 5.0]), X["age"]


def test_numbers_are_standardised_and_levels_are_columns():
    size = (np.array([1.0, 3.0, 3.0, 5.0]) - SIZE.mean()) / SIZE.std()
    expected = np.column_stack(
        [
            size,
            [0, 0, 1, 0],  # size is missing
            (AGE - AGE.mean()) / AGE.std(),
            [0, 0, 1, 0],  # Oslo
            [1, 0, 0, 1],  # Rome
            [0, 1, 0, 0],  # city is missing
            [0, 1, 0, 0],  # 3
            [1, 0, 1, 1],  # 7
        ]
    )
    np.testing.assert_allclose(Numbers.of(X, CATEGORICAL).rows(X), expected)


def test_numbers_of_new_rows_know_only_what_training_had():
    found = Numbers.of(X, CATEGORICAL).rows(NEW)
    size = (9.0 - SIZE.mean()) / SIZE.std()
    np.testing.assert_allclose(found, [[size, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 1, 0, 0]])


def test_codes_keep_missing_cells():
    codes = Codes.of(X, CATEGORICAL)
    assert codes.labels == [4, 5, 6]
    rows = codes.rows(X)
    np.testing.assert_array_equal(rows[:, 0], X["size"])
    np.testing.assert_array_equal(rows[:, 4], [1, np.nan, 0, 1])
    np.testing.assert_array_equal(rows[:, 5], [1, 0, 1, 1])
    np.testing.assert_array_equal(codes.rows(NEW)[:, 4:], np.full((2, 3), np.nan))


def test_factors_have_no_missing_cell():
    factors = Factors.of(X, CATEGORICAL)
    assert factors.kinds == ("number", "factor", "number", "factor", "factor")
    np.testing.assert_array_equal(factors.rows(X)[:, 3:], [[1, 1], [2, 0], [0, 1], [1, 1]])
    # Lima counts as Rome, the most frequent; 5 and a missing code as 7.
    np.testing.assert_array_equal(factors.rows(NEW)[:, 3:], [[1, 1], [2, 1]])


def test_cells_stay_as_they_are():
    cells = Cells.of(X, CATEGORICAL)
    assert cells.kinds == ["continuous"] * 4 + ["nominal"] * 3
    rows = cells.rows(X)
    assert rows[:, 4].tolist() == ["Rome", None, "Oslo", "Rome"]
    assert rows[:, 5].tolist() == ["7.0", "3.0", "7.0", "7.0"]
    assert np.isnan(rows[2, 0])
    assert cells.rows(NEW)[:, 4].tolist() == ["Lima", None]
    numbers = {"a": np.array([1.0, np.nan]), "b": np.array([3, 4])}
    assert Cells.of(numbers, []).rows(numbers).dtype == float


@pytest.mark.parametrize("kind", [Numbers, Factors])
def test_columns_that_say_nothing_leave_no_rows(kind):
    X = {"same": np.ones(3)}
    assert kind.of(X, []).rows(X).shape == (3, 0)
