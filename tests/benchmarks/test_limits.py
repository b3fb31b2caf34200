"""What a table should show: limits of a whole column, beside rivals on the same splits."""

from dataclasses import replace

import pytest

from benchmarks.harness.cells import Cell
from benchmarks.harness.limits import BESIDE, limits
from benchmarks.harness.tables import TABLES

SMALL = replace(TABLES["oak-regression"], sets=("a", "b"), splits=4, models=("OAK", "EBM", "Linear"))


def column(model, rmse, splits=4, **known):
    """The cells of one model on both sets, its errors one for each split."""
    scores = {"log_density": 0.0, "coverage": 0.9, "fit_seconds": 10.0, "predict_seconds": 0.0, "threads": 1}
    return [
        Cell(name, split, model, rmse=rmse[split], **{**scores, **known})
        for name in SMALL.sets
        for split in range(splits)
    ]


OURS = column("OAK", [0.1, 0.1, 0.1, 0.9], ten_terms=0.99)
OTHERS = [*column("EBM", [0.2] * 3, splits=3, fit_seconds=20.0), *column("Linear", [0.5] * 4)]


def found(cells, **options):
    return {figure.name: figure for figure in limits(SMALL, cells, **{"row_number": False, **options})}


def of(figures, part):
    return next(figure for name, figure in figures.items() if part in name)


def test_places_are_those_of_splits_that_all_have_run():
    """Over all splits EBM would be first, by leaving out the one on which ours failed badly."""
    figures = found([*OURS, *OTHERS])
    assert of(figures, "place by average rank, RMSE").value == 1
    assert of(figures, "average RMSE").value == pytest.approx(0.3)
    assert of(figures, "median seconds").value == pytest.approx(0.5)


def test_hours_are_of_two_cores_however_many_a_cell_had():
    one = of(found(OURS), "hours").value
    assert one == pytest.approx(8 * 10.0 / 2 / 3600)
    assert of(found([replace(cell, threads=2) for cell in OURS]), "hours").value == pytest.approx(2 * one)


def test_without_the_others_nothing_is_said_beside_them():
    assert not any(name.startswith(BESIDE) for name in found(OURS))
    assert not any(name.startswith(BESIDE) for name in found([*OURS, *OTHERS[:6]]))
    lacking = [cell for cell in OTHERS if (cell.model, cell.dataset) != ("EBM", "b")]
    assert not any(name.startswith(BESIDE) for name in found([*OURS, *lacking]))


def test_a_column_that_is_not_whole_has_no_limits():
    assert not found([*OURS[:-1], *OTHERS])


def test_a_failed_cell_of_ours_is_missed_and_does_not_hide_the_rest():
    cells = [*OURS[:-1], Cell("b", 3, "OAK", error="no"), *OTHERS]
    assert not of(found(cells), "failed").met
    assert of(found(cells), "average RMSE").met


@pytest.mark.parametrize("name", [name for name in TABLES if TABLES[name].reference == "OAK"])
def test_a_column_of_ours_that_failed_everywhere_says_only_that(name):
    table = replace(TABLES[name], splits=1)
    cells = [Cell(one, 0, "OAK", error="no") for one in table.sets]
    (figure,) = limits(table, cells, row_number=False)
    assert figure.value == len(table.sets)


def test_a_set_on_which_all_of_ours_failed_does_not_hide_the_others():
    table = replace(TABLES["classification"], sets=("heart", "liver"), splits=1)
    cells = [Cell("heart", 0, "OAK", accuracy=0.8, log_density=-0.5), Cell("liver", 0, "OAK", error="no")]
    figures = {figure.name: figure for figure in limits(table, cells, row_number=False)}
    assert of(figures, "heart: accuracy").value == 0.8
    assert not any(name.startswith("liver") for name in figures)


def test_more_than_all_of_the_score_does_not_make_up_for_less():
    shares = [1.5, 0.9, 0.9, 0.9] * 2
    cells = [replace(cell, ten_terms=share) for cell, share in zip(OURS, shares, strict=True)]
    assert of(found(cells), "where ten terms do").value == 0
    assert of(found(OURS), "where ten terms do").value == 2


def test_a_model_of_fewer_sets_sets_no_limit():
    table = replace(TABLES["oak-classification"], sets=("a", "b"), splits=1, models=("OAK", "GP"))
    cells = [Cell(name, 0, "OAK", accuracy=0.8, log_density=-0.3) for name in "ab"]
    cells += [Cell("a", 0, "GP", accuracy=0.99, log_density=-0.1)]
    figures = {figure.name: figure for figure in limits(table, cells, row_number=False)}
    assert of(figures, "average accuracy").met


def test_our_best_is_one_of_ours():
    table = replace(TABLES["classification"], sets=("heart",), splits=1)
    cells = [Cell("heart", 0, "OAK", accuracy=0.8, log_density=-0.5)]
    cells += [Cell("heart", 0, "EBM", accuracy=0.99, log_density=-0.1)]
    figures = {figure.name: figure for figure in limits(table, cells, row_number=False)}
    assert of(figures, "heart: accuracy").value == 0.8


def angular(**scores):
    """One split of every model of the spherical table, with scores by (set, kind, count)."""
    table = replace(TABLES["spherical"], splits=1)
    known = {"log_density": lambda *_: 0.0, "fit_seconds": lambda *_: 1.0, **scores}
    cells = [
        Cell(name, 0, model, **{key: score(name, *model.rsplit(" ", 1)) for key, score in known.items()})
        for name in table.sets
        for model in table.models
    ]
    return {figure.name: figure for figure in limits(table, cells, row_number=False)}


def test_orthogonal_variables_are_held_against_as_many_others_on_every_set():
    """They are better with one kind, on one set alone with another, and alike with the rest."""

    def density(name, kind, count):
        better = kind == "se relu" or (kind == "matern52 relu" and name == "power")
        return 0.1 * (better and count == "128+128")

    figures = angular(log_density=density)
    assert of(figures, "se relu: sets of 5 where 128+128 beats 256").value == 5
    assert of(figures, "se relu: sets").met
    assert of(figures, "matern52 relu: sets").value == 1
    assert of(figures, "arccos1 softplus: sets").value == 0
    assert not any("points" in name for name in figures)


def test_seconds_of_orthogonal_variables_are_beside_those_without_them():
    """Of each set by itself: 1.5 times on four, and three times on the largest."""

    def seconds(name, kind, count):
        base = {"power": 100.0}.get(name, 1.0)
        return base * ((3.0 if name == "power" else 1.5) if count == "128+128" else 1.0)

    figures = angular(fit_seconds=seconds)
    assert of(figures, "se relu: seconds of 128+128 over those of 128, median").value == pytest.approx(1.5)
    worst = of(figures, "se relu: seconds of 128+128 over those of 128, worst")
    assert worst.value == pytest.approx(3.0)
    assert not worst.met


def test_orthogonal_variables_that_fail_are_no_better():
    table = replace(TABLES["spherical"], sets=("power",), splits=1)
    model = table.reference
    cells = [Cell("power", 0, model, error="no"), Cell("power", 0, "arccos1 softplus 256", log_density=-9.0)]
    figures = {figure.name: figure for figure in limits(table, cells, row_number=False)}
    assert of(figures, "beats 256").value == 0
