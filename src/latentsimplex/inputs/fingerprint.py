"""A fingerprint (hash) of views, by which a fit recognises its data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from latentsimplex.inputs.views import Views

FINGERPRINT_BYTES = 32
BLOCK_BYTES = 1 << 24
"""Bytes of a table that are read at a time."""


def fingerprint_views(views: Views, digests: Iterable[str] | None = None) -> str:
    """Return a hash of all that a fit reads of its views: numbers, names, and which samples are absent.

    ``digests`` are those of the tables, in order, where others hold them.

    >>> from latentsimplex.inputs.views import as_views
    >>> one, other = ([[1.0, 2.0], [3.0, last]] for last in (4.0, 5.0))
    >>> fingerprint_views(as_views(one)) == fingerprint_views(as_views(one)) != fingerprint_views(as_views(other))
    True
    """
    digest = blake2b(digest_size=FINGERPRINT_BYTES)
    digest.update(repr((views.names, views.sample_names, views.feature_names, views.widths)).encode())
    if views.present is not None:
        _add(digest, views.present)
    for v, own in enumerate(digest_tables(views) if digests is None else digests):
        digest.update(f"{own}{views.find_given(v)!r}".encode())
    return digest.hexdigest()


def digest_tables(views: Views) -> Iterator[str]:
    """Yield a hash of the table of each view."""
    for v in range(len(views)):
        digest = blake2b(digest_size=FINGERPRINT_BYTES)
        _add(digest, views.load(v) if views.stack is None else views.stack[v])
        yield digest.hexdigest()


def _add(digest: Any, table: Any) -> None:
    """Add an array, or the parts of a sparse matrix, to a hash, block by block; single precision as double."""
    dtype = np.dtype(np.float64) if table.dtype == np.float32 else table.dtype
    digest.update(f"{type(table).__name__}{table.shape}{dtype.str}".encode())
    if sparse.issparse(table):
        stored = table.tocsc()
        for part in (stored.indptr, stored.indices, stored.data):
            _add(digest, part)
        return
    rows = max(1, BLOCK_BYTES // max(1, table[:1].nbytes))
    for start in range(0, len(table), rows):
        digest.update(np.ascontiguousarray(table[start : start + rows], dtype=dtype).data)
