"""Figures of a fitted model, or of arrays: each draws on ``ax`` or in a new figure, and returns the Axes.

A model is a fitted estimator or its ``results_``; ``view=`` or ``pattern=`` says which part of it is drawn, and without
either it is the consensus or, where there must be memberships, the heaviest pattern. A figure of several panels draws
them inside the axes that it is given, as its ``child_axes``. What is left out or averaged because there is too much of
it is said in small print.
"""

from latentsimplex.plots.canvas import new_figure, panels, save
from latentsimplex.plots.cluster_features import plot_cluster_features, plot_columns
from latentsimplex.plots.coassignment import plot_coassignment, plot_heatmap
from latentsimplex.plots.consensus import plot_consensus
from latentsimplex.plots.known import plot_known
from latentsimplex.plots.loss import plot_loss
from latentsimplex.plots.memberships import plot_membership_bars, plot_memberships
from latentsimplex.plots.scatter import plot_cluster_graph, plot_joint, plot_scatter
from latentsimplex.plots.screening import plot_maxima, plot_screening, plot_top_views
from latentsimplex.plots.similarity import plot_similarity
from latentsimplex.plots.simplex import plot_simplex
from latentsimplex.plots.uncertainty import plot_reliability, plot_uncertainty
from latentsimplex.plots.view_patterns import plot_presence, plot_view_patterns, plot_weights

__all__ = [
    "new_figure",
    "panels",
    "plot_cluster_features",
    "plot_cluster_graph",
    "plot_coassignment",
    "plot_columns",
    "plot_consensus",
    "plot_heatmap",
    "plot_joint",
    "plot_known",
    "plot_loss",
    "plot_maxima",
    "plot_membership_bars",
    "plot_memberships",
    "plot_presence",
    "plot_reliability",
    "plot_scatter",
    "plot_screening",
    "plot_similarity",
    "plot_simplex",
    "plot_top_views",
    "plot_uncertainty",
    "plot_view_patterns",
    "plot_weights",
    "save",
]
