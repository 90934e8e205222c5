"""How loops are compiled: by Numba, without Python's lock, and cached beside the file that they are in.

Modules of compiled loops live in the room whose stage they serve, with an underscore in front of their name unless
other rooms build on them. Importing one imports Numba, which takes half a second, so the functions that call a loop
import it, and nothing else does.

Numba compiles a cached loop anew when its own file has changed, not when that of a loop which it calls has:
``make fresh-loops`` after a change to a loop that others call.
"""

from __future__ import annotations

from typing import Any

from numba import njit

COMPILED: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "error_model": "numpy",
}
"""Sums may be reordered, so that a loop works on several numbers at once; nan and infinity keep their meaning."""
compiled = njit(cache=True, **COMPILED)
compiled_exactly = njit(cache=True, nogil=True)
"""Sums are taken in the order in which they are written."""
STRIP = 1024
"""Numbers that a loop deals with at a time: what a strip of them needs stays in the nearest cache."""
