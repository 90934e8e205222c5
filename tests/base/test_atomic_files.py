"""Whatever ends a write early, the old file or folder is there as it was, and nothing else is."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from latentsimplex.base import atomic_files
from latentsimplex.base.atomic_files import whole_file, whole_folder
from latentsimplex.base.table import Table
from latentsimplex.plots.canvas import new_figure, save
from latentsimplex.report import write_report
from latentsimplex.results.save_load import save_results
from made_model import random_model

MODEL = random_model(40, 2, 3)
WRITERS = {
    "model": lambda path: save_results(MODEL.results_, path),
    "report": lambda path: write_report(MODEL, path),
    "table": lambda path: Table({"x": np.arange(5000.0)}).to_csv(path),
    "figure": lambda path: save(new_figure(3, 3), path),
}


def contents(folder):
    """The text of every file below a folder, hidden ones included; None is a folder."""
    return {
        str(path.relative_to(folder)): None if path.is_dir() else path.read_text()
        for path in folder.rglob("*")
    }


@pytest.fixture
def full_disk():
    """Let no file have more than 1,000 bytes, as if the disk were full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))

    yield fill
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


# Files


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("old", [None, "old"])
def test_a_full_disk_leaves_what_was_there_and_names_the_file(write, old, tmp_path, full_disk):
    path = tmp_path / "file"
    if old is not None:
        path.write_text(old)
    before = contents(tmp_path)
    full_disk()
    with pytest.raises(OSError) as error:
        write(path)
    assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(path))
    assert str(error.value) == f"[Errno {errno.EFBIG}] File too large: {str(path)!r}"
    assert contents(tmp_path) == before


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_new_file_takes_the_place_of_the_old_one(write, tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    write(path)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert len(path.read_bytes()) > 1000


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_any_error_leaves_the_old_file(error, tmp_path):
    (tmp_path / "file").write_text("old")

    def write_and_fail():
        with whole_file(tmp_path / "file") as part:
            part.write_text("new")
            raise error

    with pytest.raises(error):
        write_and_fail()
    assert contents(tmp_path) == {"file": "old"}


def test_permissions_stay_and_those_of_a_new_file_are_the_usual(tmp_path):
    (tmp_path / "usual").write_text("")
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(0o640)
    for name in ("file", "new"):
        with whole_file(tmp_path / name) as part:
            part.write_text(name)
    mode = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert (mode["file"], mode["new"]) == (0o640, mode["usual"])


def test_a_protected_file_is_not_replaced(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("old")
    monkeypatch.setattr(atomic_files.os, "access", lambda path, mode: False)  # root may write to all
    with pytest.raises(PermissionError) as error, whole_file(tmp_path / "file"):
        pytest.fail("written")
    assert error.value.filename == str(tmp_path / "file")
    assert contents(tmp_path) == {"file": "old"}


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "file")
    with whole_file(tmp_path / "link") as part:
        part.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "file").read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="there is no such file")
def test_a_device_is_written_to_and_not_replaced():
    with whole_file("/dev/null") as part:
        part.write_text("nothing")
    assert Path("/dev/null").is_char_device()


def test_long_names_have_parts(tmp_path):
    name = "é" * 127 + "x"
    with whole_file(tmp_path / name) as part:
        part.write_text("new")
    assert contents(tmp_path) == {name: "new"}


