"""Models of the angle are saved with their scales and kernel, and what does not fit is refused."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.errors import ModelFileError
from termwise.io.archive import ARRAYS
from termwise.kernels.zonal import KERNELS
from tests.io.models import NEW, TABLE, TARGET, rewritten, same_bits

QUICK: dict[str, Any] = {"n_inducing": 7, "random_state": 0}
LABELS = np.where(np.median(TARGET) < TARGET, "high", "low")
MODELS: dict[str, Callable[[], Any]] = {
    **{
        kernel: lambda kernel=kernel: tw.SphericalGPRegressor(kernel=kernel, **QUICK).fit(TABLE, TARGET)
        for kernel in KERNELS
    },
    "features": lambda: tw.SphericalGPRegressor(features="relu", n_orthogonal=4, **QUICK).fit(TABLE, TARGET),
    "harmonics": lambda: tw.SphericalGPRegressor(kernel="se", features="harmonics", n_degrees=3, **QUICK).fit(
        TABLE, TARGET
    ),
    "labels": lambda: tw.SphericalGPClassifier(link="probit", **QUICK).fit(TABLE, LABELS),
    "three labels": lambda: tw.SphericalGPClassifier(class_weight={0: 1.0, 2: 0.5}, **QUICK).fit(
        TABLE, np.digitize(TARGET, np.quantile(TARGET, [0.3, 0.6]))
    ),
}


@pytest.fixture(scope="module")
def fitted() -> Callable[[str], Any]:
    """The fitted models by name, each fitted once."""
    made: dict[str, Any] = {}

    def model(name: str) -> Any:
        if name not in made:
            made[name] = MODELS[name]()
        return made[name]

    return model


def said(model: Any, table: Any) -> tuple[Any, ...]:
    if hasattr(model, "predict_proba"):
        return model.predict_proba(table), model.decision_function(table)
    density = model.log_predictive_density(table, np.linspace(1.0, 9.0, len(table["age"])))
    return (*model.predict(table, return_std=True), density)


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_same_bit_for_bit(name: str, fitted: Any, tmp_path: Path) -> None:
    model = fitted(name)
    tw.save(model, tmp_path / "m")
    loaded, pickled = tw.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))
    for other in (loaded, pickled):
        assert type(other) is type(model)
        for table in (TABLE, NEW):
            for one, two in zip(said(model, table), said(other, table), strict=True):
                assert same_bits(one, two)
        assert other.get_params() == model.get_params()
        assert other.fit_result_ == model.fit_result_
        assert other.feature_names_in_.tolist() == model.feature_names_in_.tolist()
        assert not hasattr(other, "terms_")
    parts = zip(*(getattr(one, "estimators_", [one]) for one in (model, loaded)), strict=True)
    for one, two in parts:
        assert two.posterior_.kernel == one.posterior_.kernel
        assert two.encoder_.dense == one.encoder_.dense
        assert two.noise_ == one.noise_
    tw.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def set_at(*path: Any) -> Callable[[Any], None]:
    *way, key, value = path

    def change(document: Any) -> None:
        for step in way:
            document = document[step]
        document[key] = value

    return change


DAMAGED: dict[str, tuple[str, Callable[[dict[str, Any]], Any], str]] = {
    "another kernel": ("features", set_at("kernel", "shape", "name", "so"), "no kernel 'so'"),
    "a kernel as a list": ("features", set_at("kernel", "shape", "name", ["se"]), "no kernel"),
    "no shape": ("features", set_at("kernel", "shape", None), "TypeError"),
    "a lengthscale too many": ("features", set_at("kernel", "shape", "lengthscale", 1.0), "parameters"),
    "no lengthscale": ("harmonics", lambda d: d["kernel"]["shape"].pop("lengthscale"), "parameters"),
    "a lengthscale of zero": ("harmonics", set_at("kernel", "shape", "lengthscale", 0.0), "its kernel is"),
    "no variance": ("features", set_at("kernel", "variance", 0.0), "its kernel is"),
    "variance a text": ("features", set_at("kernel", "variance", "1"), "finite number"),
    "other features": ("features", set_at("kernel", "features", "tanh"), "features is 'tanh'"),
    "features of fewer tags": ("features", set_at("kernel", "features", "points"), "tags that the kernel"),
    "fewer degrees": ("harmonics", set_at("kernel", "n_degrees", 1), "tags that the kernel has not"),
    "half a degree": ("features", set_at("kernel", "n_degrees", 2.5), "'2.5' degrees"),
    "too many degrees": ("features", set_at("kernel", "n_degrees", 10**9), "'1000000000' degrees"),
    "no degree": ("features", set_at("kernel", "n_degrees", 0), "'0' degrees"),
    "a scale too few": ("features", lambda d: d["scales"].pop(), "its scales are"),
    "a scale of zero": ("features", set_at("scales", 0, 0.0), "its scales are"),
    "no scales": ("features", lambda d: d.pop("scales"), "KeyError"),
    "frequencies": ("features", set_at("encoder", "parts", [[0.1]]), "do not belong to"),
    "noise": ("features", set_at("noise", -1.0), "the noise is"),
    "another estimator": ("features", set_at("estimator", "OAKRegressor"), "save the model again"),
    "one of terms": ("features", set_at("estimator", "ProjectedGPRegressor"), "save the model again"),
    "a part of nothing": ("three labels", set_at("each", 1, {}), "KeyError"),
    "a label too many": ("three labels", lambda d: d["classes"].append(7), "3 parts for 4 labels"),
}


@pytest.mark.parametrize("how", DAMAGED)
def test_documents_that_do_not_fit(how: str, fitted: Any, tmp_path: Path) -> None:
    name, change, message = DAMAGED[how]
    with pytest.raises(ModelFileError, match=message) as caught:
        tw.load(rewritten(fitted(name), tmp_path, change))
    assert "save the model again" in str(caught.value)


BAD_ARRAYS: dict[str, tuple[str, Callable[[dict[str, np.ndarray]], Any]]] = {
    "a tag without a series": ("tags", lambda a: a["centres"].__setitem__((0, -1), 2.0)),
    "half a tag": ("tags", lambda a: a["centres"].__setitem__((0, -1), 0.5)),
    "a tag below all": ("tags", lambda a: a["centres"].__setitem__((0, -1), -2.0)),
    "a row that is not lengthened": ("lengthened by one", lambda a: a["centres"].__setitem__((0, -2), 0.0)),
    "a missing cell": ("lengthened by one", lambda a: a["centres"].__setitem__((0, 0), np.nan)),
    "a tag that is no number": ("lengthened by one", lambda a: a["centres"].__setitem__((0, -1), np.nan)),
    "an infinite cell": ("not finite rows", lambda a: a["centres"].__setitem__((0, 0), np.inf)),
    "a column too few": ("not finite rows", lambda a: a.update(centres=a["centres"][:, 1:].copy())),
    "a feature that was seen": ("tags", lambda a: a["seen"].__setitem__((0, -1), 1.0)),
    "nothing to weigh by": ("not finite", lambda a: a["alpha"].__setitem__(0, np.nan)),
    "a weight too few": ("do not fit", lambda a: a.update(alpha=a["alpha"][:-1])),
}


@pytest.mark.parametrize("how", BAD_ARRAYS)
def test_arrays_that_do_not_fit(how: str, fitted: Any, tmp_path: Path) -> None:
    message, change = BAD_ARRAYS[how]
    tw.save(fitted("features"), tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = {name: np.load(io.BytesIO(members[f"{name}.npy"])) for name in (*ARRAYS, "seen")}
    change(arrays)
    document = json.loads(members["model.json"])
    document["arrays"] = {name: list(array.shape) for name, array in arrays.items()}
    with zipfile.ZipFile(tmp_path / "changed", "w") as archive:
        archive.writestr("model.json", json.dumps(document))
        for name, array in arrays.items():
            stream = io.BytesIO()
            np.save(stream, array)
            archive.writestr(f"{name}.npy", stream.getvalue())
    with pytest.raises(ModelFileError, match=message):
        tw.load(tmp_path / "changed")
