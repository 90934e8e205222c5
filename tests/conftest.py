"""What all tests share."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits

from latentsimplex import reference


@pytest.fixture(scope="session", autouse=True)
def _one_thread_of_blas() -> Iterator[None]:
    """Keep libraries to one thread, as a fit does: tests run on all cores already, and problems here are small."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def one_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare views with a single cloud, for tests of anything but the comparison: clouds are most of a small fit."""
    monkeypatch.setattr(reference, "CLOUDS", 1)
