"""Views found among columns."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from latentsimplex.base.threads import Workers
from latentsimplex.columns import found_views
from latentsimplex.columns.found_views import choose_groups, find_views, merge_groups, shared_information
from latentsimplex.datasets import hidden_views


def small(seed, **sizes):
    return hidden_views(
        n_views=2, n_noise=8, n_columns=(5, 8), n_clusters=(3, 4), blocks=(5,), random_state=seed, **sizes
    )


def find(table):
    with Workers(1) as workers:
        return find_views(table, workers)


def test_hidden_views_are_found_and_noise_is_in_none():
    hidden = small(100, n_samples=200)
    found = find(hidden.table)
    assert found.n_views == 2
    assert adjusted_rand_score(hidden.views, found.views) > 0.9
    assert [len(own) for own in found.columns] == sorted((len(own) for own in found.columns), reverse=True)
    own = found.gains[np.arange(len(found.views)), found.views]
    assert (own[found.views >= 0] > 0).all()
    assert (found.gains[found.views < 0] <= 0).all()


def test_correlated_columns_without_clusters_and_noise_are_no_view():
    rng = np.random.default_rng(0)
    block = rng.normal(size=(200, 1)) + 0.5 * rng.normal(size=(200, 6))
    found = find(np.hstack([block, rng.normal(size=(200, 6))]))
    assert found.n_views == 0
    assert found.columns == []
    assert (found.views == -1).all()
    assert np.isnan(found.best_gains).all()


def test_the_order_of_columns_does_not_matter():
    hidden = small(101, n_samples=200)
    order = np.random.default_rng(0).permutation(len(hidden.views))
    assert adjusted_rand_score(find(hidden.table).views[order], find(hidden.table[:, order]).views) == 1


def test_missing_cells_and_many_samples(monkeypatch):
    monkeypatch.setattr(found_views, "GROUPED_BY", 200)
    hidden = small(102, n_samples=250)
    table = hidden.table.copy()
    table[np.random.default_rng(0).random(table.shape) < 0.02] = np.nan
    assert adjusted_rand_score(hidden.views, find(table).views) > 0.9


class FakeJudge:
    """Evidence of groups as given, and which of them share clusters."""

    def __init__(self, evidence, exchanged=0.0, shared=False):
        self.known, self.exchanged, self.shared = evidence, exchanged, shared

    def look(self, groups):
        pass

    def evidence(self, members, by=None):
        return self.known[members] if by is None else self.exchanged

    def share_clusters(self, one, other):
        return self.shared


def test_a_group_is_taken_apart_where_its_parts_have_more_evidence():
    nested = [(0, 1), (2, 3), (0, 1, 2, 3)]
    assert choose_groups(nested, FakeJudge({(0, 1): 5.0, (2, 3): 4.0, (0, 1, 2, 3): 8.0})) == [(0, 1), (2, 3)]
    assert choose_groups(nested, FakeJudge({(0, 1): 5.0, (2, 3): 0.0, (0, 1, 2, 3): 8.0})) == [(0, 1, 2, 3)]
    assert choose_groups(nested, FakeJudge(dict.fromkeys(nested, 0.0))) == []


@pytest.mark.parametrize(
    ("exchanged", "together", "shared", "merged"),
    [(4.0, 12.0, False, True), (4.0, 8.0, False, False), (4.0, 8.0, True, True), (0.0, 12.0, False, False)],
)
def test_views_are_made_one_where_that_is_more_evidence_or_clusters_are_shared(
    exchanged, together, shared, merged
):
    judge = FakeJudge({(0, 1): 5.0, (2, 3): 4.0, (0, 1, 2, 3): together}, exchanged, shared)
    assert (merge_groups([(0, 1), (2, 3)], judge) == [(0, 1, 2, 3)]) is merged


def test_independent_clusters_share_no_information():
    one, other = np.repeat([0, 1], 50), np.tile([0, 1], 50)
    assert shared_information(one, other) == pytest.approx(0, abs=1e-9)
    assert shared_information(one, np.arange(100) // 25) == pytest.approx(1)


@pytest.mark.slow
def test_views_of_the_simulation_are_found_in_nine_of_ten_seeds():
    scores = []
    for seed in range(200, 210):
        hidden = hidden_views(random_state=seed)
        scores.append(adjusted_rand_score(hidden.views, find(hidden.table).views))
    assert np.sum(np.array(scores) >= 0.9) >= 9
