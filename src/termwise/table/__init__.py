"""Tables: typed columns from any data frame, array or CSV file."""

from __future__ import annotations

from termwise.table.cells import Level, level_text, shortened
from termwise.table.chunks import Chunk, open_dataset, sample_positions
from termwise.table.column import Column, Kind
from termwise.table.csv import read_csv
from termwise.table.read import read_table
from termwise.table.schema import Schema
from termwise.table.survey import Survey, stacked, survey_chunk, surveyed_schema
from termwise.table.table import Table, Values
from termwise.table.target import split_target

__all__ = [
    "Chunk",
    "Column",
    "Kind",
    "Level",
    "Schema",
    "Survey",
    "Table",
    "Values",
    "level_text",
    "open_dataset",
    "read_csv",
    "read_table",
    "sample_positions",
    "shortened",
    "split_target",
    "stacked",
    "survey_chunk",
    "surveyed_schema",
]
