"""Figures: one a file, arrays in, Axes out. No figure is shown, and pyplot's global state is not touched."""

from latentsimplex.plots.canvas import new_figure, panels, save
from latentsimplex.plots.cluster_graph import plot_cluster_graph
from latentsimplex.plots.heatmap import plot_heatmap
from latentsimplex.plots.joint import plot_joint
from latentsimplex.plots.maxima import plot_maxima
from latentsimplex.plots.memberships import plot_memberships
from latentsimplex.plots.reliability import plot_reliability
from latentsimplex.plots.scatter import plot_scatter
from latentsimplex.plots.top_views import plot_top_views
from latentsimplex.plots.weights import plot_weights

__all__ = [
    "new_figure",
    "panels",
    "plot_cluster_graph",
    "plot_heatmap",
    "plot_joint",
    "plot_maxima",
    "plot_memberships",
    "plot_reliability",
    "plot_scatter",
    "plot_top_views",
    "plot_weights",
    "save",
]
