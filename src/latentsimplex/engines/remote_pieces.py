"""Pieces of a checkpoint that a worker makes, collected by the process that has the folder.

Workers need not see the folder. A task that begins, or that Dask begins again because its worker was lost, waits until
it is handed all that was collected so far, and goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any

from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.checkpoints.piece_folder import NOTHING, PieceFolder
from latentsimplex.checkpoints.pieces import DAMAGE, OtherPiece, read_open_piece
from latentsimplex.engines.dask_cluster import Cluster

SOON, COLLECT_SECONDS = 0.1, 5.0
"""Seconds between two times of asking a worker, at first and later: half of those between two times of writing."""
PATIENCE = 300
"""Seconds that a task waits to be handed earlier pieces: if nobody comes, the fit that asked for it has ended."""

Pieces = dict[str, tuple[str, Any]]
"""Keys and values of pieces, by name."""


class PiecesOnWorker(PieceFolder):
    """Stands in for the folder on a worker: earlier pieces as they were handed to it, new ones as they wait."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, {})
        self._earlier: Mapping[str, bytes] = {}
        self._taken: Pieces = {}
        self.is_ready = Event()

    def hand(self, earlier: Mapping[str, bytes]) -> None:
        """Take the files of earlier pieces, by name."""
        self._earlier = earlier
        self.is_ready.set()

    def list_pieces(self) -> list[str]:
        """Return the names of earlier pieces."""
        return list(self._earlier)

    def read(self, name: str, key: str, types: Sequence[type] = ()) -> Any:
        """Return a piece, or NOTHING where it is not there, or of another key."""
        if name not in self._earlier:
            return NOTHING
        try:
            return read_open_piece(BytesIO(self._earlier[name]), key, types)
        except (OtherPiece, *DAMAGE):
            return NOTHING

    def keep(self, name: str, key: str, value: Any) -> None:
        """Let a piece wait until it is collected, in place of an older one of that name."""
        with self._changing:
            self._waiting[name] = (key, value)

    def flush(self) -> None:
        """Leave the pieces that wait: whoever has the folder writes them."""

    def take(self, again: bool) -> Pieces:
        """Return the pieces that wait, which others then have; with those of the last time, which did not arrive."""
        with self._changing:
            self._taken = {**self._taken, **self._waiting} if again else self._waiting
            self._waiting = {}
        return self._taken


made_here: dict[str, PiecesOnWorker] = {}
"""The pieces that this worker makes, by the key of the task that makes them."""


@contextmanager
def pieces_of_task(path: Path | None) -> Iterator[PiecesOnWorker | None]:
    """Give the pieces of the task that this thread runs, once it was handed earlier ones; None without a folder."""
    if path is None:
        yield None
        return
    from distributed.worker import thread_state

    pieces, key = PiecesOnWorker(path), str(thread_state.key)
    made_here[key] = pieces
    try:
        if not pieces.is_ready.wait(PATIENCE):
            raise TimeoutError("nobody handed out the pieces of the checkpoint")
        yield pieces
    finally:
        if made_here.get(key) is pieces:  # Dask may have begun the task again
            del made_here[key]


def collect_pieces(key: str, again: bool) -> Pieces | None:
    """Return the new pieces of a task of this worker, none if it does not run here, None if it lacks earlier ones."""
    pieces = made_here.get(key)
    if pieces is None:
        return {}
    return pieces.take(again) if pieces.is_ready.is_set() else None


def hand_pieces(key: str, earlier: Mapping[str, bytes]) -> None:
    """Give earlier pieces to a task of this worker."""
    if key in made_here:
        made_here[key].hand(earlier)


def gather_with_pieces(cluster: Cluster, future: Any, checkpoint: Checkpoint | None) -> Any:
    """Return the result of a task, whose pieces are kept in the folder of a checkpoint, if any, as it makes them."""
    if checkpoint is None:
        return cluster.gather([future])[0][0]
    folder, seconds, is_lost = checkpoint.folder, SOON, False

    def keep(pieces: Pieces) -> None:
        for name, (key, value) in pieces.items():
            folder.keep(name, key, value)

    cluster.begin_to_wait()
    while not cluster.wait_for(future, seconds):
        seconds = min(2 * seconds, COLLECT_SECONDS)
        try:
            new = cluster.ask_worker_of(future, collect_pieces, future.key, is_lost)
            if new is None:
                folder.flush()
                cluster.ask_worker_of(future, hand_pieces, future.key, folder.load_pieces())
            else:
                keep(new)
            is_lost = False
        except TimeoutError:  # a slow worker: what it says now nobody hears, and it is asked again
            is_lost = True
    found, rest = cluster.gather([future])[0]
    keep(rest)
    return found


def return_with_pieces(found: Any, pieces: PiecesOnWorker | None) -> tuple[Any, Pieces]:
    """Return the result of a task with the pieces that nobody has collected yet."""
    return found, {} if pieces is None else pieces.take(again=True)
