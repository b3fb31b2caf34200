"""Cells of a table and the file that keeps them."""

import pytest

from benchmarks.harness.cells import Cell, append_cell, read_cells, write_cells

CELLS = [
    Cell("airfoil", 0, "OAK", 1352, 151, 5, rmse=0.137, log_density=0.67, fit_seconds=9.5, terms=7),
    Cell("airfoil", 1, "OAK", error='ValueError: two\nlines, and a "quote"'),
    Cell("pima", 0, "OAK", accuracy=0.77, version="termwise 0.1"),
]


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "deep" / "cells.csv"
    for cell in CELLS:
        append_cell(found, cell)
    return found


def test_cells_are_read_as_they_were_written(path):
    found = read_cells(path)
    assert found[0] == CELLS[0]
    assert found[1].error == 'ValueError: two lines, and a "quote"'
    assert found[2] == CELLS[2]


def test_of_two_cells_with_one_place_the_later_counts(path):
    append_cell(path, Cell("airfoil", 1, "OAK", rmse=0.2))
    found = {cell.key: cell for cell in read_cells(path)}
    assert len(found) == 3
    assert found[CELLS[1].key] == Cell("airfoil", 1, "OAK", rmse=0.2)


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_line_that_was_cut_short_counts_as_not_written(path, cut):
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert read_cells(path) == read_cells_of(path, whole)[:2]
    append_cell(path, CELLS[2])
    assert path.read_bytes() == whole


def read_cells_of(path, content):
    other = path.with_name("other.csv")
    other.write_bytes(content)
    return read_cells(other)


def test_a_whole_file_is_the_same_in_whatever_order_its_cells_came(path, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    write_cells(first, read_cells(path))
    write_cells(second, reversed(read_cells(path)))
    assert first.read_bytes() == second.read_bytes()
    assert sorted(read_cells(first), key=lambda cell: cell.key) == read_cells(first)


def test_there_are_no_cells_without_a_file(tmp_path):
    assert read_cells(tmp_path / "none.csv") == []
