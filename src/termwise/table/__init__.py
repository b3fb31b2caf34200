"""Tables: typed columns from any data frame, array or CSV file."""

from __future__ import annotations

from termwise.table.cells import Level, level_text
from termwise.table.column import Column, Kind
from termwise.table.csv import read_csv
from termwise.table.read import read_table
from termwise.table.schema import Schema
from termwise.table.table import Table, Values
from termwise.table.target import split_target

__all__ = [
    "Column",
    "Kind",
    "Level",
    "Schema",
    "Table",
    "Values",
    "level_text",
    "read_csv",
    "read_table",
    "split_target",
]
