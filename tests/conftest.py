"""What all tests share."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from latentsimplex.auto import choose_similarity, gaussian_clouds, temperatures
from latentsimplex.base import condensed


@pytest.fixture(scope="session", autouse=True)
def _one_thread_of_blas() -> Iterator[None]:
    """Keep libraries to one thread, as a fit does: tests run on all cores already, and problems here are small."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def one_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare views with a single cloud, for tests of anything but the comparison: clouds are most of a small fit."""
    for module in (gaussian_clouds, temperatures, choose_similarity):
        monkeypatch.setattr(module, "N_CLOUDS", 1)


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Cut the pairs of few samples into many tiles."""
    monkeypatch.setattr(condensed, "TILE_PAIRS", 50)
    condensed.cut_into_tiles.cache_clear()
    yield
    condensed.cut_into_tiles.cache_clear()
