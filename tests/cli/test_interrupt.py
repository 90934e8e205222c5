"""Ctrl-C in a real process: the best result so far is kept, a second one gives up, and both say so."""

import os
import signal
import subprocess
import sys
import threading
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from latentsimplex import load
from latentsimplex.datasets import load_leukaemia

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no such signal on Windows")

KEPT = "Interrupted: the fit ended early, and the best result so far was written."
LOST = "Interrupted: the fit had not ended, and nothing was written."
PATIENCE = 120


@dataclass
class Running:
    """A command in a process of its own, with what it has written to standard error so far."""

    process: subprocess.Popen
    lines: list = field(default_factory=list)

    def __post_init__(self):
        self.reader = threading.Thread(
            target=lambda: self.lines.extend(iter(self.process.stderr.readline, ""))
        )
        self.reader.start()

    def wait_for(self, sign):
        deadline = time.monotonic() + PATIENCE
        while not any(sign in line for line in self.lines):
            assert self.process.poll() is None, self.lines
            assert time.monotonic() < deadline, self.lines
            time.sleep(0.01)

    def press(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def end(self):
        """The exit status and the last lines that were written."""
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        assert not any("Traceback" in line for line in self.lines), self.lines
        return status, [line.strip() for line in self.lines if line.strip()]


@pytest.fixture
def running(tmp_path):
    """Run Python in an empty folder; whatever happens, the process ends."""
    started = []

    def run(*arguments):
        command = [sys.executable, *map(str, arguments)]
        process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        started.append(Running(process))
        return started[-1]

    yield run
    for each in started:
        each.process.kill()
        each.process.wait()
        each.reader.join()
        each.process.stderr.close()


def save_views(folder, shape):
    rng = np.random.default_rng(0)
    np.save(folder / "views.npy", rng.normal(size=shape) + 4 * (np.arange(shape[1]) % 3)[:, None])


def save_genes(folder, n_genes):
    """Genes, among which every start finds something else."""
    np.save(folder / "views.npy", load_leukaemia().expression.T[:n_genes, :, None])


@pytest.mark.parametrize(
    ("save", "size", "options", "sign"),
    [
        (save_views, (40, 300, 2), (), "reading the views"),
        (save_views, (40, 300, 2), ("--similarity", "local-scaling", "--n-init", 99), "grouping the views"),
        (save_genes, 300, ("--n-init", 20), "of 20 ended"),
        (save_views, (6, 700, 2), ("--n-init", 1), "refining memberships"),
    ],
    ids=["reading", "grouping", "searching", "refining"],
)
def test_ctrl_c_keeps_the_best_so_far(running, tmp_path, save, size, options, sign):
    save(tmp_path, size)
    command = running("-m", "latentsimplex", "fit", "views.npy", *options, "--verbose")
    command.wait_for(sign)
    command.press()
    status, lines = command.end()
    assert status == 130
    assert lines[-1] == KEPT
    ending = (
        "Interrupted: ending with the best result so far, if there is one. Press Ctrl-C again to give up."
    )
    assert ending in lines
    model = load(tmp_path / "fit" / "fit.model")
    assert model.view_labels_.shape == np.load(tmp_path / "views.npy").shape[:2]
    assert 1 <= len(model.start_losses_) <= model.n_init
    if model.n_init > 3:
        assert len(model.start_losses_) < model.n_init
    assert (tmp_path / "fit" / "report.html").exists()


def test_ctrl_c_while_clusters_of_very_many_samples_are_looked_for_ends_at_the_next_piece(running, tmp_path):
    save_views(tmp_path, (3, 12_000, 20))
    command = running("-m", "latentsimplex", "fit", "views.npy", "--verbose", "--checkpoint", "kept")
    command.wait_for("looking for clusters")
    command.press()
    status, lines = command.end()
    assert status == 130
    nothing = "the fit had not ended, and nothing was written. The same command goes on from the checkpoint."
    assert lines[-1] == f"Interrupted while looking for clusters: {nothing}"
    assert not any("refining memberships" in line for line in lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "views.npy"]


def test_a_second_ctrl_c_gives_up_and_leaves_nothing(running, tmp_path):
    save_views(tmp_path, (40, 600, 2))
    command = running("-m", "latentsimplex", "fit", "views.npy", "--verbose", "--n-init", 500)
    command.wait_for("reading the views")
    command.press()
    command.wait_for("Press Ctrl-C again to give up")
    command.press()
    status, lines = command.end()
    assert (status, lines[-1]) == (130, LOST)
    assert not (tmp_path / "fit").exists()


def test_sigterm_is_like_ctrl_c(running, tmp_path):
    save_views(tmp_path, (40, 300, 2))
    command = running("-m", "latentsimplex", "fit", "views.npy", "--verbose")
    command.wait_for("reading the views")
    command.press(signal.SIGTERM)
    status, lines = command.end()
    assert (status, lines[-1]) == (130, KEPT)
    assert (tmp_path / "fit" / "report.html").exists()


READING_SLOWLY = """
import sys, time
from latentsimplex.__main__ import main
from latentsimplex.files import delimited_text

def read_lines(path, delimiter):
    sys.stderr.write("opening\\n")
    sys.stderr.flush()
    time.sleep(60)

delimited_text.read_lines = read_lines
sys.argv = ["latentsimplex", "fit", "data.csv"]
main()
"""
both_signals = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@both_signals
def test_ctrl_c_while_files_are_read_leaves_nothing(running, tmp_path, number):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    command = running("-c", READING_SLOWLY)
    command.wait_for("opening")
    command.press(number)
    status, lines = command.end()
    message = "Interrupted while reading data.csv: the fit had not ended, and nothing was written."
    assert (status, lines) == (130, ["opening", message])
    assert not (tmp_path / "fit").exists()


IMPORTING_SLOWLY = """
import sys, time

class Slow:
    def find_spec(name, path=None, target=None):
        if name == "sklearn":
            sys.stderr.write("importing\\n")
            sys.stderr.flush()
            try:
                time.sleep(60)
            except BaseException:
                pass  # as libraries do that try one import after another

sys.meta_path.insert(0, Slow)
from latentsimplex.__main__ import main
main()
"""


@both_signals
def test_ctrl_c_while_the_package_is_imported_is_one_line(running, number):
    command = running("-c", IMPORTING_SLOWLY)
    command.wait_for("importing")
    command.press(number)
    message = "Interrupted while importing the package: nothing was written."
    assert command.end() == (130, ["importing", message])


def test_the_command_handles_signals_before_it_imports_much():
    """NumPy, scikit-learn and click take a second: Ctrl-C in that time is answered."""
    code = (
        "import sys, latentsimplex.__main__; sys.exit(bool({'numpy', 'sklearn', 'click'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with open(Path(__file__).parents[2] / "pyproject.toml", "rb") as file:
        scripts = tomllib.load(file)["project"]["scripts"]
    assert scripts == {"latentsimplex": "latentsimplex.__main__:main"}


def test_ctrl_c_in_another_command_has_the_same_status(running, tmp_path):
    command = running("-m", "latentsimplex", "reproduce", "views-50k", "--views", 2000)
    command.wait_for("seed")
    command.press()
    assert command.end()[0] == 130


def test_ctrl_c_keeps_a_checkpoint_that_the_same_command_goes_on_from(running, tmp_path):
    save_genes(tmp_path, 300)
    options = ("fit", "views.npy", "--n-init", 20, "--verbose", "--checkpoint", "kept")
    command = running("-m", "latentsimplex", *options)
    command.wait_for("of 20 ended")
    command.press()
    status, lines = command.end()
    assert status == 130
    assert lines[-1] == f"{KEPT} The same command goes on from the checkpoint."
    assert not (tmp_path / "kept" / "finished.model").exists()
    status, lines = running("-m", "latentsimplex", *options).end()
    assert status == 0
    assert any("going on from 'kept' (" in line for line in lines)
    model = load(tmp_path / "fit" / "fit.model")
    assert len(model.start_losses_) == 20
    assert np.array_equal(load(tmp_path / "kept" / "finished.model").labels_, model.labels_)
