"""Names that look like markup, very many features, terms and levels: the page stays right, quick and safe."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from termwise import OAKRegressor

EVIL = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>"


def test_nothing_of_the_data_is_executed(show: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    levels = np.array([EVIL, "<b>bold</b>", "a & b", '"quoted"', "naïve 数据 🙂", "\u2028line"], dtype=object)
    table = {
        EVIL: rng.choice(levels, 120),
        "<i>x</i>": rng.normal(size=120),
        "größe: 'm²'": rng.normal(size=120),
        "</style>": rng.choice(levels, 120),
    }
    y = table["<i>x</i>"] + (table[EVIL] == EVIL) * table["größe: 'm²'"] + 0.1 * rng.normal(size=120)
    model = OAKRegressor(n_restarts=1, max_order=2).fit(table, y)
    rows = model.explain({name: values[:2] for name, values in table.items()})
    model.explain().report(tmp_path / "page.html", title=EVIL, rows=rows)
    shown = show(tmp_path / "page.html")
    assert shown.page.evaluate("window.hurt") is None
    assert shown.page.locator("img").count() == 0
    assert shown.page.locator("h1").inner_text() == EVIL
    assert shown.page.get_by_label(EVIL, exact=True).count() == 1
    assert [url for url in shown.requests if not url.startswith(("file:", "data:"))] == []
    assert not shown.complaints


def test_two_hundred_features_and_a_hundred_levels(show: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    levels = np.array([f"level {i}" for i in range(100)], dtype=object)
    table: dict[str, Any] = {f"feature {i}": rng.normal(size=300) for i in range(199)}
    table["many"] = np.tile(levels, 3)
    y = table["feature 0"] * table["feature 1"] + 0.1 * rng.normal(size=300)
    model = OAKRegressor(n_restarts=1, max_order=2, inference="sparse", n_inducing=100).fit(table, y)
    assert len(model.terms_) > 2000
    model.explain().report(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 8e6
    shown = show(tmp_path / "page.html")
    assert not shown.complaints
    assert shown.page.locator(".control").count() == 200
    assert shown.page.get_by_label("many").locator("option").count() == 102
    spent = shown.page.evaluate(
        """() => { const slider = document.querySelector('input[type=range]'); slider.value = slider.max;
            const start = performance.now(); slider.dispatchEvent(new Event('input'));
            return performance.now() - start; }"""
    )
    assert spent < 1000.0
    row = [[0.5] * 199 + [model.encoder_.columns[199].levels.index("level 7")]]
    found = shown.page.evaluate("rows => rows.map(row => termwise.ask(row))", json.loads(json.dumps(row)))
    new = {**{f"feature {i}": [0.5] for i in range(199)}, "many": ["level 7"]}
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_allclose([found[0][0]["value"], found[0][0]["std"]], [mean[0], std[0]], rtol=1e-6)
