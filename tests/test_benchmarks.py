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
    "hostile_inputs": ["--kinds", "calls", "--only", "form f4"],
    "many_samples": ["neighbours", "--samples", "2500", "--features", "3"],
    "found_views": ["hidden", "--seeds", "1", "--ways", "discover"],
    "simulated_shapes": ["--only", "small gaussians", "dense and sparse", "--seeds", "1"],
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


def test_the_table_of_when_to_use_what_is_written_into_its_page(tmp_path, monkeypatch):
    script = importlib.import_module("when_to_use")
    three = script.Question("three clusters", np.repeat([0, 1, 2], 20))
    near, far = (
        np.random.default_rng(seed).normal(10 * three.truth[:, None], size=(60, 2)) for seed in (0, 1)
    )
    cases = [script.Case([near], [three]), script.Case([near, far], [three._replace(name="two views")])]
    monkeypatch.setattr(script, "draw_cases", lambda seed, n_samples: cases)
    monkeypatch.setattr(script.importlib.util, "find_spec", lambda name: None)  # MOFA+ is slow
    monkeypatch.setattr(script, "MOST_COMPONENTS", 3)
    page = tmp_path / "page.md"
    page.write_text("before <!-- results:when --> old <!-- end:when --> after")
    monkeypatch.setattr(sys, "argv", ["when_to_use.py", "--page", str(page), "--seeds", "1"])
    script.main()
    written = page.read_text()
    assert written.startswith("before")
    assert written.endswith("after")
    assert "| three clusters | 3 | 3 | **1.00** |" in written
    assert "| two views | 3 | 3 | **1.00** |" in written
    assert written.count("**1.00** |  |") == 1  # one view is not to be fused


def test_what_becomes_of_hostile_inputs_is_told_apart():
    case = importlib.import_module("hostile.case")
    data = np.random.default_rng(0).normal(size=(6, 2))
    outcomes = {
        "fits": (lambda: case.fit(data, n_clusters=2), "fits"),
        "refused": (lambda: case.fit("a path"), "refused"),
        "refused wrongly": (lambda: case.fit(data[:1]), "fits"),
        "traceback": (lambda: {}["nothing"], "any"),
        "nonsense": (lambda: None, "refused"),
    }
    for kind, (do, expected) in outcomes.items():
        assert case.run_case(case.Case(kind, do, expected)).kind == kind
    of_numpy = case.run_case(case.Case("shapes", lambda: np.zeros(2) + np.zeros(3), "any"))
    assert of_numpy.kind == "traceback"


def test_the_hostile_cases_are_many_and_each_has_a_name_of_its_own():
    script = importlib.import_module("hostile_inputs")
    for kind, least in (("calls", 600), ("files", 240)):
        names = [case.name for case in script.list_cases(kind)]
        assert len(set(names)) == len(names) >= least


def test_every_shape_is_a_finite_table_that_its_seed_decides():
    script = importlib.import_module("simulated_shapes")
    for name in script.SHAPES:
        X, labels = script.draw_shape(name, 0)
        assert np.isfinite(X).all(), name
        assert labels.shape == (len(X),), name
        assert np.bincount(labels).min() > 0, name
        np.testing.assert_array_equal(script.draw_shape(name, 0)[0], X)
        assert not np.array_equal(script.draw_shape(name, 1)[0], X), name


def test_the_table_of_shapes_has_means_over_seeds_and_counts_a_failed_fit_as_nothing_found():
    script = importlib.import_module("simulated_shapes")
    good, bad = {"found": 2, "ari": 1.0}, script.score_fit(np.zeros((0, 2)), np.zeros(0), {})
    assert bad["ari"] == 0
    assert "error" in bad
    rows = [{"shape": "a", "n": 9, "k": 2, "default": default, "told": good} for default in (good, bad)]
    table = script.render_table(rows).splitlines()
    assert table[2:] == ["| a | 9 | 2 | 2, 0 | 0.50 | 1.00 |", "| mean | | | k in 1 of 2 | 0.500 | 1.000 |"]


def test_fused_networks_are_symmetric_and_join_what_each_view_has_apart():
    fuse_networks = importlib.import_module("baselines.network_fusion").fuse_networks
    rng, three = np.random.default_rng(0), np.repeat([0, 1, 2], 20)
    views = [rng.normal(8 * (three == k)[:, None], size=(60, 2)) for k in (0, 2)]
    network = fuse_networks(views)
    np.testing.assert_allclose(network, network.T)
    np.testing.assert_allclose(np.diag(network), 0.5)
    together = np.array([[network[three == k][:, three == l].mean() for l in range(3)] for k in range(3)])
    assert (together.argmax(axis=1) == np.arange(3)).all()


def test_placing_is_still_measured(monkeypatch):
    script = importlib.import_module("placing")
    monkeypatch.setattr(script, "PLACED", 300)
    monkeypatch.setattr(script, "REFERENCES", 200)
    speed = script.measure_speed()
    assert speed["right"] > 0.95
    views = script.running_example(n_samples=80, separation=8, random_state=0).views
    row = script.place_again(script.Case("small", views, {"n_init": 1}), 0)
    assert row["same label"] > 0.95
    assert row["membership difference"] < 0.03
    assert "small, 1 runs: same label" in script.summary([row])
