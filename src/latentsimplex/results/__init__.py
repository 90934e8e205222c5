"""Results of a fit: the record of all that it found, labels, co-assignments, the consensus, tables, files."""

from latentsimplex.results.coassignment import CoAssignment
from latentsimplex.results.consensus import Consensus
from latentsimplex.results.containers import write_results
from latentsimplex.results.results import Results, Stage

__all__ = ["CoAssignment", "Consensus", "Results", "Stage", "write_results"]
