"""The folder of a checkpoint: which fit it belongs to, its pieces, and when they are written.

``checkpoint.json`` says of which data and settings the pieces are; a folder of others is refused. Each piece is a file
of its own. Those that are made in quick succession wait and are written together, so that writing takes no more than a
hundredth of the time; a process that is killed loses what was waiting.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any
from zipfile import BadZipFile, ZipFile

from latentsimplex._version import __version__
from latentsimplex.base.atomic_files import PREFIX, whole_file
from latentsimplex.base.wording import show_value, warn_user
from latentsimplex.checkpoints.folder_lock import LOCK, locked_folder
from latentsimplex.checkpoints.pieces import DAMAGE, OtherPiece, read_piece, write_piece

FORMAT = "latentsimplex checkpoint"
IDENTITY, ENDING = "checkpoint.json", ".npz"
"""The file that says what a checkpoint is of, and how names of pieces end."""
BETWEEN_WRITES, PACE = 10.0, 100
"""Seconds between two times of writing, at least, and how many times longer than the last of them took. The first time
a search may have twenty pieces to write, which took 0.3 seconds on a busy disk."""
ANEW = "give another folder, or delete this one to begin anew"
"""What to do about a checkpoint that a fit cannot go on from."""


class Nothing:
    """Stands for a piece that is not there; None may be one."""


NOTHING = Nothing()


class PieceFolder:
    """The pieces of one fit, in a folder that is locked and whose identity has been checked."""

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path, self.identity = path, identity
        self._waiting: dict[str, tuple[str, Any]] = {}
        self._changing, self._writing = Lock(), Lock()
        self._due, self._has_warned = monotonic() + BETWEEN_WRITES, False

    def list_pieces(self) -> list[str]:
        """Return the names of the pieces, the last one last."""
        pieces = sorted(self.path.glob(f"*{ENDING}"), key=lambda piece: piece.stat().st_mtime_ns)
        return [piece.stem for piece in pieces]

    def read(self, name: str, key: str, types: Sequence[type] = ()) -> Any:
        """Return a piece, or NOTHING where it is not there, or of another key; a damaged one is as good as none."""
        path = self.path / f"{name}{ENDING}"
        if not path.exists():
            return NOTHING
        try:
            return read_piece(path, key, types)
        except OtherPiece:
            return NOTHING
        except DAMAGE as error:
            self._warn(f"{path.name} in it is damaged ({type(error).__name__}), and is made anew")
            return NOTHING

    def load_pieces(self) -> dict[str, bytes]:
        """Return the files of all pieces, by name, for whoever goes on from them elsewhere; damaged ones are none."""
        found = {}
        for name in self.list_pieces():
            path = self.path / f"{name}{ENDING}"
            try:
                with ZipFile(path) as archive:
                    if archive.testzip() is not None:
                        raise BadZipFile
                found[name] = path.read_bytes()
            except (BadZipFile, OSError, zlib.error) as error:
                self._warn(f"{path.name} in it is damaged ({type(error).__name__}), and is made anew")
        return found

    def keep(self, name: str, key: str, value: Any) -> None:
        """Have a piece written, in place of an older one of that name, now or with those that follow."""
        with self._changing:
            self._waiting[name] = (key, value)
        if monotonic() >= self._due and self._writing.acquire(blocking=False):
            try:
                self._write()
            finally:
                self._writing.release()

    def flush(self) -> None:
        """Write the pieces that wait."""
        with self._writing:
            self._write()

    def _write(self) -> None:
        began = monotonic()
        try:
            while self._waiting:
                with self._changing:
                    name = next(iter(self._waiting))
                    key, value = self._waiting.pop(name)
                write_piece(self.path / f"{name}{ENDING}", key, value)
        except OSError as error:
            if not self._has_warned:
                self._has_warned = True
                reason = (error.strerror or str(error)).lower()
                self._warn(f"it cannot be written now ({reason}), and the fit goes on without it")
        now = monotonic()
        self._due = now + max(BETWEEN_WRITES, PACE * (now - began))

    def remove_pieces(self) -> None:
        """Delete the pieces, once the fit has ended."""
        with self._writing, self._changing:
            self._waiting.clear()
            for piece in self.path.glob(f"*{ENDING}"):
                piece.unlink(missing_ok=True)

    def _warn(self, what: str) -> None:
        warn_user(f"The checkpoint in {str(self.path)!r}: {what}.")


@contextmanager
def open_folder(path: Path, identity: Mapping[str, Any], drawn: Mapping[str, Any]) -> Iterator[PieceFolder]:
    """Give the folder of a fit's pieces, new or with what an earlier process left of the same fit.

    ``identity`` is what the fit is of. ``drawn`` is written beside it into a new folder and comes from there otherwise:
    what every process of the fit has to agree on. What waits to be written when the block ends, by an error too, is.
    """
    if path.exists() and not path.is_dir():
        raise ValueError(f"checkpoint={str(path)!r} is a file: give a folder, which may be new.")
    with ExitStack() as held:
        try:
            path.mkdir(parents=True, exist_ok=True)
            held.enter_context(locked_folder(path))
            folder = PieceFolder(path, _agree(path, identity, drawn))
        except OSError as error:
            reason = os.strerror(error.errno).lower() if error.errno else str(error)
            raise type(error)(
                f"checkpoint={str(path)!r} cannot be written ({reason}): give a folder that can be."
            ) from None
        held.callback(folder.flush)
        yield folder


def _agree(path: Path, identity: Mapping[str, Any], drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return the identity in a folder, written now if that is new, or raise ValueError if it is of another fit."""
    wanted = json.loads(json.dumps({**identity, "format": FORMAT, "version": __version__, **drawn}))
    for part in path.glob(f"{PREFIX}*"):  # what a process that was killed was writing
        part.unlink(missing_ok=True)
    if not (path / IDENTITY).exists():
        others = sorted(name for name in os.listdir(path) if name != LOCK)
        if others:
            raise ValueError(
                f"checkpoint={str(path)!r} holds other files ({show_value(others[0])}): give a new or an empty folder."
            )
        with whole_file(path / IDENTITY) as part:
            part.write_text(json.dumps(wanted, indent=1), encoding="utf-8")
        return wanted
    try:
        found = json.loads((path / IDENTITY).read_text(encoding="utf-8"))
        is_whole = found["format"] == FORMAT and found.keys() >= {"version", *drawn}
    except (ValueError, LookupError, TypeError):
        is_whole = False
    if not is_whole:
        raise ValueError(f"{IDENTITY} in the checkpoint {str(path)!r} is damaged: {ANEW}.")
    if found["version"] != __version__:
        raise ValueError(
            f"The checkpoint in {str(path)!r} is of latentsimplex {found['version']} and this is {__version__}: "
            f"{ANEW}."
        )
    for name in (*identity, *(found.keys() - wanted.keys())):
        mine, theirs = wanted.get(name), found.get(name)
        if mine != theirs:
            raise ValueError(
                f"The checkpoint in {str(path)!r} is of {_tell_difference(name, theirs, mine)}: {ANEW}."
            )
    return found


def _tell_difference(name: str, found: Any, wanted: Any) -> str:
    """Return in what two identities differ; of settings, which ones."""
    if not (isinstance(found, dict) and isinstance(wanted, dict)):
        return f"other {name}"
    differing = [each for each in wanted if each not in found or found[each] != wanted[each]]
    told = (f"{each} was {show_value(found.get(each))}, not {show_value(wanted[each])}" for each in differing)
    return f"other {name} ({'; '.join(told)})"
