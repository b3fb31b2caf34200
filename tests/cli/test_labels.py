"""The command with labels: when it takes a target for labels, and what it prints of them."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import termwise as tw
from termwise.cli.main import cli
from termwise.cli.task import choose_task, look, targets
from termwise.errors import TargetError
from termwise.estimators.labels import classes_of
from termwise.table import read_csv, split_target
from termwise.table.survey import MOST_LABELS

ROWS = 60
RNG = np.random.default_rng(3)
AGE, DOSE = RNG.uniform(20.0, 60.0, ROWS), RNG.normal(size=ROWS)
CITY = RNG.choice(["Bern", "Oslo"], ROWS)
SCORE = (AGE - 40.0) / 10.0 + RNG.normal(size=ROWS)
TARGETS: dict[str, Any] = {
    "ill": np.where(SCORE > 0.0, "yes", "no"),
    "grade": np.digitize(SCORE, [-0.7, 0.7]),
    "stage": np.array(["low", "mid, or so", "top"])[np.digitize(SCORE, [-0.7, 0.7])],
}


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)


def error_of(result: Result) -> str:
    """The only line on stderr, of a command that was refused."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("termwise: error: ")
    return line


def table_with(target: Any) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["age", "dose", "city", "y"])
    columns = (cycle(column.tolist()) for column in (AGE, DOSE, CITY))
    writer.writerows(zip(*columns, list(target), strict=False))  # again from above if it is longer
    return stream.getvalue()


