"""A file that is no model, or no longer one, is refused in one line that says what to do."""

from __future__ import annotations

import io
import json
import os
import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import termwise as tw
from termwise.errors import ModelFileError
from termwise.io.archive import ARRAYS, DOCUMENT, FORMAT
from tests.io.models import NEW, ROWS, same_bits

Document = dict[str, Any]
Arrays = dict[str, np.ndarray]


def refused(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        tw.load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 800
    assert str(path) in message
    return message


def test_files_that_are_no_models(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "nowhere")
    assert "cannot be read" in refused(tmp_path)
    for content in (b"", b"PK", b"age,price\n1,2\n", pickle.dumps(tw.OAKRegressor()), b"\0" * 3000):
        (tmp_path / "m").write_bytes(content)
        assert "not a model file" in refused(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    assert "not a model file" in refused(tmp_path / "z")


def test_a_truncated_file_is_refused(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    lengths = {*range(0, len(content), 97), *range(len(content) - 60, len(content)), 1, 2, 3, 4, 30}
    for length in lengths:
        (tmp_path / "m").write_bytes(content[:length])
        refused(tmp_path / "m")


def test_a_flipped_byte_is_refused_or_harmless(
    saved: Path, fitted: Callable[[str], Any], tmp_path: Path
) -> None:
    content = saved.read_bytes()
    end = len(content)
    # All of the directory at the end, where the structure is, and a sample of the rest.
    positions = [*range(0, end - 400, 151), *range(end - 400, end), *range(60)]
    expected = fitted("oak").predict(NEW, return_std=True)
    harmless = 0
    for position in positions:
        for mask in (0x01, 0xFF):
            changed = bytearray(content)
            changed[position] ^= mask
            (tmp_path / "m").write_bytes(changed)
            try:
                loaded = tw.load(tmp_path / "m")
            except ModelFileError:
                continue
            harmless += 1
            found = loaded.predict(NEW, return_std=True)
            assert all(same_bits(one, other) for one, other in zip(found, expected, strict=True))
    assert harmless < len(positions)  # dates and attributes of members, which nobody reads


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy(array: np.ndarray, **how: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **how)
    return stream.getvalue()


def test_members_are_a_closed_list(saved: Path, tmp_path: Path) -> None:
    members = contents(saved)
    expected = {DOCUMENT, *(f"{name}.npy" for name in ARRAYS)}
    assert set(members) == expected
    assert tw.load(written(tmp_path / "same", members))
    assert "members" in refused(written(tmp_path / "m", {**members, "more.npy": b""}))
    assert "members" in refused(written(tmp_path / "m", {**members, "../../evil": b""}))
    for name in expected:
        assert refused(written(tmp_path / "m", {n: c for n, c in members.items() if n != name}))
    with warnings.catch_warnings(), zipfile.ZipFile(written(tmp_path / "m", members), "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("alpha.npy", members["alpha.npy"])
    assert "members" in refused(tmp_path / "m")


def test_a_bomb_is_refused_before_it_is_read(saved: Path, tmp_path: Path) -> None:
    members = {**contents(saved), "root.npy": b"\0" * 50_000_000}
    bomb = written(tmp_path / "bomb", members, zipfile.ZIP_DEFLATED)
    assert bomb.stat().st_size < 200_000
    assert "compressed" in refused(bomb)


def test_code_in_an_array_is_refused(saved: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "it ran"),)

    array = np.empty(ROWS, dtype=object)
    array[:] = Evil()
    for name in ARRAYS:
        members = {**contents(saved), f"{name}.npy": npy(array, allow_pickle=True)}
        assert "expected float64" in refused(written(tmp_path / "m", members))
    assert not (tmp_path / "it ran").exists()


def test_a_newer_format_asks_for_an_upgrade(saved: Path, tmp_path: Path) -> None:
    # A newer format may have other members too.
    newer = {"model.json": json.dumps({"format": FORMAT + 1, "termwise": "9.0"}).encode(), "new": b""}
    message = refused(written(tmp_path / "m", newer))
    assert "upgrade termwise" in message
    assert "'9.0'" in message


BAD_ARRAYS: dict[str, Callable[[Arrays], Any]] = {
    "float32": lambda a: a.update(alpha=a["alpha"].astype(np.float32)),
    "big endian": lambda a: a.update(alpha=a["alpha"].astype(">f8")),
    "short alpha": lambda a: a.update(alpha=a["alpha"][:-1]),
    "wide root": lambda a: a.update(root=np.ones((ROWS, ROWS + 1))),
    "flat root": lambda a: a.update(root=np.ones(ROWS * ROWS)),
    "nan": lambda a: a["alpha"].__setitem__(0, np.nan),
    "infinite root": lambda a: a["root"].__setitem__((0, 0), np.inf),
    "infinite centre": lambda a: a["centres"].__setitem__((0, 0), np.inf),
    "a level out of bounds": lambda a: a["centres"].__setitem__((0, 2), 3.0),
    "a negative level": lambda a: a["centres"].__setitem__((0, 2), -1.0),
    "half a level": lambda a: a["centres"].__setitem__((0, 2), 0.5),
}


@pytest.mark.parametrize("how", BAD_ARRAYS)
def test_arrays_that_do_not_fit(how: str, saved: Path, tmp_path: Path) -> None:
    members = contents(saved)
    arrays = {name: np.load(io.BytesIO(members[f"{name}.npy"])) for name in ARRAYS}
    BAD_ARRAYS[how](arrays)
    members.update({f"{name}.npy": npy(array) for name, array in arrays.items()})
    assert "save the model again" in refused(written(tmp_path / "m", members))
    # The same if the document says so too: the parts must fit each other, not only their shapes.
    document = json.loads(members["model.json"])
    document["arrays"] = {name: list(array.shape) for name, array in arrays.items()}
    members["model.json"] = json.dumps(document).encode()
    if how != "wide root":  # a root may have any number of columns
        assert "save the model again" in refused(written(tmp_path / "m", members))


def set_at(*path: Any) -> Callable[[Document], None]:
    """Put the last of the path at the place that the others say."""
    *way, key, value = path

    def change(document: Any) -> None:
        for step in way:
            document = document[step]
        document[key] = value

    return change


BAD_DOCUMENTS: dict[str, Callable[[Document], Any]] = {
    "no format": lambda d: d.pop("format"),
    "format 0": set_at("format", 0),
    "format true": set_at("format", True),
    "format text": set_at("format", "1"),
    "no estimator": lambda d: d.pop("estimator"),
    "estimator": set_at("estimator", "os.system"),
    "estimator list": set_at("estimator", ["OAKRegressor"]),
    "option": set_at("params", "evil", 1),
    "options": set_at("params", None),
    "kernel": set_at("components", 0, "kernel", "name", "linear"),
    "lengthscale": set_at("components", 0, "kernel", "lengthscale", -1.0),
    "lengthscale list": set_at("components", 0, "kernel", "lengthscale", [1.0]),
    "lengthscale text": set_at("components", 0, "kernel", "lengthscale", "1.0"),
    "lengthscale nan": set_at("components", 0, "kernel", "lengthscale", float("nan")),
    "lengthscale infinite": set_at("components", 0, "kernel", "lengthscale", float("inf")),
    "lengthscale huge": set_at("components", 0, "kernel", "lengthscale", 10**400),
    "lengthscale missing": lambda d: d["components"][0]["kernel"].pop("lengthscale"),
    "weight of 30 digits": set_at("components", 0, "weight", 10**30),
    "kernel field": set_at("components", 0, "kernel", "__class__", 1.0),
    "kernel of numbers for levels": lambda d: d["components"].reverse(),
    "kappas": lambda d: d["components"][2]["kernel"]["kappa"].pop(),
    "levels of a kernel": lambda d: [d["components"][2]["kernel"][n].pop() for n in ("kappa", "loadings")],
    "measure": set_at("components", 0, "measure", "kind", "cauchy"),
    "measure list": set_at("components", 0, "measure", "kind", []),
    "levels of a measure": set_at("components", 2, "measure", "probabilities", [0.5, 0.5]),
    "weight": set_at("components", 0, "weight", -1.0),
    "weight null": set_at("components", 0, "weight", None),
    "components": lambda d: d["components"].pop(),
    "variances": set_at("variances", []),
    "many variances": set_at("variances", [1.0] * 9),
    "negative variance": set_at("variances", 1, -1.0),
    "noise": set_at("noise", -1.0),
    "noise true": set_at("noise", True),
    "target scale": set_at("target_scale", "scale", 0.0),
    "terms": set_at("terms", [[], [9]]),
    "terms order": set_at("terms", [[1, 0]]),
    "terms too long": set_at("terms", [[0, 1, 2]]),
    "terms twice": set_at("terms", [[0], [0]]),
    "terms text": set_at("terms", "abc"),
    "shape": set_at("arrays", "alpha", [ROWS + 1]),
    "shape negative": set_at("arrays", "alpha", [-ROWS]),
    "shape huge": set_at("arrays", "root", [10**12, 10**12]),
    "shape text": set_at("arrays", "alpha", "36"),
    "active": set_at("encoder", "active", [0, 1, 2, 3, 99]),
    "active negative": set_at("encoder", "active", [-1, 1, 2, 3, 4]),
    "active twice": set_at("encoder", "active", [0, 0, 2, 3, 4]),
    "encoder kind": set_at("encoder", "columns", 0, "kind", "pickle"),
    "flow step": set_at("encoder", "columns", 0, "flow", "steps", [{"kind": "Evil"}]),
    "flow units": set_at("encoder", "columns", 0, "flow", "units", "scale", 0.0),
    "flow range": set_at("encoder", "columns", 0, "flow", "low", 1e9),
    "flow text": set_at("encoder", "columns", 0, "flow", "high", "1"),
    "unknown": set_at("encoder", "columns", 2, "unknown", "ignore"),
    "levels": lambda d: d["encoder"]["columns"][2]["levels"].append("Rome"),
    "schema": set_at("encoder", "schema", None),
    "schema kind": set_at("encoder", "schema", "columns", 0, "kind", "categorical"),
    "status": set_at("fit_result", "status", "perfect"),
    "starts": set_at("fit_result", "starts", 3.0),
    "choice": set_at("columns", 0, "column", "other"),
    "choice reason": set_at("columns", 0, "reason", 3),
    "choices": set_at("columns", []),
}


@pytest.mark.parametrize("how", BAD_DOCUMENTS)
def test_documents_that_do_not_fit(how: str, saved: Path, tmp_path: Path) -> None:
    members = contents(saved)
    document = json.loads(members["model.json"])
    BAD_DOCUMENTS[how](document)
    members["model.json"] = json.dumps(document).encode()
    message = refused(written(tmp_path / "m", members))
    assert "save the model again" in message


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"1", b"\xff\xfe", b"[" * 100_000, b'{"format": 1e999}', b'{"format": 1}'],
)
def test_documents_that_are_not_json(content: bytes, saved: Path, tmp_path: Path) -> None:
    refused(written(tmp_path / "m", {**contents(saved), "model.json": content}))
