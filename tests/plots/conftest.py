"""What all tests of figures share."""

import pytest
from matplotlib import pyplot

from latentsimplex.plots import panels


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


@pytest.fixture(name="ax")
def _ax():
    return panels(1, 1, 6, 5)[1][0, 0]
