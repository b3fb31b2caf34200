"""A figure says whether its limit is met, whatever kind of number it is."""

import numpy as np
import pytest

from benchmarks.figures import Figure, summary


@pytest.mark.parametrize("number", [float, np.float64])
def test_a_missed_limit_is_counted_as_missed(number):
    figures = [Figure("time", number(2.0), at_most=1.0), Figure("score", number(2.0), at_least=1.0)]
    assert [figure.met for figure in figures] == [False, True]
    assert summary(figures) == "1 of 2 limits met\n  missed: time"