@pytest.mark.parametrize("name", ["missing/file", "folder"])
def test_a_place_where_no_file_can_be_is_named(name, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as error, whole_file(tmp_path / name) as part:
        part.write_text("new")
    assert error.value.filename == str(tmp_path / name)


def test_words_of_a_library_stay(tmp_path):
    with pytest.raises(OSError, match=r"disk is tired: '.*file'"), whole_file(tmp_path / "file"):
        raise OSError("disk is tired")


def test_an_error_about_another_file_names_that(tmp_path):
    with pytest.raises(FileNotFoundError) as error, whole_file(tmp_path / "file"):
        (tmp_path / "nowhere").read_text()
    assert error.value.filename == str(tmp_path / "nowhere")


KILLED = """
import os, sys
from pathlib import Path
from latentsimplex.base.atomic_files import whole_file
with whole_file(sys.argv[1]) as part, part.open("w") as file:
    file.write("half of it")
    file.flush()
    os.kill(os.getpid(), 9)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal on Windows")
def test_a_killed_process_leaves_the_old_file(tmp_path):
    (tmp_path / "file").write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "file"])
    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_text() == "old"
    assert all(path.name.startswith(".part-") for path in tmp_path.iterdir() if path.name != "file")


# Folders


def is_stale(name):
    return name.startswith("table")


@pytest.fixture
def folder(tmp_path):
    """A folder with files of an earlier write and one that has nothing to do with it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("model", "table0", "table1", "mine"):
        (folder / name).write_text(f"old {name}")
    return folder


def write_new(part):
    for name in ("model", "report", "table0"):
        (part / name).write_text(f"new {name}")


def test_a_new_folder_appears_at_once(tmp_path):
    folder = tmp_path / "a" / "b"
    with whole_folder(folder) as part:
        write_new(part)
        assert not folder.parent.exists()
    assert set(contents(folder)) == {"model", "report", "table0"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_new_files_take_the_place_of_old_ones(folder):
    with whole_folder(folder, is_stale) as part:
        write_new(part)
        assert (folder / "table1").exists()
    new = {name: f"new {name}" for name in ("model", "report", "table0")}
    assert contents(folder) == {**new, "mine": "old mine"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_any_error_leaves_the_old_folder(error, folder, tmp_path):
    before = contents(tmp_path)

    def write_and_fail():
        with whole_folder(folder, is_stale) as part:
            write_new(part)
            raise error

    with pytest.raises(error):
        write_and_fail()
    assert contents(tmp_path) == before


@pytest.mark.parametrize("moves", range(6))
def test_an_error_in_the_midst_of_moving_undoes_it(moves, folder, tmp_path, monkeypatch):
    before, replace, left = contents(tmp_path), os.replace, iter([True] * moves)

    def fail_once(source, target):
        if next(left, False):
            replace(source, target)
        else:
            monkeypatch.setattr(atomic_files.os, "replace", replace)
            raise KeyboardInterrupt

    monkeypatch.setattr(atomic_files.os, "replace", fail_once)
    with pytest.raises(KeyboardInterrupt), whole_folder(folder, is_stale, last="model") as part:
        write_new(part)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("moves", range(6))
def test_a_kill_in_the_midst_of_moving_leaves_no_model_beside_what_is_not_its_own(moves, folder, monkeypatch):
    """Where the model is, all that stands beside it was written with it."""
    replace, seen = os.replace, []

    def look_and_move(source, target):
        seen.append({name: text for name, text in contents(folder).items() if not name.startswith(".part-")})
        replace(source, target)

    monkeypatch.setattr(atomic_files.os, "replace", look_and_move)
    with whole_folder(folder, is_stale, last="model") as part:
        write_new(part)
    texts = seen[moves]
    ages = {text.split()[0] for name, text in texts.items() if name != "mine"}
    assert "model" not in texts or ages == {"old"}


def test_an_error_names_the_file_that_it_was_for(folder, full_disk, tmp_path):
    before = contents(tmp_path)

    def write_two():
        with whole_folder(folder) as part:
            WRITERS["figure"](part / "figure.png")
            full_disk()
            WRITERS["table"](part / "table0")

    with pytest.raises(OSError) as error:
        write_two()
    assert error.value.filename == str(folder / "table0")
    assert contents(tmp_path) == before


def test_a_folder_in_the_way_stays(folder, tmp_path):
    (folder / "report").mkdir()
    before = contents(tmp_path)
    with pytest.raises(IsADirectoryError) as error, whole_folder(folder) as part:
        write_new(part)
    assert error.value.filename == str(folder / "report")
    assert contents(tmp_path) == before


def test_old_files_are_not_lost_where_they_cannot_be_moved_back(folder, monkeypatch):
    replace, left = os.replace, iter([True, True])

    def fail_for_good(source, target):
        if not next(left, False):
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(atomic_files.os, "replace", fail_for_good)
    with pytest.raises(OSError), whole_folder(folder, is_stale, last="model") as part:
        write_new(part)
    found = {Path(name).name: text for name, text in contents(folder).items() if text is not None}
    assert {name: f"old {name}" for name in ("model", "table0", "table1", "mine")} == found
