"""Fits in processes that are killed with -9, and started again."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no such signal on Windows")

PATIENCE = 300
PROGRAM = """
import sys
import numpy as np
from latentsimplex import LatentSimplexPosition
from latentsimplex.checkpoints import piece_folder

piece_folder.BETWEEN_WRITES = 0.02
settings, folder, out = eval(sys.argv[1]), sys.argv[2], sys.argv[3]
with np.load("views.npz") as views:
    data = [views[name] for name in views]
print("begun", flush=True)
model = LatentSimplexPosition(random_state=0, checkpoint=folder, **settings).fit(data)
W = np.concatenate([each.ravel() for each in model.memberships_])
np.savez(out, labels=model.labels_, view_labels=model.view_labels_, memberships=W, losses=model.loss_curve_)
"""


class Case:
    """A fit in processes of their own."""

    def __init__(self, folder, views, settings):
        self.folder, self.settings = folder, settings
        np.savez(folder / "views.npz", *views)
        (folder / "program.py").write_text(PROGRAM)

    def start(self, checkpoint):
        """Start the fit, and return the process once it has read the data."""
        command = [sys.executable, "program.py", repr(self.settings), checkpoint, f"{checkpoint}.npz"]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline().strip() == "begun"
        return process

    def end(self, process, checkpoint):
        """Return what the fit found."""
        assert process.wait(PATIENCE) == 0
        process.stdout.close()
        with np.load(self.folder / f"{checkpoint}.npz") as found:
            return dict(found)

    def kill(self, checkpoint, after):
        """Kill the fit some seconds after it has begun; return whether it was still running."""
        process = self.start(checkpoint)
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.stdout.close()
        return process.wait() == -signal.SIGKILL


def clustered_views(n_views, n):
    rng = np.random.default_rng(0)
    return [6.0 * (np.arange(n) % 4)[:, None] + rng.normal(size=(n, 3)) for _ in range(n_views)]


SEARCHED = {"n_clusters": 5, "n_patterns": 3, "n_init": 4, "similarity": "local-scaling"}
CASES = {"splits": ((2, 150), {}), "search": ((16, 120), SEARCHED)}


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    shape, settings = CASES[request.param]
    return Case(tmp_path, clustered_views(*shape), settings)


def kill_at(case, shares):
    """Kill a fit at these shares of its time, again and again, and return how often, what it found, and should have."""
    began = time.monotonic()
    whole = case.end(case.start("whole"), "whole")
    took = time.monotonic() - began
    n_killed = sum(case.kill("killed", share * took) for share in shares)
    return n_killed, case.end(case.start("killed"), "killed"), whole


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_a_killed_fit_ends_with_the_same_bits(case):
    n_killed, found, whole = kill_at(case, [0.2, 0.4])
    assert n_killed > 0
    assert_same(found, whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_fit_killed_at_random_moments_ends_with_the_same_bits(case, seed):
    shares = np.random.default_rng(seed).uniform(size=3)
    _, found, whole = kill_at(case, shares)
    assert_same(found, whole)


def test_a_second_process_is_refused_while_the_first_runs(tmp_path):
    case = Case(tmp_path, clustered_views(6, 2000), {})
    first = case.start("kept")
    lock, deadline = tmp_path / "kept" / "lock", time.monotonic() + PATIENCE
    while not (lock.exists() and lock.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    command = [sys.executable, "program.py", "{}", "kept", "second.npz"]
    second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    first.kill()
    first.wait()
    first.stdout.close()
    assert second.returncode == 1
    assert f"is in use by process {first.pid} on" in second.stderr
