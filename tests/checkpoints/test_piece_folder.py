"""The folder of a checkpoint: what it is of, when it is written, and what cannot be."""

import errno
import json
import os

import numpy as np
import pytest

from latentsimplex.checkpoints import piece_folder
from latentsimplex.checkpoints.piece_folder import IDENTITY, NOTHING, PieceFolder, open_folder

SAME = {"data": "abc", "settings": {"n_clusters": 3, "tol": 0.01}}


def opened(path, identity=None, **drawn):
    return open_folder(path, identity or SAME, drawn)


def test_pieces_wait_until_it_is_time_and_the_end_writes_all(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(piece_folder, "monotonic", lambda: now[0])
    with opened(tmp_path) as folder:
        folder.keep("a", "k", 1)
        assert folder.list_pieces() == []
        now[0] = piece_folder.BETWEEN_WRITES
        folder.keep("b", "k", 2)
        assert folder.list_pieces() == ["a", "b"]
        folder.keep("b", "k", 3)
        assert folder.read("b", "k") == 2
    assert PieceFolder(tmp_path, {}).read("b", "k") == 3


def test_what_took_long_to_write_is_written_less_often(tmp_path, monkeypatch):
    now, written = [10.0], []

    def write_slowly(path, key, value):
        written.append(path.name)
        now[0] += 1

    monkeypatch.setattr(piece_folder, "monotonic", lambda: now[0])
    monkeypatch.setattr(piece_folder, "write_piece", write_slowly)
    folder = PieceFolder(tmp_path, {})
    for _ in range(20_000):
        now[0] += 0.1
        folder.keep("a", "k", 1)
    share = len(written) / (now[0] - 10)
    assert 0.005 < share < 1 / piece_folder.PACE


def test_what_waits_is_written_after_an_error_too(tmp_path):
    def fail():
        with opened(tmp_path) as folder:
            folder.keep("a", "k", 1)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert PieceFolder(tmp_path, {}).read("a", "k") == 1


def test_pieces_that_are_missing_of_another_key_or_damaged(tmp_path):
    with opened(tmp_path) as folder:
        folder.keep("a", "k", np.arange(3))
        folder.flush()
        assert folder.read("b", "k") is NOTHING
        assert folder.read("a", "other") is NOTHING
        (tmp_path / "a.npz").write_bytes(b"something else")
        with pytest.warns(UserWarning, match=r"a\.npz in it is damaged .*, and is made anew"):
            assert folder.read("a", "k") is NOTHING


def test_a_full_disk_is_told_once_and_pieces_are_written_again_when_it_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(piece_folder, "BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(piece_folder, "PACE", 0)
    write = piece_folder.write_piece

    def fail(path, key, value):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with opened(tmp_path) as folder:
        monkeypatch.setattr(piece_folder, "write_piece", fail)
        with pytest.warns(
            UserWarning, match="cannot be written now .no space left on device., and the fit goes on"
        ):
            folder.keep("a", "k", 1)
        folder.keep("b", "k", 2)  # a second warning would be an error here
        monkeypatch.setattr(piece_folder, "write_piece", write)
        folder.keep("c", "k", 3)
    assert folder.list_pieces() == ["c"]


def test_what_was_drawn_first_stays(tmp_path):
    for seed in (5, 6):
        with opened(tmp_path, seed=seed) as folder:
            assert folder.identity["seed"] == 5


@pytest.mark.parametrize(
    ("identity", "told"),
    [
        ({**SAME, "data": "xyz"}, "is of other data"),
        ({**SAME, "labels": "xyz"}, "is of other labels"),
        ({"data": SAME["data"]}, "is of other settings"),
        ({**SAME, "settings": {"n_clusters": 4, "tol": 0.01}}, r"other settings \(n_clusters was 3, not 4\)"),
        (
            {**SAME, "settings": {"n_clusters": 4, "tol": 1}},
            r"\(n_clusters was 3, not 4; tol was 0.01, not 1\)",
        ),
        ({**SAME, "settings": {**SAME["settings"], "new": 1}}, r"\(new was None, not 1\)"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(tmp_path, identity, told):
    with opened(tmp_path):
        pass
    advice = "give another folder, or delete this one to begin anew"
    with pytest.raises(ValueError, match=f"{told}.*: {advice}"), opened(tmp_path, identity):
        pass


def test_a_checkpoint_of_another_version_or_a_damaged_one_is_refused(tmp_path):
    with opened(tmp_path):
        pass
    found = json.loads((tmp_path / IDENTITY).read_text())
    (tmp_path / IDENTITY).write_text(json.dumps({**found, "version": "99.0"}))
    with pytest.raises(ValueError, match=r"is of latentsimplex 99.0 and this is .*: give another folder"):
        opened(tmp_path).__enter__()
    for content in ("{", "[]", "{}", json.dumps({**found, "format": "other"})):
        (tmp_path / IDENTITY).write_text(content)
        with pytest.raises(
            ValueError, match=rf"{IDENTITY} in the checkpoint .* is damaged: give another folder"
        ):
            opened(tmp_path).__enter__()


def test_folders_that_hold_something_else(tmp_path):
    (tmp_path / "thesis.txt").write_text("")
    with pytest.raises(
        ValueError, match=r"holds other files \('thesis.txt'\): give a new or an empty folder"
    ):
        opened(tmp_path).__enter__()
    with pytest.raises(ValueError, match="is a file: give a folder"):
        opened(tmp_path / "thesis.txt").__enter__()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is forbidden to this user")
def test_a_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    for path in (tmp_path, tmp_path / "new", tmp_path / "new" / "newer"):
        with pytest.raises(
            PermissionError, match=r"cannot be written \(permission denied\): give a folder that"
        ):
            opened(path).__enter__()
    tmp_path.chmod(0o700)


def test_a_full_disk_before_the_work_starts(tmp_path, monkeypatch):
    def fail(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(piece_folder, "whole_file", fail)
    with pytest.raises(OSError, match=r"cannot be written \(no space left on device\): give a folder"):
        opened(tmp_path / "new").__enter__()


def test_what_a_killed_process_was_writing_is_cleared_away(tmp_path):
    with opened(tmp_path):
        pass
    (tmp_path / ".part-1234-a.npz").write_bytes(b"half")
    with opened(tmp_path):
        assert not (tmp_path / ".part-1234-a.npz").exists()
