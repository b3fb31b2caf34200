"""A model file keeps how the target comes about; files from before that are of normal noise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.errors import ModelFileError
from termwise.estimators.targets import LIKELIHOODS
from tests.io.models import NEW, TABLE, TARGET, assert_same, rewritten, same_bits

COUNTS = np.round(np.exp(TARGET / 8.0))
EXPOSURE = 1.0 + np.arange(len(COUNTS))
FITS: dict[str, Callable[[], Any]] = {
    "poisson": lambda: oak(likelihood="poisson").fit(TABLE, COUNTS, exposure=EXPOSURE),
    "student": lambda: oak(likelihood="student").fit(TABLE, TARGET),
    "additive": lambda: tw.AdditiveGPRegressor(kind="gam", likelihood="poisson").fit(TABLE, COUNTS),
    "sparse": lambda: oak(likelihood="student", inference="sparse", n_inducing=10).fit(TABLE, TARGET),
    "pruned": lambda: oak(likelihood="poisson").fit(TABLE, COUNTS).prune(0.3),
    "changed after": lambda: oak(likelihood="student").fit(TABLE, TARGET).set_params(likelihood="normal"),
}


def oak(**options: Any) -> tw.OAKRegressor:
    return tw.OAKRegressor(**{"max_order": 1, "n_restarts": 1, **options})


@pytest.fixture(scope="module")
def of_student() -> tw.OAKRegressor:
    return FITS["student"]()


@pytest.mark.parametrize("name", FITS)
def test_a_loaded_model_is_the_same_bit_for_bit(name: str, tmp_path: Path) -> None:
    model = FITS[name]()
    tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert loaded.likelihood_ == model.likelihood_
    assert (loaded.noise_, loaded.target_scale_) == (model.noise_, model.target_scale_)
    assert loaded.get_params() == model.get_params()
    assert_same(model, loaded)
    assert loaded.exposed_ == model.exposed_ == (name == "poisson")
    given = {"exposure": np.arange(1.0, 5.0)} if model.exposed_ else {}
    one, other = (each.log_predictive_density(NEW, COUNTS[:4], **given) for each in (loaded, model))
    assert same_bits(one, other)
    tw.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_file_of_the_first_format_is_of_normal_noise(tmp_path: Path) -> None:
    def as_it_was(document: dict[str, Any]) -> None:
        document["format"] = 1
        del document["likelihood"], document["exposed"], document["params"]["likelihood"]

    model = oak().fit(TABLE, TARGET)
    loaded = tw.load(rewritten(model, tmp_path, as_it_was))
    assert loaded.likelihood_ is None
    assert_same(model, loaded)


def test_every_likelihood_can_be_saved() -> None:
    assert {*LIKELIHOODS} <= {*FITS}, "add a model with the new likelihood to FITS"


DAMAGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "none": lambda d: d.pop("likelihood"),
    "null": lambda d: d.update(likelihood=None),
    "a text": lambda d: d.update(likelihood="student"),
    "no name": lambda d: d["likelihood"].pop("name"),
    "another name": lambda d: d["likelihood"].update(name="cauchy"),
    "normal with parameters": lambda d: d["likelihood"].update(name="normal"),
    "poisson with parameters": lambda d: d["likelihood"].update(name="poisson"),
    "no scale": lambda d: d["likelihood"].pop("scale"),
    "no positive scale": lambda d: d["likelihood"].update(scale=0.0),
    "a scale that is a text": lambda d: d["likelihood"].update(scale="0.3"),
    "without a variance": lambda d: d["likelihood"].update(degrees=2.0),
    "infinite": lambda d: d["likelihood"].update(degrees=float("inf")),
    "more": lambda d: d["likelihood"].update(skew=1.0),
}


@pytest.mark.parametrize("how", DAMAGED)
def test_a_likelihood_that_is_none_is_refused(how: str, of_student: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="save the model again"):
        tw.load(rewritten(of_student, tmp_path, DAMAGED[how]))
