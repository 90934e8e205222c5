"""The table with hidden views."""

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex.base.kmeans import kmeans
from latentsimplex.datasets import hidden_views


def test_sizes_are_those_that_were_asked_for():
    hidden = hidden_views(n_samples=90, n_views=3, n_noise=7, blocks=(4, 5), random_state=0)
    sizes = np.bincount(hidden.views + 1)
    assert sizes[0] == 16
    assert len(sizes) == 4
    assert ((sizes[1:] >= 3) & (sizes[1:] <= 12)).all()
    assert hidden.table.shape == (90, sizes.sum())


def test_columns_alone_say_little_of_the_clusters_and_together_much():
    hidden = hidden_views(n_views=3, random_state=1)
    for v, labels in enumerate(hidden.labels):
        k, view = labels.max() + 1, hidden.table[:, hidden.views == v]
        alone = [normalized_mutual_info_score(labels, kmeans(column[:, None], k)) for column in view.T]
        together = normalized_mutual_info_score(labels, kmeans(view / view.std(axis=0), k, n_init=20))
        assert max(alone) <= 0.45 < 0.75 < together


def test_a_seed_gives_the_same_table():
    one, other = (hidden_views(n_views=1, n_noise=2, random_state=3) for _ in range(2))
    assert (one.table == other.table).all()


@pytest.mark.parametrize("wrong", [{"n_clusters": (1, 3)}, {"n_columns": (5, 3)}])
def test_wrong_ranges_are_refused(wrong):
    with pytest.raises(ValueError, match="is not valid"):
        hidden_views(**wrong)
