"""Input data in any form: named tables of the same samples, from arrays, frames, files and containers."""

from latentsimplex.inputs.containers import views_of
from latentsimplex.inputs.named_table import NamedTable, with_samples

__all__ = ["NamedTable", "views_of", "with_samples"]
