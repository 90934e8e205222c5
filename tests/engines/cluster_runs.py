"""What tests of fits on a cluster share: a small fit, what happens in the middle of one, the same bits."""

import numpy as np

from latentsimplex import LatentSimplexPosition
from latentsimplex.engines.sharded_pairs import ShardedPairs

SETTINGS = {"n_clusters": 4, "n_patterns": 3, "n_init": 1, "random_state": 0, "n_jobs": 1}


def fit(X, **settings):
    return LatentSimplexPosition(**{**SETTINGS, **settings}).fit(X)


def assert_same_bits(found, expected):
    for name in ("labels_", "view_responsibilities_", "loss_curve_", "pattern_weights_"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    for own, other in zip(found.memberships_, expected.memberships_, strict=True):
        assert np.array_equal(own, other)


def on_pass(monkeypatch, number, act):
    """Let ``act`` run in the middle of a fit, when EM asks for a pass over all views for the so-manieth time."""
    asked, pass_over = [], ShardedPairs.pass_over

    def count(self, *arguments):
        asked.append(None)
        if len(asked) == number:
            act()
        return pass_over(self, *arguments)

    monkeypatch.setattr(ShardedPairs, "pass_over", count)
    return asked
