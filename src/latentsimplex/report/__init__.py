"""A page about a fit: summarise the model, draw its figures, fill a template, write one HTML file."""

from latentsimplex.report.page import write_report
from latentsimplex.report.summary import summarise
from latentsimplex.report.text import describe

__all__ = ["describe", "summarise", "write_report"]
