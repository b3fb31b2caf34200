"""Models of networks as files: the same bit for bit, and refused if changed."""

from __future__ import annotations

from typing import Any

import pytest

import termwise as tw
from termwise import DeepKernelRegressor
from termwise.errors import ModelFileError
from tests.deep.samples import KINDS, TERMS, every_kind
from tests.io.models import NEW, TABLE, TARGET, rewritten, same_bits


@every_kind
def test_a_loaded_model_is_the_same_bit_for_bit(kind: str, tmp_path: Any) -> None:
    model = DeepKernelRegressor(**KINDS[kind]).fit(TABLE, TARGET)
    tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert isinstance(loaded, DeepKernelRegressor)
    for table in (TABLE, NEW):
        both = (one.predict(table, return_std=True) for one in (model, loaded))
        for one, other in zip(*both, strict=True):
            assert same_bits(one, other)
    if kind in TERMS:
        both = (one.predict_terms(NEW, return_std=True) for one in (model, loaded))
        assert all(same_bits(one, other) for one, other in zip(*both, strict=True))
        assert same_bits(loaded.sobol_["share"], model.sobol_["share"])
    assert hasattr(model, "interactions_") == hasattr(loaded, "interactions_")
    if hasattr(model, "interactions_"):
        assert loaded.interactions_.ranked == model.interactions_.ranked
        assert loaded.interactions_.names == model.interactions_.names
        assert loaded.interactions_.untold == model.interactions_.untold
    assert (loaded.fit_result_, loaded.n_parameters_) == (model.fit_result_, model.n_parameters_)
    tw.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def _set(*path: Any, to: Any) -> Any:
    def change(document: Any) -> None:
        for name in path[:-1]:
            document = document[name]
        document[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("sets", _set("deep", "sets", to=[[0, 1]]), "are not those of its networks"),
        ("sets", _set("deep", "sets", to=[[0, 1], [0, 1]]), "are not those of its networks"),
        ("sets", _set("deep", "sets", to=[[0, 99], [1]]), "it has the set"),
        ("sets", _set("deep", "inputs", to=[]), "it has no sets"),
        ("sets", _set("deep", "inputs", to=[[0], [1]]), "an array of shape"),
        ("sets", _set("deep", "amplitude", to=[1.0, -1.0]), "amplitude has the variance -1"),
        ("sets", _set("deep", "constant", to=-1.0), "constant has the variance -1"),
        ("sets", _set("noise", to=-1.0), "the noise is"),
        ("iok", _set("interactions", "ranked", 0, "columns", to=["age", "so"]), "it has the interaction"),
        ("iok", _set("interactions", "untold", to=2.0), "it has untold 2, expected 0 to 1"),
        ("rbf", _set("deep", "kernel", to="so"), "no kernel 'so'"),
        ("rbf", _set("deep", "kernel", to="sm"), "damaged"),
        ("trend", _set("deep", "trend", to=[]), "damaged"),
    ],
)
def test_a_changed_file_is_refused(kind: str, change: Any, message: str, tmp_path: Any) -> None:
    model = DeepKernelRegressor(**KINDS[kind]).fit(TABLE, TARGET)
    with pytest.raises(ModelFileError, match=message):
        tw.load(rewritten(model, tmp_path, change))
