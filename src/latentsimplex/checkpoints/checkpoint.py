"""A checkpoint as the parts of a fit use it: results are recalled from it, or computed and stored.

A piece is known by where in the fit it belongs, the scope, and by what it is made from, its key. The fit takes the same
way again, passing over all that it can recall, so that it ends with the same bits as one that nothing interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from latentsimplex.base.wording import count_noun
from latentsimplex.checkpoints.piece_folder import NOTHING, PieceFolder
from latentsimplex.checkpoints.pieces import make_key

T = TypeVar("T")


@dataclass(frozen=True)
class Bookmark:
    """Where a long computation is: the last place that was kept, None if there is none; later ones take its place."""

    found: Any
    folder: PieceFolder
    name: str
    key: str
    stop: Callable[[], bool]

    def keep(self, value: Any) -> None:
        """Keep a place, unless the fit is ending early: what follows would not have followed."""
        if not self.stop():
            self.folder.keep(self.name, self.key, value)


@dataclass(frozen=True)
class Checkpoint:
    """Pieces of a fit within a scope; those made while ``stop`` says that the fit ends early are not kept.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from latentsimplex.checkpoints.piece_folder import open_folder
    >>> with TemporaryDirectory() as path:
    ...     for value in (1, 2):
    ...         with open_folder(Path(path), {"data": "some"}, {}) as folder:
    ...             print(Checkpoint(folder).within("search").recall("start", lambda: value))
    1
    1
    """

    folder: PieceFolder
    stop: Callable[[], bool] = bool
    scope: tuple[Any, ...] = field(default=())

    def describe(self) -> str:
        """Return in words what there is to go on from."""
        pieces = self.folder.list_pieces()
        if not pieces:
            return f"keeping state in {str(self.folder.path)!r}"
        last = pieces[-1].split("_")[0].replace("-", " ")
        return f"going on from {str(self.folder.path)!r} ({count_noun(len(pieces), 'piece')}, the last of {last})"

    def within(self, *names: Any, stop: Callable[[], bool] | None = None) -> Checkpoint:
        """Return the pieces within a narrower scope, and perhaps with another word on when a fit ends early."""
        return replace(self, scope=(*self.scope, *names), stop=stop or self.stop)

    def recall(self, name: str, compute: Callable[[], T], *key: Any, types: Sequence[type] = ()) -> T:
        """Return a piece, of these types, that was kept; or compute and keep it."""
        return next(self.recall_each(name, lambda _: [compute()], [key], types))

    def recall_each(
        self,
        name: str,
        compute: Callable[[list[int]], Iterable[T]],
        keys: Sequence[Sequence[Any]],
        types: Sequence[type] = (),
    ) -> Iterator[T]:
        """Yield pieces of these keys, in order: those that were kept, others as they are computed, given which."""
        identities = [make_key(self.scope, name, tuple(key)) for key in keys]
        files = [self._name_file(name, identity) for identity in identities]
        found = [self.folder.read(*each, types) for each in zip(files, identities, strict=True)]
        lacking = [i for i, value in enumerate(found) if value is NOTHING]
        made = iter(compute(lacking) if lacking else ())
        for value, file, identity in zip(found, files, identities, strict=True):
            if value is not NOTHING:
                yield value
                continue
            new = next(made)
            if not self.stop():
                self.folder.keep(file, identity, new)
            yield new

    def bookmark(self, name: str, *key: Any, types: Sequence[type] = ()) -> Bookmark:
        """Return where a computation, of which there is one of this name at a time, was when it was last kept."""
        identity = make_key(self.scope, name, key)
        file = self._name_file(name, make_key(self.scope, name))
        found = self.folder.read(file, identity, types)
        return Bookmark(None if found is NOTHING else found, self.folder, file, identity, self.stop)

    def _name_file(self, name: str, identity: str) -> str:
        stage = [str(each).replace(" ", "-") for each in (*self.scope[:1], name)]
        return "_".join([*stage, identity])
