"""What the parts of a fit see of a checkpoint: pieces recalled, places kept, nothing of what ends early."""

import pytest

from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.checkpoints.piece_folder import open_folder


@pytest.fixture
def folder(tmp_path):
    with open_folder(tmp_path / "kept", {"data": "some"}, {}) as folder:
        yield folder


def again(folder, call):
    """Return what a call gives now, and after all that waits has been written."""
    first = call()
    folder.flush()
    return first, call()


def test_a_piece_is_computed_once(folder):
    values = iter([1, 2])
    checkpoint = Checkpoint(folder)
    assert again(folder, lambda: checkpoint.recall("start", lambda: next(values), 0)) == (1, 1)
    assert checkpoint.recall("start", lambda: next(values), 1) == 2


def test_none_is_a_piece_like_any_other(folder):
    values = iter([None, 2])
    checkpoint = Checkpoint(folder)
    assert again(folder, lambda: checkpoint.recall("split", lambda: next(values))) == (None, None)


def test_scopes_and_names_tell_pieces_apart(folder):
    checkpoint = Checkpoint(folder)
    scopes = [checkpoint, checkpoint.within("a"), checkpoint.within("a", "b"), checkpoint.within("b")]
    values = iter(range(100))
    found = [[scope.recall(name, lambda: next(values)) for name in ("x", "y")] for scope in scopes]
    folder.flush()
    assert [[scope.recall(name, lambda: -1) for name in ("x", "y")] for scope in scopes] == found
    assert len(folder.list_pieces()) == 8


def test_a_bookmark_holds_the_last_place_of_the_same_computation(folder):
    checkpoint = Checkpoint(folder).within("search")
    bookmark = checkpoint.bookmark("EM", "one start")
    assert bookmark.found is None
    for place in range(3):
        bookmark.keep(place)
    folder.flush()
    assert checkpoint.bookmark("EM", "one start").found == 2
    other = checkpoint.bookmark("EM", "another start")
    assert other.found is None
    other.keep(7)
    folder.flush()
    assert checkpoint.bookmark("EM", "another start").found == 7
    assert checkpoint.bookmark("EM", "one start").found is None
    assert len(folder.list_pieces()) == 1


def test_nothing_is_kept_of_a_fit_that_ends_early(folder):
    is_stopped = [False]
    checkpoint = Checkpoint(folder, lambda: is_stopped[0])

    def compute():
        is_stopped[0] = True
        return 1

    assert checkpoint.recall("start", compute) == 1
    checkpoint.bookmark("EM").keep(1)
    checkpoint.within("search").recall("start", lambda: 2)
    folder.flush()
    assert folder.list_pieces() == []
    checkpoint.within("search", stop=bool).recall("start", lambda: 2)
    folder.flush()
    assert len(folder.list_pieces()) == 1


def test_it_says_what_there_is_to_go_on_from(folder):
    checkpoint = Checkpoint(folder)
    assert checkpoint.describe() == f"keeping state in {str(folder.path)!r}"
    checkpoint.recall("storage", lambda: "whole")
    checkpoint.within("all views").bookmark("EM").keep(1)
    folder.flush()
    assert checkpoint.describe() == f"going on from {str(folder.path)!r} (2 pieces, the last of all views)"
