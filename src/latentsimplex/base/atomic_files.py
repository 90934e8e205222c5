"""Files and folders that are written whole or not at all: what was there stays until all of the new is on disk.

What is being written has a hidden name that begins with ``.part-``, beside or inside the place that it is for. An
error leaves none of it; of a process that was killed, this is what is left.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from latentsimplex.base.wording import show_value

PREFIX = ".part-"
"""How names of what is being written begin."""
LETTERS_KEPT = 60
"""Of the name of a file, in the name of its part: a name has 255 bytes at most."""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new file to write, atomically: it takes the place of ``path`` when the block ends without an error.

    Links are followed, an older file's permissions kept. A device or a pipe, which cannot be replaced, is itself
    what is written to. An OSError names ``path``.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     target = Path(folder, "file")
    ...     with whole_file(target) as part:
    ...         _ = part.write_text("new"), target.exists()
    ...     target.read_text()
    'new'
    """
    target = Path(os.path.realpath(check_path(path)))
    if target.exists() and not target.is_file():
        with _named_as(path, target):
            yield target
        return
    part = _name_part(target.parent, target.name)
    try:
        with _named_as(path, part):
            if target.exists() and not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(part))
            yield part
            if target.exists():
                shutil.copymode(target, part)
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def whole_folder(
    folder: Path, is_stale: Callable[[str], object] = lambda name: False, last: str = ""
) -> Iterator[Path]:
    """Give an empty folder to write files into, which are moved into ``folder`` when the block ends without an error.

    Where ``folder`` is new it appears with all its files at once. Otherwise files of the same names, and those whose
    names ``is_stale`` tells, make place for them, and what else is in it stays. After an error, also in the midst of
    moving, all is as it was. ``last`` is the file that leaves first and comes last: only a process that is killed
    while it moves files leaves others without it, and then the old ones are in a ``.part-`` folder there.
    """
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    new, old = _name_part(there, folder.name), _name_part(there, f"old-{folder.name}")
    try:
        with _named_as(folder, new):
            new.mkdir()
            yield new
            if folder.exists():
                old.mkdir()
                _exchange(folder, new, old, is_stale, last)
                shutil.rmtree(old, ignore_errors=True)
            else:
                folder.parent.mkdir(parents=True, exist_ok=True)
                os.replace(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        with suppress(OSError):  # it holds files only where the way back was cut short too
            old.rmdir()


def _exchange(folder: Path, new: Path, old: Path, is_stale: Callable[[str], object], last: str) -> None:
    """Move files that are replaced from a folder to ``old``, then those in ``new`` into it; or none."""
    arriving = sorted(os.listdir(new), key=lambda name: name == last)
    leaving = [name for name in os.listdir(folder) if name in arriving or is_stale(name)]
    for name in leaving:
        if (folder / name).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(folder / name))
    moves = [(folder / name, old / name) for name in sorted(leaving, key=lambda name: name != last)]
    moves += [(new / name, folder / name) for name in arriving]
    try:
        for source, target in moves:
            os.replace(source, target)
    except BaseException:
        for source, target in reversed(moves):
            if not os.path.lexists(source):
                os.replace(target, source)
        raise


def check_path(path: Any) -> str:
    """Return a path as text, or raise TypeError where it is none.

    >>> check_path(Path("fit.model"))
    'fit.model'
    """
    try:
        return os.fsdecode(path)
    except TypeError:
        raise TypeError(
            f"The path is {show_value(path)}, a {type(path).__name__}: give text or a pathlib.Path."
        ) from None


def _name_part(folder: Path, name: str) -> Path:
    """Return a path that nothing has, for what is to get a name."""
    return folder / f"{PREFIX}{secrets.token_hex(4)}-{name[-LETTERS_KEPT:]}"


@contextmanager
def _named_as(path: str | os.PathLike[str], part: Path) -> Iterator[None]:
    """Let an OSError about a part, or about no file at all, name what the part is for."""
    try:
        yield
    except OSError as error:
        about = part if error.filename is None else Path(os.fsdecode(error.filename))
        if about.is_relative_to(part):
            # libraries have long words of their own where they know the system's number of the error
            error.strerror = str(error) if error.errno is None else os.strerror(error.errno)
            error.errno = errno.EIO if error.errno is None else error.errno
            error.filename = str(Path(path) / about.relative_to(part))
        raise
