"""A lock on a folder, for one process at a time; the system takes it from a process that is killed.

Where the system has no such locks, as on some file systems of clusters, a warning says that nothing watches.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from latentsimplex.base.wording import warn_user

LOCK = "lock"
"""The file that is locked; it says which process has it, and stays when that has ended."""
HELD = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
"""What systems say of a file that another process has locked."""


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Have a folder for oneself; ValueError where another process, or another fit of this one, has it."""
    with (folder / LOCK).open("a+", encoding="utf-8") as file:
        try:
            _lock(file)
        except OSError as error:
            if error.errno in HELD:
                raise ValueError(
                    f"The checkpoint in {str(folder)!r} is in use by {_read_owner(file)}: wait until that has ended, "
                    "or give another folder."
                ) from None
            warn_user(
                f"Folders cannot be locked where {str(folder)!r} is ({os.strerror(error.errno or 0).lower()}): see to "
                "it that no other fit has the same checkpoint.",
            )
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield


def _read_owner(file: IO[str]) -> str:
    file.seek(0)
    return file.read(200).strip() or "another process"


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        """Lock a file until it is closed, far beyond what it says, which others may read."""
        os.lseek(file.fileno(), 1 << 20, os.SEEK_SET)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        """Lock a file until it is closed."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
