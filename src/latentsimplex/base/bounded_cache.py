"""A cache of arrays that keeps within a number of bytes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T", bound="tuple[Any, ...] | None")


class BoundedCache(Generic[T]):
    """A cache of tuples of arrays: the first that come are kept, as many as fit into so many bytes.

    >>> import numpy as np
    >>> cache = BoundedCache(100)
    >>> one, other = (cache.get("key", lambda: (np.ones(3),)) for _ in range(2))
    >>> one is other
    True
    """

    def __init__(self, most_bytes: int) -> None:
        self._entries: dict[Hashable, T] = {}
        self._free_bytes = most_bytes

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the entry of a key, which ``compute`` makes if there is none."""
        if key in self._entries:
            return self._entries[key]
        entry = compute()
        size = 0 if entry is None else sum(array.nbytes for array in entry)
        if size <= self._free_bytes:
            # threads that compute the same at once count it twice, which does no harm
            self._free_bytes -= size
            self._entries[key] = entry
        return entry
