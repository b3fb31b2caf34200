"""Minibatches: every row once a round, well mixed, the same after a fit is resumed."""

from itertools import islice, pairwise

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.inference import minibatches
from termwise.inference.minibatches import Minibatches


def chunks_of(n, ends):
    """Rows that can be told apart, in chunks; weight and offset follow from the row."""
    y = np.arange(float(n))
    X = np.column_stack([y, -y])
    whole = ArrayChunk(X, y, 2.0 * y, 3.0 * y)
    return [whole.rows(slice(a, b)) for a, b in pairwise([0, *ends, n])]


def rows_of(batches, count):
    return [batch.y for batch in islice(batches, count)]


@pytest.mark.parametrize("window", [1, 700, 2**28])
@pytest.mark.parametrize("ends", [(), (7, 8, 40, 90)])
def test_every_row_comes_once_a_round(ends, window, monkeypatch):
    monkeypatch.setattr(minibatches, "WINDOW_BYTES", window)
    batches = Minibatches(chunks_of(100, ends), 100, 10, seed=3)
    assert batches.per_round == 10
    rows = rows_of(batches.after(0), 30)
    assert all(len(one) == 10 for one in rows)
    for number in range(3):
        one = np.concatenate(rows[10 * number : 10 * number + 10])
        np.testing.assert_array_equal(np.sort(one), np.arange(100.0))
    assert not np.array_equal(rows[0], rows[10])


@pytest.mark.parametrize("window", [1, 700, 2**28])
def test_what_comes_at_a_step_depends_on_seed_and_step_alone(window, monkeypatch):
    monkeypatch.setattr(minibatches, "WINDOW_BYTES", window)
    batches = Minibatches(chunks_of(103, (50, 60)), 103, 10, seed=5)
    whole = rows_of(batches.after(0), 25)
    for step in (1, 9, 10, 14):
        again = rows_of(batches.after(step), 25 - step)
        assert all(np.array_equal(a, b) for a, b in zip(again, whole[step:], strict=True))
    other = rows_of(Minibatches(batches.chunks, 103, 10, seed=6).after(0), 1)
    assert not np.array_equal(other[0], whole[0])


def test_weights_and_offsets_stay_with_their_rows():
    for batch in islice(Minibatches(chunks_of(50, (20,)), 50, 8, seed=0).after(0), 12):
        np.testing.assert_array_equal(batch.X, np.column_stack([batch.y, -batch.y]))
        np.testing.assert_array_equal(batch.weight, 2.0 * batch.y)
        np.testing.assert_array_equal(batch.offset, 3.0 * batch.y)


def test_sorted_rows_are_mixed():
    batches = Minibatches(chunks_of(10_000, range(100, 10_000, 100)), 10_000, 500, seed=0)
    means = [np.mean(rows) for rows in rows_of(batches.after(0), 20)]
    assert np.std(means) < 3.0 * (10_000 / np.sqrt(12.0)) / np.sqrt(500.0)


def test_fewer_rows_than_a_minibatch_are_one():
    batches = Minibatches(chunks_of(5, (2,)), 5, 10, seed=0)
    for rows in rows_of(batches.after(1), 3):
        np.testing.assert_array_equal(np.sort(rows), np.arange(5.0))
