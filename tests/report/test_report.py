"""The report as a file: whole or not at all, its words, and what it refuses."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from termwise import AdditiveGPRegressor, OAKClassifier, OAKRegressor
from termwise.cli.summary import summary as of_model
from termwise.cli.summary import summary_text
from termwise.encode.encoder import NumberEncoder, plain_flow
from termwise.errors import OptionError
from termwise.explain.explanation import Explanation
from termwise.report import Report
from termwise.report.markup import Markup, element, joined
from termwise.report.running import _slider
from termwise.report.svg import ticks
from termwise.report.words import number, summary

QUICK = {"max_order": 1, "n_restarts": 1}
RNG = np.random.default_rng(0)
TABLE = {
    "age": RNG.normal(50.0, 9.0, 80),
    "city": np.array(["Rome", "Oslo"], dtype=object)[RNG.integers(0, 2, 80)],
}
Y = 0.1 * TABLE["age"] + (TABLE["city"] == "Rome") + 0.1 * RNG.normal(size=80)


@pytest.fixture(scope="module")
def model() -> OAKRegressor:
    return OAKRegressor(max_order=2, n_restarts=1).fit(TABLE, Y)


def test_what_is_not_markup_is_escaped() -> None:
    assert element("p", "<b> & 'x'", title='"q"') == "<p title=\"&quot;q&quot;\">&lt;b&gt; &amp; 'x'</p>"
    assert element("p", Markup("<b>x</b>"), ["<", None]) == "<p><b>x</b>&lt;</p>"
    assert element("td", class_="number", hidden=None) == '<td class="number"></td>'
    assert element("input", checked=True) == "<input checked>"
    assert joined(1.5, 2) == "1.52"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234.567, "1,235"),
        (-0.012345, "−0.01235"),
        (2.5, "2.5"),
        (3e9, "3e9"),
        (1e-7, "1e-7".replace("-", "−")),
    ],
)
def test_numbers_as_people_write_them(value: float, text: str) -> None:
    assert number(value) == text
    assert number(np.nan) == "not known"


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.0, 10.0) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    np.testing.assert_allclose(ticks(-0.013, 0.021), [-0.01, 0.0, 0.01, 0.02], atol=1e-15)
    assert ticks(3.0, 3.0) == [3.0]


def test_the_summary_says_what_matters_most(model: OAKRegressor) -> None:
    first, second = summary(model.explain(), "the variance of price")
    assert first.startswith("The model explains 99 % of the variance of price; 2 terms have 100 % of that")
    assert f"{model.terms_[0].name} matters most" in first
    assert "features acting together" in second
    nothing = summary(model.prune(1.0).explain(), "the variance of price")
    assert nothing == [
        "The model explains nothing of the variance of price: every row has the same prediction."
    ]


def test_what_leads_in_nothing_is_not_said() -> None:
    table = {"age": TABLE["age"], "size": np.random.default_rng(3).normal(size=80)}
    found = OAKRegressor(**QUICK).fit(table, np.random.default_rng(5).normal(size=80)).explain()
    assert found.explained < 0.01
    [said] = summary(found, "the variance of price")
    assert said.endswith(
        " % of the variance of price: next to nothing, so that it says little which terms lead."
    )
    assert "matters most" not in Report(found).html()
    assert f", which explain {found.explained:.1%} of the variance of the target; of that " in repr(found)


def test_it_is_said_how_many_terms_there_are(model: OAKRegressor) -> None:
    whole = model.explain()
    first = whole.sobol["share"][0]
    said = (
        f"which explain {whole.explained:.1%} of the variance of the target; of that {model.terms_[0].name}"
    )
    assert repr(whole).startswith(f"<Explanation of 3 terms, {said} {first:.1%}, ")
    nothing = model.prune(1.0).explain()
    assert repr(nothing) == "<Explanation of 0 terms, which explain nothing of the variance of the target>"
    X = np.random.default_rng(0).normal(size=(30, 30))
    many = AdditiveGPRegressor(n_restarts=1).fit(X, X[:, 0]).explain(n_terms=0)
    listed = f"very many terms ({len(many.sobol)} of low order are listed)"
    assert repr(many).startswith(f"<Explanation of {listed}, which explain ")
    report = Report(many)
    assert repr(report) == f"<Report of {listed}>"
    assert "those of high order are too many to be listed" in report.html()


WHOLE = np.round(2.0 * (Y - Y.min()))
OF_WHAT = {
    "the variance of the target": lambda: OAKRegressor(**QUICK).fit(TABLE, Y),
    "the variance of the target, outliers aside": lambda: OAKRegressor(**QUICK, likelihood="student").fit(
        TABLE, Y
    ),
    "the variance of the logarithm of the counts": lambda: OAKRegressor(**QUICK, likelihood="poisson").fit(
        TABLE, WHOLE
    ),
    "the variance of the logarithm of the counts per exposure": lambda: OAKRegressor(
        **QUICK, likelihood="poisson"
    ).fit(TABLE, WHOLE, exposure=TABLE["age"]),
    "what decides between late and early": lambda: OAKClassifier(**QUICK).fit(
        TABLE, np.where(np.median(Y) < Y, "late", "early")
    ),
    "what decides between 1 and the other labels": lambda: OAKClassifier(**QUICK).fit(
        TABLE, np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    ),
}


@pytest.mark.parametrize("explains", OF_WHAT)
def test_page_and_command_line_say_alike_what_is_explained(explains: str) -> None:
    fitted = OF_WHAT[explains]()
    page = re.sub("<[^>]*>", "", Report.from_estimator(fitted).html())
    assert re.search(rf"The model explains \S+ % of {explains}; \d+ term", page)
    text = summary_text(of_model(fitted), None)
    assert re.search(rf"The terms explain \S+ % of {explains}; the rest is", text)


def test_the_page_is_one_file_that_fetches_nothing(model: OAKRegressor, tmp_path: Path) -> None:
    report = model.explain().report(tmp_path / "page.html", title="Prices")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text == report.html()
    assert "<title>Prices</title>" in text
    assert "default-src &#x27;none&#x27;" in text
    assert not [word for word in ("http://", "https://", "src=", "@import", "url(") if word in text]
    assert json.loads(report.json())["models"][0]["terms"][0]["term"] == model.terms_[0].name


def test_a_notebook_shows_the_page_in_a_frame(model: OAKRegressor) -> None:
    shown = Report.from_estimator(model)._repr_mimebundle_()
    assert shown["text/html"].startswith("<iframe srcdoc=")
    assert shown["text/plain"] == "<Report of 3 terms>"


def test_a_page_that_cannot_be_written_leaves_nothing(model: OAKRegressor, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be written: No such file or directory; check the folder"):
        model.explain().report(tmp_path / "nowhere" / "page.html")
    with pytest.raises(OptionError, match="cannot be written"):
        model.explain().report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_model_has_no_report(model: OAKRegressor) -> None:
    whole = model.explain()
    with pytest.raises(OptionError, match=r"make it by model\.explain\(\)"):
        Explanation(whole.sobol, whole.order_shares, whole.effects).report()
    with pytest.raises(NotFittedError):
        Report.from_estimator(OAKRegressor())


def test_rows_are_taken_apart(model: OAKRegressor, tmp_path: Path) -> None:
    X = {name: values[:5] for name, values in TABLE.items()}
    text = Report.from_estimator(model, X).html()
    assert "Single rows" in text
    assert f"Row 1: {number(float(model.predict(X)[0]))}" in text
    assert "Row 4" not in text


def test_new_rows_judge_the_model(model: OAKRegressor) -> None:
    report = Report.from_estimator(model, TABLE, Y)
    text = report.html()
    for words in ("rows inside", "How few terms would do", "concurvity", "distance from the normal"):
        assert words in text
    told = json.loads(report.json())
    assert told["checks"]["n_rows"] == 80
    assert told["scores"]["score"] == "rmse"
    assert {"rows", "concurvity"} <= set(told)


def test_rows_of_many_labels_are_refused() -> None:
    labels = np.digitize(Y, np.quantile(Y, [0.3, 0.6]))
    model = OAKClassifier(max_order=1, n_restarts=1).fit(TABLE, labels)
    with pytest.raises(OptionError, match=r"leave the rows out, or in Python make a page of model\.est"):
        Report.from_estimator(model, TABLE, labels)


def test_rows_say_on_which_scale_they_are() -> None:
    X = {name: values[:2] for name, values in TABLE.items()}
    model = OAKClassifier(max_order=1, n_restarts=1).fit(TABLE, np.median(Y) < Y)
    assert "the logarithm of the odds" in Report.from_estimator(model, X).html()
    changes = Report(model.explain(), rows=model.explain(X, scale="probability")).html()
    assert "Numbers are probabilities" in changes
    assert '<td class="number">not known' not in changes


def test_rows_are_said_in_the_words_of_the_prediction_too() -> None:
    X = {name: values[:2] for name, values in TABLE.items()}
    labels = np.where(np.median(Y) < Y, "late", "early")
    late = OAKClassifier(**QUICK).fit(TABLE, labels)
    latent, p = late.explain(X).predictions[0], late.predict_proba(X)[0, 1]
    said = f"Row 1: {number(latent)} (probability of late: {100.0 * p:.3g} %)"
    assert said in Report.from_estimator(late, X).html()
    counts = OAKRegressor(**QUICK, likelihood="poisson")
    rate = counts.fit(TABLE, WHOLE).predict(X)[0]
    assert f"(rate per row: {rate:.4g})" in Report.from_estimator(counts, X).html()
    rate = counts.fit(TABLE, WHOLE, exposure=TABLE["age"]).predict(X)[0]
    assert f"(rate per unit of exposure: {rate:.4g})" in Report.from_estimator(counts, X).html()
    one = OAKClassifier(**QUICK).fit(TABLE, np.digitize(Y, np.quantile(Y, [0.3, 0.6]))).estimators_[1]
    assert "(probability of 1 against the rest: " in Report.from_estimator(one, X).html()


def test_rounding_in_a_row_is_written_as_zero(model: OAKRegressor) -> None:
    rows = model.explain({name: values[:2] for name, values in TABLE.items()})
    tiny = replace(rows, contributions=rows.contributions * np.array([1.0, 1.0, 0.0]) + [0.0, 0.0, 3e-8])
    text = Report(model.explain(), rows=tiny).html()
    assert "3e−8" not in text


@pytest.mark.parametrize(
    ("values", "step"),
    [(1e6 + np.linspace(0.0, 0.45, 40), 0.002), (np.arange(40.0) * 1e6, 1.0), ([0.0, 1.0, 2.0], 1.0)],
)
def test_sliders_of_whole_numbers_go_by_one(values: Any, step: float) -> None:
    values = np.asarray(values)
    codec = NumberEncoder(plain_flow(values))
    slider = _slider(codec, codec.forward(values))
    assert slider["step"] == step
    assert slider["low"] == pytest.approx(values.min())
    assert slider["high"] == pytest.approx(values.max())
    assert slider["low"] <= slider["start"] <= slider["high"]
