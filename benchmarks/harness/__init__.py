"""A table of many sets, models and splits: measured cell by cell, kept, summed up."""
