"""latentsimplex data: bundled data, listed, or written into files that fit reads."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner

from latentsimplex import datasets
from latentsimplex.cli import main
from latentsimplex.files.data_files import read_data


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_data_lists_what_is_bundled():
    lines = run("data").output.splitlines()
    assert [line.split(":")[0] for line in lines] == ["digits", "fruit", "leukaemia", "stick-figures"]
    assert lines[0].endswith(datasets.load_digits().description)


@pytest.mark.parametrize(
    ("name", "truths"),
    [("digits", ["digit"]), ("fruit", ["colour", "kind"]), ("stick-figures", ["upper body", "lower body"])],
)
def test_bundled_views_are_read_back(name, truths, tmp_path):
    result = run("data", name, "--out", tmp_path / "new")
    assert result.exit_code == 0
    path = tmp_path / "new" / f"{name}.npz"
    assert f"latentsimplex fit {path}\n" in result.output
    bundled = getattr(datasets, f"load_{name.replace('-', '_')}")()
    found = read_data([path]).data
    assert list(found) == list(bundled.views)
    for view, table in zip(bundled.views.values(), found.values(), strict=True):
        np.testing.assert_array_equal(table.to_numpy(), view)
    rows = rows_of(tmp_path / "new" / f"{name}_truth.csv")
    labels = np.atleast_2d(bundled.labels)
    for truth, column in zip(truths, labels, strict=True):
        assert [int(row[truth]) for row in rows] == column.tolist()


def test_bundled_genes_are_columns(tmp_path):
    assert run("data", "leukaemia", "--out", tmp_path).exit_code == 0
    bundled = datasets.load_leukaemia()
    table, views = read_data([tmp_path / "leukaemia.csv"], "columns")
    assert (views, table.columns, table.index) == (
        "columns",
        bundled.genes.tolist(),
        bundled.samples.tolist(),
    )
    np.testing.assert_array_equal(table.to_numpy(), bundled.expression)
    rows = rows_of(tmp_path / "leukaemia_truth.csv")
    assert [row["sex"] for row in rows] == bundled.covariates["sex"].tolist()


def test_data_refuses_unknown_names_and_places(tmp_path):
    assert run("data", "iris").exit_code == 2
    (tmp_path / "file").write_text("")
    result = run("data", "fruit", "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "is a file: give a folder" in result.stderr
