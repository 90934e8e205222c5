"""Views in the plane: every sample where it is, with the colour, the edges and the counts of its cluster."""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from latentsimplex.plots import plot_cluster_graph, plot_joint, plot_scatter
from latentsimplex.plots.palette import OKABE_ITO
from plots.drawn import MORE_LABELS, N, dots, points


def test_scatter_has_one_colour_for_each_cluster():
    drawn = dots(plot_scatter(points(), MORE_LABELS))
    assert [len(cluster.get_offsets()) for cluster in drawn] == [6, 3, 3]
    assert len({tuple(cluster.get_facecolor()[0]) for cluster in drawn}) == 3
    np.testing.assert_allclose(drawn[1].get_offsets(), points()[MORE_LABELS == 1])


def test_scatter_cuts_heavy_tails_only_when_asked():
    wild = points()
    wild[0] = 1e6
    assert plot_scatter(wild, MORE_LABELS).get_xlim()[1] > 1e6
    ax = plot_scatter(wild, MORE_LABELS, tail=0.1)
    assert ax.get_xlim()[1] < 1e3
    assert ax.get_ylim()[1] < 1e3
    assert ax.get_xlim()[0] < np.median(wild[:, 0]) < ax.get_xlim()[1]


def test_cluster_graph_joins_every_pair_of_one_cluster_and_no_other():
    X = points()
    ax = plot_cluster_graph(X, MORE_LABELS)
    drawn = {
        frozenset(tuple(end) for end in segment)
        for edges in ax.collections
        if isinstance(edges, LineCollection)
        for segment in edges.get_segments()
    }
    pairs = [(i, j) for i in range(N) for j in range(i) if MORE_LABELS[i] == MORE_LABELS[j]]
    assert drawn == {frozenset([tuple(X[i]), tuple(X[j])]) for i, j in pairs}


def test_cluster_graph_shows_a_part_of_many_samples_and_says_so():
    ax = plot_cluster_graph(points(), MORE_LABELS, max_nodes=5, title="G")
    assert sum(len(nodes.get_offsets()) for nodes in dots(ax)) == 5
    assert ax.get_title() == "G\n5 of 12 samples"


def test_joint_histograms_count_every_sample():
    ax = plot_joint(*points().T, MORE_LABELS, names=("one", "two"))
    above, beside = ax.child_axes
    assert sum(bar.get_height() for bar in above.patches) == N
    assert sum(bar.get_width() for bar in beside.patches) == N
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("one", "two")
    assert above.patches[0].get_facecolor()[:3] not in {to_rgba(colour)[:3] for colour in OKABE_ITO}
