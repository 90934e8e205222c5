"""The HTML report of a fit: summarise the model, draw its figures, fill a template, write one file."""

from latentsimplex.report.page import write_report
from latentsimplex.report.summary import summarise
from latentsimplex.report.text import describe

__all__ = ["describe", "summarise", "write_report"]
