"""Faults of data files that have one sentence each: damaged ones, and those that are too large."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def read_or_explain(
    read: Callable[[Path], Any], path: Path, kind: str, remedy: str = "write it again"
) -> Any:
    """Return what another library reads; whatever it raises on a file that is not its own is one sentence."""
    try:
        return read(path)
    except (PermissionError, MemoryError):
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(f"{path.name} is not {kind} that can be read ({reason}): {remedy}.") from error


def check_memory(n_bytes: int, memory_limit: float, path: Path) -> None:
    """Refuse a file that holds more than may be read, before it is."""
    if n_bytes > memory_limit:
        raise MemoryError(
            f"{path.name} holds more than {memory_limit / 1e9:.3g} GB: give fewer samples or features, or raise "
            "--memory-limit."
        )
