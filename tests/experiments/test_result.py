"""Seeds are repeated in order, and what they gave is averaged, compared and written."""

import numpy as np
import pytest

from latentsimplex.experiments import Table
from latentsimplex.experiments.result import (
    Findings,
    Repetition,
    Repetitions,
    mean,
    over_seeds,
    repeat,
    spread,
)


def test_mean_and_spread_over_seeds():
    records = [{"x": 1.0}, {"x": 2.0}, {"x": 6.0}]
    assert mean(records, "x") == 3
    assert spread(records, "x") == (3, pytest.approx(np.sqrt(7)))
    assert spread(records[:1], "x") == (1, None)


def test_comparison_puts_variants_side_by_side():
    aims = [{"x": 4.0, "y": 0.0}, {"x": 6.0, "y": 0.0}]
    found = {"A": [{"x": 1.0, "y": 2.0}] * 2, "B": [{"x": 0.0, "y": 3.0}] * 2}
    table = Repetitions(aims, found, {}).compare()
    assert list(table.columns) == ["quantity", "truth or ceiling", "A, mean", "A, sd", "B, mean", "B, sd"]
    assert list(table) == [("x", 5, 1, 0, 0, 0), ("y", 0, 2, 0, 3, 0)]


def test_comparison_leaves_blank_what_is_not_measured_or_not_said():
    table = Repetitions([{"x": 1.0, "y": 0.0}], {"A": [{"x": 1.0}]}, {}).compare(paper={"y": 3.0})
    assert list(table.columns)[:3] == ["quantity", "truth or ceiling", "paper"]
    assert list(table) == [("x", 1, None, 1, None), ("y", 0, 3, None, None)]


def test_seeds_are_repeated_in_order_and_the_first_is_drawn():
    ran = []

    def run_seed(seed):
        ran.append(seed)
        return Repetition({"x": 1.0}, {"A": {"x": float(seed)}}, lambda: {"figure": seed})

    aims, found, figures = repeat(run_seed, range(3))
    assert ran == [0, 1, 2]
    assert (aims, found) == ([{"x": 1.0}] * 3, {"A": [{"x": 0.0}, {"x": 1.0}, {"x": 2.0}]})
    assert figures == {"figure": 0}


def test_an_experiment_is_given_seeds_who_listens_and_the_options_that_are_not_none(tmp_path):
    received, lines = [], []

    @over_seeds
    def run(seeds, say, **options):
        say("running")
        received.append((list(seeds), options))
        return Findings({}, {}, ["a note"])

    result = run(2, tmp_path / "new" / "folder", lines.append, n_samples=None, n_views=7)
    assert (received, lines) == ([([0, 1], {"n_views": 7})], ["running"])
    assert (result.tables, result.figures, result.notes) == ({}, [], ["a note"])
    assert (tmp_path / "new" / "folder").is_dir()
    run(1, tmp_path)  # nobody listens
    assert received[1] == ([0], {})


def test_files_keep_six_digits_and_blanks(tmp_path):
    table = Table.from_rows(["name", "score"], [["a, b", 1 / 3], ["c", None]])
    over_seeds(lambda seeds, say: Findings({"t": table}, {}, []))(1, tmp_path)
    assert (tmp_path / "t.csv").read_text().splitlines() == ["name,score", '"a, b",0.333333', "c,"]


def test_long_tables_are_written_and_not_shown(tmp_path):
    table = Table.from_rows(["name"], [["a"]])
    result = over_seeds(lambda seeds, say: Findings({"t": table}, {}, [], {"long": table}))(1, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["long.csv", "t.csv"]
    assert list(result.tables) == ["t"]
