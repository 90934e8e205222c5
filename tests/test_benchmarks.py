"""Every benchmark still runs: on little data, with what it prints and writes left unread."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SMALL = {
    "kernels": ["--shapes", "20x30", "2x520", "--patterns", "2", "--clusters", "3", "--repeats", "1"],
    "spectral_labels": ["--n", "200", "--clusters", "3", "--repeats", "1"],
    "peers": ["--samples", "60", "--ways", "ours", "--repeats", "1"],
}
"""Arguments of the scripts that can be quick."""


@pytest.fixture(autouse=True)
def _folder_of_scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_every_script_finds_what_it_needs_of_the_package(name):
    assert callable(importlib.import_module(name).main)


@pytest.mark.parametrize("name", SMALL)
def test_a_script_runs(name, tmp_path, monkeypatch):
    out = tmp_path / "found.json"
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--out", str(out), *SMALL[name]])
    script = importlib.import_module(name)
    monkeypatch.setattr(script, "SHORTEST", 0.0, raising=False)
    script.main()
    assert json.loads(out.read_text())


def test_the_choices_that_the_paper_leaves_open_are_still_measured():
    """Bounds of similarities and the scale of starts reach the fit."""
    script = importlib.import_module("open_choices")
    found = [script.similarity(0.1, clip, n_seeds=1)["mad"] for clip in (1e-2, 1e-8)]
    assert found[0] != pytest.approx(found[1], rel=0.05)
    near, far = (script.start(scale, n_seeds=1)["b with 10"] for scale in (0.01, 3.0))
    assert np.isfinite(near)
    assert near != far
