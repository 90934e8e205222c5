"""A folder for one fit at a time, whose lock goes with the process."""

import subprocess
import sys
from pathlib import Path

import pytest

import latentsimplex
from latentsimplex.checkpoints import folder_lock
from latentsimplex.checkpoints.folder_lock import LOCK, locked_folder

HOLD = """
import sys, time
from pathlib import Path
from latentsimplex.checkpoints.folder_lock import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(latentsimplex.__file__).parents[1],
    )
    assert process.stdout.readline().strip() == "held"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_another_process_has_the_folder_until_it_is_killed(holder, tmp_path):
    refused = rf"is in use by process {holder.pid} on .*: wait until that has ended, or give another folder"
    with pytest.raises(ValueError, match=refused), locked_folder(tmp_path):
        pass
    holder.kill()
    holder.wait()
    with locked_folder(tmp_path):
        assert str(holder.pid) not in (tmp_path / LOCK).read_text()


def test_another_fit_of_the_same_process_has_the_folder(tmp_path):
    with (
        locked_folder(tmp_path),
        pytest.raises(ValueError, match="is in use by process"),
        locked_folder(tmp_path),
    ):
        pass
    with locked_folder(tmp_path):
        pass


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    def refuse(file):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(folder_lock, "_lock", refuse)
    with pytest.warns(UserWarning, match="Folders cannot be locked where .* is"), locked_folder(tmp_path):
        pass
