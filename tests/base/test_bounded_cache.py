"""A cache of arrays: what fits is found once, what does not is found again."""

import numpy as np

from latentsimplex.base.bounded_cache import BoundedCache


def test_what_does_not_fit_is_found_again():
    made = []

    def find():
        made.append(None)
        return np.ones(2), np.ones((10, 2))

    cache = BoundedCache(2 * 8 * 11 + 8)
    for key in "aabb":
        assert cache.get(key, find)[1].shape == (10, 2)
    assert len(made) == 3


def test_an_entry_that_just_fits_is_kept():
    made = []

    def find():
        made.append(None)
        return (np.ones(4),)

    cache = BoundedCache(8 * 4)
    assert cache.get("key", find) is cache.get("key", find)
    assert len(made) == 1


def test_that_there_is_nothing_is_known_too():
    made = []
    cache = BoundedCache(0)
    for _ in range(2):
        assert cache.get("key", lambda: made.append(None)) is None
    assert len(made) == 1
