"""The page of a model in a real browser: it opens from a file, says what the model says, and is safe."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from termwise import AdditiveGPRegressor, OAKClassifier, OAKRegressor
from termwise.encode.encoder import LevelEncoder
from termwise.report import Report
from termwise.table import read_table

ROWS, ASKED = 160, 50
CLOSE = 1e-6


def table(n: int = ROWS, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "age": rng.normal(50.0, 12.0, n),
        "income": 1000.0 * rng.gamma(2.0, size=n),
        "city": rng.choice(np.array(["Rome", "Oslo", "Ürümqi"], dtype=object), n),
        "children": rng.integers(0, 4, n).astype(float),
        "smoker": rng.choice(np.array([True, False], dtype=object), n),
    }
    columns["age"][::11] = np.nan
    columns["city"][::13] = None
    return columns


def signal(X: dict[str, Any]) -> np.ndarray:
    age = np.nan_to_num(X["age"], nan=50.0)
    return np.sin(age / 10.0) + 0.3 * np.log1p(X["income"]) * (X["city"] == "Rome") + 0.2 * X["children"]


X = table()
Y = signal(X) + 0.2 * np.random.default_rng(1).normal(size=ROWS)
COUNTS = np.random.default_rng(2).poisson(np.exp(0.3 * signal(X)))
LATE = np.where(np.median(Y) < Y, "late", "on time")
FAST = {"n_restarts": 1, "max_order": 2}

MODELS = {
    "numbers": lambda: OAKRegressor(**FAST).fit(X, Y),
    "sparse": lambda: OAKRegressor(**FAST, inference="sparse", n_inducing=60).fit(X, Y),
    "normal": lambda: OAKRegressor(**FAST, measure={"age": "normal", "income": "mixture"}).fit(X, Y),
    "smooth": lambda: OAKRegressor(**FAST, kernel="se", measure={"age": "uniform"}, flow=None).fit(X, Y),
    "pruned": lambda: OAKRegressor(**FAST).fit(X, Y).prune(n_terms=3),
    "triples": lambda: OAKRegressor(n_restarts=1, max_order=3).fit(X, Y),
    "additive": lambda: AdditiveGPRegressor(n_restarts=1).fit(X, Y),
    "counts": lambda: OAKRegressor(**FAST, likelihood="poisson").fit(X, COUNTS),
    "rates": lambda: OAKRegressor(**FAST, likelihood="poisson").fit(X, COUNTS, exposure=2.0),
    "outliers": lambda: OAKRegressor(**FAST, likelihood="student").fit(X, Y),
    "logit": lambda: OAKClassifier(**FAST).fit(X, LATE),
    "probit": lambda: OAKClassifier(**FAST, link="probit").fit(X, LATE),
    "labels": lambda: OAKClassifier(**FAST).fit(X, np.digitize(Y, np.quantile(Y, [0.3, 0.6]))),
}


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {}


@pytest.fixture
def model(request: Any, models: dict[str, Any]) -> Any:
    name = request.param
    if name not in models:
        models[name] = MODELS[name]()
    return models[name]


def asked_rows() -> dict[str, Any]:
    """Rows with missing cells, unseen levels and numbers outside of what was seen."""
    rows = table(ASKED, seed=7)
    rows["city"][3], rows["city"][20] = "Lima", ""
    rows["age"][5], rows["income"][6], rows["income"][8] = -40.0, 1e6, np.nan
    rows["children"][9], rows["smoker"][10] = np.nan, None
    rows["age"][12], rows["income"][13] = 1e200, -1e150
    return rows


def cells(model: Any, rows: dict[str, Any]) -> list[list[Any]]:
    """The rows as the page takes them: numbers, positions of levels, and null."""
    first = getattr(model, "estimators_", [model])[0]
    read, out = read_table(rows), []
    for name, encoder in zip(first.encoder_.names, first.encoder_.columns, strict=True):
        values = read.column(name)
        if isinstance(encoder, LevelEncoder):
            positions = {level: i for i, level in enumerate(encoder.levels)}
            out.append([positions.get(value) for value in values])
        else:
            out.append([None if np.isnan(value) else float(value) for value in values])
    return [list(row) for row in zip(*out, strict=True)]


def ask(shown: Any, model: Any, rows: dict[str, Any]) -> list[list[dict[str, float]]]:
    return shown.page.evaluate("rows => rows.map(row => termwise.ask(row))", cells(model, rows))


@pytest.mark.parametrize("model", MODELS, indirect=True)
def test_the_page_predicts_what_the_model_predicts(model: Any, show: Any, tmp_path: Path) -> None:
    Report.from_estimator(model).write_html(tmp_path / "page.html")
    shown, rows = show(tmp_path / "page.html"), asked_rows()
    found = ask(shown, model, rows)
    values = np.array([[one["value"] for one in row] for row in found])
    if isinstance(model, OAKClassifier):
        expected = model.predict_proba(rows)
        if values.shape[1] == 1:
            np.testing.assert_allclose(values[:, 0], expected[:, 1], rtol=CLOSE)
            check_band(model, rows, found)
        else:
            np.testing.assert_allclose(values / values.sum(axis=1, keepdims=True), expected, rtol=CLOSE)
    else:
        mean, std = model.predict(rows, return_std=True)
        np.testing.assert_allclose(values[:, 0], mean, rtol=CLOSE)
        np.testing.assert_allclose([row[0]["std"] for row in found], std, rtol=CLOSE)
        if model.likelihood != "poisson":
            np.testing.assert_allclose(
                [row[0]["low"] for row in found], mean - 2 * std, rtol=CLOSE, atol=1e-9
            )
            np.testing.assert_allclose(
                [row[0]["high"] for row in found], mean + 2 * std, rtol=CLOSE, atol=1e-9
            )
    assert not shown.complaints


def check_band(model: Any, rows: dict[str, Any], found: Any) -> None:
    """Two standard deviations of the latent value on either side, through the link."""
    encoded = model._encode(rows)
    mean, std = model.posterior_.mean(encoded), np.sqrt(model.posterior_.variance(encoded))
    link = {"logit": lambda f: 1.0 / (1.0 + np.exp(-f)), "probit": probit}[model.link]
    np.testing.assert_allclose([row[0]["low"] for row in found], link(mean - 2 * std), rtol=CLOSE)
    np.testing.assert_allclose([row[0]["high"] for row in found], link(mean + 2 * std), rtol=CLOSE)


def probit(f: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(f)


@pytest.mark.parametrize("model", ["numbers", "logit", "labels"], indirect=True)
def test_it_opens_from_a_file_without_a_network(model: Any, show: Any, tmp_path: Path) -> None:
    Report.from_estimator(model).write_html(tmp_path / "page.html")
    shown = show(tmp_path / "page.html")
    assert [url for url in shown.requests if not url.startswith(("file:", "data:"))] == []
    assert not shown.complaints
    parts = getattr(model, "estimators_", [model])
    drawn = sum(np.sum((part.sobol_["share"] >= 0.001) & (part.sobol_["order"] <= 2)) for part in parts)
    figures = shown.page.locator("svg.effect")
    assert figures.count() == drawn
    shown.page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    for i in range(figures.count()):
        box = figures.nth(i).bounding_box()
        assert box is not None
        assert box["width"] > 100
        assert box["height"] > 60
        assert figures.nth(i).locator("path, circle, image").count() > 0


@pytest.mark.parametrize("model", ["numbers"], indirect=True)
def test_a_slider_and_a_choice_change_the_prediction(model: Any, show: Any, tmp_path: Path) -> None:
    model.explain().report(tmp_path / "page.html")
    page = show(tmp_path / "page.html").page
    before = page.locator(".value").inner_text()
    slider = page.get_by_label("age", exact=True)
    slider.focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    moved = page.locator(".value").inner_text()
    assert moved != before
    page.get_by_label("city", exact=True).select_option(label="(missing)")
    page.get_by_label("smoker", exact=True).select_option(label="(another level)")
    page.get_by_label("age is missing").check()
    page.get_by_label("income, as a number").fill("2500.5")
    page.get_by_label("children, as a number").fill("3")
    row = {"age": [np.nan], "income": [2500.5], "city": [None], "children": [3.0], "smoker": [None]}
    mean, std = model.predict(row, return_std=True)
    assert number(page.locator(".value").inner_text()) == pytest.approx(mean[0], rel=1e-3)
    low, high = re.findall(r"[−\d.,]+\d", page.locator(".answer .quiet").first.inner_text())[:2]
    assert number(low) == pytest.approx(mean[0] - 2 * std[0], rel=1e-3)
    assert number(high) == pytest.approx(mean[0] + 2 * std[0], rel=1e-3)


WORDS = {
    "numbers": (r"[−\d.,]+", "a new row is between"),
    "outliers": (r"[−\d.,]+", "a new row that is no outlier is between"),
    "counts": (r"rate per row: [\d.,]+", "the rate is between"),
    "rates": (r"rate per unit of exposure: [\d.,]+", "the rate is between"),
    "logit": (r"probability of on time: [\d.]+ %", "the probability is between"),
}


@pytest.mark.parametrize(("model", "words"), WORDS.items(), indirect=["model"])
def test_the_prediction_and_its_interval_are_said_of_the_same(
    model: Any, words: tuple[str, str], show: Any, tmp_path: Path
) -> None:
    model.explain().report(tmp_path / "page.html")
    page = show(tmp_path / "page.html").page
    assert re.fullmatch(words[0], page.locator(".value").inner_text())
    assert page.locator(".answer .quiet").first.inner_text().startswith(words[1])


@pytest.mark.parametrize("model", ["labels"], indirect=True)
def test_it_is_said_how_probabilities_of_labels_come_about(model: Any, show: Any, tmp_path: Path) -> None:
    Report.from_estimator(model).write_html(tmp_path / "page.html")
    page = show(tmp_path / "page.html").page
    own = np.array([one["value"] for one in page.evaluate("termwise.last")])
    page.get_by_label("Terms of", exact=True).select_option(label="1")
    said = page.locator("#own").inner_text()
    assert "the probability of 1 against the rest is" in said
    found = [float(text) for text in re.findall(r"([\d.]+) %", said)]
    np.testing.assert_allclose(found, 100.0 * np.array([own[1], own.sum(), own[1] / own.sum()]), rtol=0.01)
    label, shown = re.fullmatch(r"(\d): ([\d.]+) %", page.locator(".value").inner_text()).groups()
    assert float(shown) == pytest.approx(100.0 * own[int(label)] / own.sum(), rel=0.01)


@pytest.mark.parametrize("model", ["numbers"], indirect=True)
def test_what_was_never_seen_is_said(model: Any, show: Any, tmp_path: Path) -> None:
    model.explain().report(tmp_path / "page.html")
    page = show(tmp_path / "page.html").page
    typed = page.get_by_label("income, as a number")
    for text, note in (
        ("1e9", "outside of the rows seen"),
        ("", "no number: taken as missing"),
        ("2000", ""),
    ):
        typed.fill(text)
        assert page.locator(".control", has=typed).locator(".note").inner_text() == note


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


@pytest.mark.parametrize("model", ["numbers", "labels"], indirect=True)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(model: Any, scheme: str, show: Any, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    several = isinstance(model, OAKClassifier)
    report = Report.from_estimator(model) if several else Report.from_estimator(model, X, Y)
    report.write_html(tmp_path / "page.html")
    shown = show(tmp_path / "page.html", color_scheme=scheme, bypass_csp=True)
    shown.page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    found = axe.Axe().run(shown.page, options=options).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []


@pytest.mark.parametrize("model", ["numbers"], indirect=True)
def test_it_can_be_read_on_a_phone(model: Any, show: Any, tmp_path: Path) -> None:
    Report.from_estimator(model).write_html(tmp_path / "page.html")
    page = show(tmp_path / "page.html", viewport={"width": 360, "height": 740}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_it_is_quick_with_500_centres_and_10_features(show: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 10))
    y = rows[:, 0] + np.sin(rows[:, 1]) * rows[:, 2] + 0.1 * rng.normal(size=500)
    OAKRegressor(n_restarts=1, max_order=2).fit(rows, y).explain().report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 6e6
    page = show(tmp_path / "page.html").page
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert paint < 2000.0
    spent = page.evaluate(
        """() => [...Array(20).keys()].map((i) => {
            const slider = document.querySelector('input[type=range]');
            slider.value = Number(slider.min) + (i / 20) * (slider.max - slider.min);
            const start = performance.now();
            slider.dispatchEvent(new Event('input'));
            document.querySelector('.fall').getBoundingClientRect();
            return performance.now() - start;
        })"""
    )
    assert np.median(spent) < 50.0
