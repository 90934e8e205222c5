"""latentsimplex compile: after it, no fit has to compile."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from latentsimplex.cli import compile_loops, main

FITS = """
import numpy as np
from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import load_digits, many_views, running_example
views = many_views(40, 100, random_state=0).views
digits = load_digits().views
for X, settings in (
    (running_example(150, 6.0, random_state=0).views, {}),
    ({name: view[:1000] for name, view in digits.items()}, {}),
    ({name: view[:1000] for name, view in digits.items()}, {"n_landmarks": 400}),
    (views, {}),
    (np.asarray(views)[:, :, 0].T, {"views": "columns"}),
):
    LatentSimplexPosition(random_state=0, **settings).fit(X)
"""


def test_compile_says_what_it_compiles(monkeypatch):
    monkeypatch.setattr(
        compile_loops,
        "draw_small_fits",
        lambda: iter([("pairs", compile_loops.draw_views(40, (2, 3)), {})]),
    )
    result = CliRunner().invoke(main, ["compile"])
    assert result.output == "Compiling what fits of pairs need.\n"
    assert result.exit_code == 0


@pytest.mark.slow
def test_no_default_fit_compiles_afterwards(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "latentsimplex", "compile"], env=env, check=True)
    fits = subprocess.run([sys.executable, "-c", FITS], env=env, check=True, capture_output=True, text=True)
    assert "compiling" not in fits.stderr
