"""The defaults predict at least as well as the official code of the OAK paper, on its first splits."""

import pytest

from benchmarks.data import load
from benchmarks.quality import OFFICIAL, SMALL, scored


@pytest.mark.parametrize("name", SMALL)
def test_the_defaults_predict_at_least_as_well_as_the_official_code(name, data_dir):
    found, official = scored(load(name, where=data_dir)), OFFICIAL[name]
    assert found.rmse <= official.rmse
    assert found.density >= official.density
