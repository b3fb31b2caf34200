"""The report of a model: one page that explains it and in which it runs."""

from __future__ import annotations

from termwise.report.report import Report

__all__ = ["Report"]