def fit(target: Any, output: Path, *more: object) -> Result:
    return run("fit", "-", "-t", "y", "-o", output, "--max-order", 1, *more, stdin=table_with(target))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table and a model for each target, which tests read only."""
    folder = tmp_path_factory.mktemp("labels")
    for name, target in TARGETS.items():
        (folder / f"{name}.csv").write_text(table_with(target))
        result = fit(target, folder / name)
        assert result.exit_code == 0, result.output
        (folder / f"{name}.err").write_text(result.stderr)
        (folder / f"{name}.out").write_text(result.stdout)
    return folder


# What is taken for labels.

MANY = [f"id {i}" for i in range(120)]
CHOICES: dict[str, tuple[Any, str]] = {
    "text": (np.array(["a", "b", "a"], dtype=object), "classification"),
    "truth": (np.array([True, False, True], dtype=object), "classification"),
    "categories of numbers": (np.array([1.0, 2.0, 7.0, 8.0, 9.0, 10.0], dtype=object), "classification"),
    "two whole numbers": (np.array([-1.0, 1.0, 1.0]), "classification"),
    "five whole numbers": (np.arange(10.0) % 5, "classification"),
    "with gaps": (np.array([0.0, np.nan, 1.0, 1.0]), "classification"),
    "six whole numbers": (np.arange(12.0) % 6, "regression"),
    "whole numbers that never come back": (np.array([100.0, 200.0, 300.0]), "regression"),
    "three fractions": (np.array([0.5, 1.0, 2.0, 2.0]), "regression"),
    "two fractions": (np.array([0.5, 1.5, 1.5]), "regression"),
    "one number": (np.zeros(4), "regression"),
    "numbers": (np.linspace(0.0, 1.0, 50), "regression"),
    "numbers as text": (np.array([str(i / 7.0) for i in range(70)], dtype=object), "regression"),
    "few whole numbers as text": (np.array(["1", "2", "1"], dtype=object), "classification"),
}


@pytest.mark.parametrize("how", CHOICES)
def test_what_is_taken_for_labels(how: str) -> None:
    values, expected = CHOICES[how]
    assert choose_task("auto", [values], "y")[0] == expected
    assert choose_task("regression", [values], "y") == ("regression", "")
    for cut in range(1, len(values)):
        assert choose_task("auto", [values[:cut], values[cut:]], "y")[0] == expected


def test_as_many_labels_are_taken_as_an_estimator_takes() -> None:
    most = MANY[:MOST_LABELS]
    assert choose_task("auto", [np.array(most * 2, dtype=object)], "y")[0] == "classification"
    assert classes_of(most * 2, 2 * MOST_LABELS)[0].size == MOST_LABELS
    more = MANY[: MOST_LABELS + 1] * 2
    with pytest.raises(TargetError, match=f"more than {MOST_LABELS}"):
        choose_task("auto", [np.array(more, dtype=object)], "y")
    with pytest.raises(TargetError, match=f"more than {MOST_LABELS}"):
        classes_of(more, len(more))


def test_reading_stops_when_there_are_too_many_values() -> None:
    def pieces(first: Any) -> Iterator[np.ndarray]:
        yield np.asarray(first)
        raise AssertionError("read on")

    assert choose_task("auto", pieces(np.arange(6.0)), "y") == ("regression", "")
    assert choose_task("auto", pieces([0.5, 1.5]), "y") == ("regression", "")
    with pytest.raises(TargetError, match="more than 100 different values, such as 'id 0'"):
        choose_task("auto", pieces(np.array(MANY, dtype=object)), "y")
    with pytest.raises(TargetError, match=r"such as 0.0, 1.0, 2.0; use --task regression"):
        choose_task("classification", pieces(np.arange(120.0)), "y")


def test_only_the_target_is_read_of_parquet(tmp_path: Path) -> None:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    table = pa.table(
        {"x": np.arange(120.0), "y": np.arange(120) % 3, "t": MANY, "b": np.arange(120) % 2 == 0}
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=20)
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    column = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(0).column(0)
    content[column.data_page_offset : column.data_page_offset + 8] = b"damaged!"  # x cannot be read
    (tmp_path / "t.parquet").write_bytes(bytes(content))
    paths = [str(tmp_path / "t.parquet")]
    found = look(targets(paths, "y"), all_labels=False)
    assert (sorted(found.values), found.rows, found.complete) == ([0.0, 1.0, 2.0], 120, True)
    assert choose_task("auto", targets(paths, "b"), "b") == ("classification", "classification of 2 labels")
    output = tmp_path / "m"
    assert "more than 100" in error_of(run("fit", *paths, "-t", "t", "-o", output))
    assert "no column 'z'" in error_of(run("fit", *paths, "-t", "z", "-o", output))
    assert not output.exists()


def test_fit_says_what_it_took_for_labels(folder: Path, tmp_path: Path) -> None:
    hint = " (--task regression to treat them as numbers, --likelihood poisson as counts)"
    signs = choose_task("auto", [np.array([-1.0, 1.0, 1.0])], "y")[1]
    assert signs == "classification of 2 labels (--task regression to treat them as numbers)"
    assert (folder / "ill.err").read_text().splitlines()[0] == "classification of 2 labels"
    assert (folder / "grade.err").read_text().splitlines()[0] == f"classification of 3 labels{hint}"
    for name in ("ill", "grade"):
        said = (folder / f"{name}.err").read_text().splitlines()[1:]  # how far it is, if it takes long
        assert any(line.startswith(f"fitted {ROWS} rows in ") for line in said)
    assert fit(TARGETS["ill"], tmp_path / "m", "--quiet").stderr == ""
    asked = fit(TARGETS["grade"], tmp_path / "m", "--task", "regression")
    assert asked.stderr.startswith("fitted ")
    assert isinstance(tw.load(tmp_path / "m"), tw.OAKRegressor)


def test_fit_saves_what_python_would(folder: Path, tmp_path: Path) -> None:
    features, y = split_target(read_csv(folder / "ill.csv"), "y")
    expected = tw.OAKClassifier(max_order=1).fit(features, y)
    loaded = tw.load(folder / "ill")
    assert isinstance(loaded, tw.OAKClassifier)
    np.testing.assert_array_equal(loaded.predict_proba(features), expected.predict_proba(features))
    options = ["--model", "additive", "--link", "probit", "--task", "classification", "--seed", 4]
    result = fit(TARGETS["ill"], tmp_path / "m", *options)
    assert result.exit_code == 0, result.output
    other = tw.load(tmp_path / "m")
    assert isinstance(other, tw.AdditiveGPClassifier)
    assert (other.link, other.random_state) == ("probit", 4)
    assert "scale of the probit" in result.stdout
    assert "not orthogonal" in result.stdout


REFUSED: dict[str, tuple[Any, tuple[str, ...], str]] = {
    "many labels": (MANY, (), "more than 100 different values, such as 'id 0', 'id 1', 'id 10'; put rare"),
    "fractions": (
        np.where(SCORE > 0, 0.5, 1.5),
        ("--task", "classification"),
        "use --task regression, or write",
    ),
    "text as number": (TARGETS["ill"], ("--task", "regression"), "not made of numbers"),
    "link of numbers": (
        SCORE,
        ("--link", "probit"),
        "--link is for labels, but 'y' is predicted as a number",
    ),
    "link and regression": (TARGETS["ill"], ("--link", "logit", "--task", "regression"), "leave it out"),
    "no such task": (SCORE, ("--task", "ranking"), "'ranking'"),
    "one label": (["a"] * ROWS, (), "one class"),
    "missing label": (["", *TARGETS["ill"][1:]], ("--quiet",), "the label of row 0 is missing"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_fit_refuses(how: str, tmp_path: Path) -> None:
    target, options, message = REFUSED[how]
    assert message in error_of(fit(target, tmp_path / "m", *options))
    assert os.listdir(tmp_path) == []


# What is printed.


@pytest.mark.parametrize("name", TARGETS)
def test_predict_gives_labels_and_probabilities(folder: Path, name: str) -> None:
    result = run("predict", folder / name, folder / f"{name}.csv")
    assert result.exit_code == 0, result.output
    header, *rows = csv.reader(io.StringIO(result.stdout))
    features, _ = split_target(read_csv(folder / f"{name}.csv"), "y")
    model = tw.load(folder / name)
    labels = sorted({str(label) for label in TARGETS[name]})
    assert header == ["prediction", *[f"p({label})" for label in labels]]
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], float), model.predict_proba(features))
    best = np.argmax(model.predict_proba(features), axis=1)
    assert [row[0] for row in rows] == [labels[i] for i in best]


def test_predict_of_parquet_is_streamed(folder: Path, tmp_path: Path) -> None:
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    pq.write_table(
        pa.table({"age": AGE, "dose": DOSE, "city": CITY}), tmp_path / "t.parquet", row_group_size=25
    )
    for name in TARGETS:
        result = run("predict", folder / name, tmp_path / "t.parquet")
        whole = run("predict", folder / name, folder / f"{name}.csv")
        _, *rows = csv.reader(io.StringIO(result.stdout))
        _, *expected = csv.reader(io.StringIO(whole.stdout))
        assert [row[0] for row in rows] == [row[0] for row in expected]
        values = [np.array([row[1:] for row in part], float) for part in (rows, expected)]
        np.testing.assert_allclose(*values, rtol=1e-10)
        pieces = list(tw.load(folder / name).predict_dataset(tmp_path / "t.parquet"))
        assert [len(piece) for piece in pieces] == [25, 25, 10]
        np.testing.assert_allclose(np.concatenate(pieces), values[0], rtol=1e-10)


def test_terms_of_two_labels_add_up_to_the_latent_value(folder: Path) -> None:
    result = run("predict", folder / "ill", folder / "ill.csv", "--terms")
    header, *rows = csv.reader(io.StringIO(result.stdout))
    model = tw.load(folder / "ill")
    assert header == ["prediction", "p(no)", "p(yes)", "constant", *[term.name for term in model.terms_]]
    table = read_csv(folder / "ill.csv")
    latent = model.posterior_.mean(model.encoder_.transform(table))
    np.testing.assert_allclose(np.array([row[3:] for row in rows], float).sum(axis=1), latent, atol=1e-8)


def test_terms_of_many_labels_are_refused(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    message = error_of(run("predict", folder / "stage", folder / "stage.csv", "--terms", "-o", out))
    assert "each of the 3 labels of this model has terms of its own; leave --terms out" in message
    assert not out.exists()


def test_explain_two_labels(folder: Path) -> None:
    text, model = run("explain", folder / "ill").stdout, tw.load(folder / "ill")
    assert text.startswith((folder / "ill.out").read_text().rstrip("\n"))
    first = (
        f"The terms explain {100.0 * model.explained_:.1f} % of what decides between yes and no; the rest is"
    )
    assert text.startswith(first)
    assert "variance on the scale of the log odds" in text
    assert "not orthogonal" not in text
    found = json.loads(run("explain", folder / "ill", "--json").stdout)
    assert (found["estimator"], found["labels"], found["link"]) == ("OAKClassifier", ["no", "yes"], "logit")
    assert (found["rows"], found["orthogonal"]) == (ROWS, True)
    assert [term["term"] for term in found["terms"]] == [term.name for term in model.terms_]


def test_explain_many_labels(folder: Path) -> None:
    text, model = run("explain", folder / "stage").stdout, tw.load(folder / "stage")
    assert text.startswith((folder / "stage.out").read_text().rstrip("\n"))
    for label in model.classes_:
        assert f"of what decides between {label} and the other labels; the rest is chance" in text
    assert text.count("order 1  100.0 %") == 3
    assert text.count("column  measure") == 1
    found = json.loads(run("explain", folder / "stage", "--json", "--top", 2).stdout)
    assert found["labels"] == [one["label"] for one in found["each"]] == model.classes_.tolist()
    for one, part in zip(found["each"], model.estimators_, strict=True):
        assert [term["term"] for term in one["terms"]] == [term.name for term in part.terms_[:2]]
        assert one["explained"] == part.explained_
    assert found["fit"]["rows"] == ROWS
    assert found["fit"]["objective"] == sum(part.objective_ for part in model.estimators_)
    assert "terms" not in found
