"""Classifiers are saved with their labels, and with a part for each label if there are many."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.errors import ModelFileError, TermwiseWarning
from termwise.estimators.additive import AdditiveGPClassifier
from termwise.estimators.oak import OAKClassifier

rng = np.random.default_rng(0)
TABLE = {"a": rng.normal(size=60), "b": rng.choice(["x", "y"], 60).tolist()}
YES = TABLE["a"] + rng.normal(0.0, 0.5, 60) > 0.0
MODELS: dict[str, Callable[[], Any]] = {
    "texts": lambda: oak().fit(TABLE, np.where(YES, "yes", "no")),
    "truth values": lambda: oak(link="probit").fit(TABLE, YES),
    "numbers": lambda: AdditiveGPClassifier(kind="gam", n_restarts=1).fit(TABLE, YES.astype(int)),
    "sparse": lambda: oak(inference="sparse", n_inducing=10).fit(TABLE, YES),
    "three": lambda: oak().fit(TABLE, np.digitize(TABLE["a"], [-0.5, 0.5])),
    "pruned": lambda: oak().fit(TABLE, YES).prune(0.5),
}


def oak(**options: Any) -> OAKClassifier:
    return OAKClassifier(**{"max_order": 1, "n_restarts": 1, **options})


@pytest.fixture(scope="module")
def fitted() -> Callable[[str], Any]:
    made: dict[str, Any] = {}
    return lambda name: made.setdefault(name, None) or made.update({name: MODELS[name]()}) or made[name]


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_classifier_is_the_same_bit_for_bit(name: str, fitted: Any, tmp_path: Path) -> None:
    model = fitted(name)
    tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict_proba(TABLE), model.predict_proba(TABLE))
    np.testing.assert_array_equal(loaded.predict(TABLE), model.predict(TABLE))
    np.testing.assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    tw.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_labels_that_json_has_not_cannot_be_saved(tmp_path: Path) -> None:
    for unit in ("D", "ns"):  # of which NumPy makes dates and whole numbers
        days = np.array(["2024-01-01", "2025-01-01"], dtype=f"datetime64[{unit}]")
        with pytest.raises(ModelFileError, match="texts or numbers"):
            tw.save(oak().fit(TABLE, days[YES.astype(int)]), tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("labels", "class_weight"),
    [
        ([0, 1], {0: 1.0, 1: 3.0}),
        ([0, 1], {np.int64(0): 1, np.int64(1): np.float64(3.0)}),
        ([False, True], {True: 0.5}),
        ([2.0, 7.0], {2.0: 0.5, 7: 1.0}),
        (["no", "yes"], {"no": 0.5}),
        (["no", "yes"], "balanced"),
        (["no", "yes"], {}),
    ],
    ids=str,
)
def test_class_weights_are_kept(labels: list[Any], class_weight: Any, tmp_path: Path) -> None:
    model = oak(class_weight=class_weight).fit(TABLE, np.array(labels)[YES.astype(int)])
    tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m").class_weight
    assert loaded == class_weight
    if isinstance(class_weight, dict):
        kinds = [type(key.item() if isinstance(key, np.generic) else key) for key in class_weight]
        assert [type(key) for key in loaded] == kinds


def test_class_weights_that_no_file_has_are_named(tmp_path: Path) -> None:
    model = oak(class_weight={Fraction(0): 0.5}).fit(TABLE, YES.astype(int))
    with pytest.warns(TermwiseWarning, match="class_weight is .*Fraction.*left out of the file"):
        tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert loaded.class_weight is None
    np.testing.assert_array_equal(loaded.predict_proba(TABLE), model.predict_proba(TABLE))


DAMAGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no labels": lambda d: d.pop("classes"),
    "one label": lambda d: d.update(classes=["no"]),
    "labels twice": lambda d: d.update(classes=["no", "no", "yes"]),
    "labels out of order": lambda d: d.update(classes=["yes", "no", "maybe"]),
    "labels of two types": lambda d: d.update(classes=["no", 1, 2]),
    "a list as label": lambda d: d.update(classes=[["no"], ["yes"], ["z"]]),
    "a part too few": lambda d: d["each"].pop(),
    "no parts": lambda d: d.pop("each"),
    "a part of nothing": lambda d: d["each"].__setitem__(1, {}),
    "class weights by lists": lambda d: d["params"].update(class_weight=[[[0], 1.0]]),
    "class weights of threes": lambda d: d["params"].update(class_weight=[[0, 1.0, 2.0]]),
    "class weights of texts": lambda d: d["params"].update(class_weight=["ab"]),
    "class weights without numbers": lambda d: d["params"].update(class_weight=[[0, "much"]]),
    "another link": lambda d: d.update(link="cloglog"),
    "a link that is a list": lambda d: d.update(link=["logit"]),
    "another array": lambda d: d["arrays"].update({"7.alpha": [3]}),
    "a path as array": lambda d: d["arrays"].update({"../alpha": [3]}),
}


@pytest.mark.parametrize("how", DAMAGED)
def test_what_does_not_fit_is_refused(how: str, fitted: Any, tmp_path: Path) -> None:
    tw.save(fitted("three"), tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members["model.json"])
    DAMAGED[how](document)
    members["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(tmp_path / "changed", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError):
        tw.load(tmp_path / "changed")
