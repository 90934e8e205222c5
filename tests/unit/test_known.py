"""What is kept of what was found before."""

import numpy as np

from latentsimplex.known import Known


def test_what_does_not_fit_is_found_again():
    made = []

    def find():
        made.append(None)
        return np.ones(2), np.ones((10, 2))

    known = Known(2 * 8 * 11 + 8)
    for key in "aabb":
        assert known.get(key, find)[1].shape == (10, 2)
    assert len(made) == 3


def test_that_there_is_nothing_is_known_too():
    made = []
    known = Known(0)
    for _ in range(2):
        assert known.get("key", lambda: made.append(None)) is None
    assert len(made) == 1
