"""Optional dependencies, imported when they are needed; pandas and polars data frames."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import Any

from latentsimplex.base.table import Table

FRAME_LIBRARIES = ("pandas", "polars")
"""The libraries that frames may come from, in the order in which they are looked for."""


def import_optional(library: str, purpose: str, extra: str | None = None) -> Any:
    """Return an optional library, or raise an ImportError that says how to install it.

    ``extra`` is the name under which this package asks for it.
    """
    try:
        return import_module(library)
    except ImportError as error:
        wanted = library if extra is None else f'"latentsimplex[{extra}]"'
        raise ImportError(f"{purpose} needs {library} ({error}): pip install {wanted}.") from error


def is_instance_of(data: Any, library: str, name: str) -> bool:
    """Return whether the data are of a class, without importing the library that it comes from."""
    return any(c.__name__ == name and c.__module__.split(".")[0] == library for c in type(data).__mro__)


def make_frame(table: Table, backend: str | None = None) -> Any:
    """Return a table as a pandas or polars DataFrame; None is pandas where it is installed, or else polars."""
    backend = _installed_frame_library() if backend is None else backend
    if backend not in FRAME_LIBRARIES:
        raise ValueError(f'backend={backend!r} is unknown: choose "pandas", "polars" or None.')
    library = import_optional(backend, f"A frame with backend={backend!r}")
    # lists of Python's own text: polars would keep NumPy's objects as they are
    columns = {
        name: column.tolist() if column.dtype == object else column for name, column in table.columns.items()
    }
    return library.DataFrame(columns)


def _installed_frame_library() -> str:
    for library in FRAME_LIBRARIES:
        with suppress(ImportError):
            import_module(library)
            return library
    raise ImportError("A frame needs pandas or polars, and neither is installed: pip install one of them.")
