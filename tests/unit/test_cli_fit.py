"""latentsimplex fit and data: files in, files out, and an exit status that says how it went."""

import csv
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner

from latentsimplex import LatentSimplexPosition, datasets, load
from latentsimplex.cli import main
from latentsimplex.files import read_data

QUICK = ("--similarity", "local-scaling", "--clusters", 3, "--patterns", 2, "--n-init", 1)
TABLES = [
    "labels.csv",
    "memberships_pattern0.csv",
    "memberships_pattern1.csv",
    "uncertainty.csv",
    "views.csv",
]


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def data():
    """Three views: two of the same three clusters, one of two others."""
    rng = np.random.default_rng(0)
    first, second = np.repeat([0, 1, 2], 30), np.tile([0, 1], 45)
    return {
        "blood": 9.0 * first[:, None] + rng.normal(size=(90, 2)),
        "urine": -9.0 * first[:, None] + rng.normal(size=(90, 2)),
        "image": 9.0 * second[:, None] + rng.normal(size=(90, 2)),
    }


@pytest.fixture(scope="module")
def archive(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "views.npz"
    np.savez(path, **data, samples=[f"patient {i}" for i in range(90)])
    return path


@pytest.fixture(scope="module")
def fitted(archive, tmp_path_factory):
    """The result and the folder of a fit on the command line, and the same fit in Python."""
    out = tmp_path_factory.mktemp("fit") / "new" / "folder"
    result = run("fit", archive, *QUICK, "--seed", 3, "--out", out)
    model = LatentSimplexPosition(3, 2, similarity="local-scaling", n_init=1, random_state=3)
    return result, out, model.fit(read_data([archive]).data)


# What is written


def test_fit_writes_a_model_tables_and_a_report_and_says_where(fitted):
    result, out, model = fitted
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == sorted(["fit.model", "report.html", *TABLES])
    for path in out.iterdir():
        assert str(path) in result.stdout
    assert result.stdout.startswith("90 samples in 3 views, 2 patterns\npattern 0: 2 views")
    assert "<title>90 samples in 3 views" in (out / "report.html").read_text()
    assert model.n_patterns_ == 2


def test_the_model_is_the_one_that_python_fits(fitted):
    _, out, model = fitted
    again = load(out / "fit.model")
    np.testing.assert_array_equal(again.labels_, model.labels_)
    for W, same in zip(again.memberships_, model.memberships_, strict=True):
        np.testing.assert_array_equal(W, same)
    assert again.view_names_in_.tolist() == ["blood", "urine", "image"]
    assert (again.random_state, again.n_init) == (3, 1)


def test_the_tables_hold_what_the_model_holds(fitted):
    _, out, model = fitted
    labels, views = rows_of(out / "labels.csv"), rows_of(out / "views.csv")
    assert [row["sample"] for row in labels] == [f"patient {i}" for i in range(90)]
    assert [int(row["consensus"]) for row in labels] == model.labels_.tolist()
    for l in range(2):
        assert [int(row[f"pattern{l}"]) for row in labels] == model.pattern_labels_[l].tolist()
        memberships = rows_of(out / f"memberships_pattern{l}.csv")
        W = [[float(row[f"cluster{k}"]) for k in range(model.n_clusters_[l])] for row in memberships]
        np.testing.assert_array_equal(W, model.memberships_[l])
    assert [row["view"] for row in views] == ["blood", "urine", "image"]
    assert [int(row["pattern"]) for row in views] == [0, 0, 1]
    assert [row["excluded"] for row in views] == ["False"] * 3
    assert [float(row["consensus_weight"]) for row in views] == [1.0] * 3
    P = model.coassignment().toarray()
    uncertainty = rows_of(out / "uncertainty.csv")
    others = [j for j in range(1, 90) if model.labels_[j] == model.labels_[0]]
    assert float(uncertainty[0]["affinity"]) == pytest.approx(P[0, others].mean())


def test_fit_again_leaves_no_table_of_the_fit_before(archive, tmp_path):
    (tmp_path / "memberships_pattern7.csv").write_text("of another fit")
    (tmp_path / "mine.csv").write_text("something else")
    result = run("fit", archive, *QUICK, "--patterns", 1, "--quiet", "--out", tmp_path)
    assert (result.exit_code, result.output) == (0, "")
    assert {path.name for path in tmp_path.glob("*.csv")} == {
        "labels.csv",
        "memberships_pattern0.csv",
        "mine.csv",
        "uncertainty.csv",
        "views.csv",
    }


def test_several_files_are_views(data, archive, tmp_path):
    for name, view in data.items():
        np.save(tmp_path / f"{name}.npy", view)
    paths = [tmp_path / f"{name}.npy" for name in data]
    assert run("fit", *paths, *QUICK, "--seed", 3, "--quiet", "--out", tmp_path / "out").exit_code == 0
    model = load(tmp_path / "out" / "fit.model")
    assert model.view_names_in_.tolist() == list(data)
    assert [row["sample"] for row in rows_of(tmp_path / "out" / "labels.csv")] == [str(i) for i in range(90)]


def test_options_reach_the_estimator(data, tmp_path):
    np.save(tmp_path / "blood.npy", data["blood"])
    options = ("--views", "columns", "--memory-limit", "1GB", "--n-init", 2, "--clusters", 4, "--patterns", 5)
    result = run("fit", tmp_path / "blood.npy", *QUICK, *options, "--quiet", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    model = load(tmp_path / "fit.model")
    settings = {name: model.get_params()[name] for name in ("views", "memory_limit", "n_init", "n_clusters")}
    assert settings == {"views": "columns", "memory_limit": "1GB", "n_init": 2, "n_clusters": 4}
    assert (model.n_patterns, model.similarity, model.device) == (5, "local-scaling", "cpu")
    assert model.view_names_in_.tolist() == ["x0", "x1"]


def test_info_and_report_read_what_fit_wrote(fitted):
    result, out, _ = fitted
    assert run("info", out / "fit.model").output.startswith(result.stdout.split("\nModel: ")[0])
    assert run("report", out / "fit.model", "--out", out / "again").exit_code == 0
    assert (out / "again").read_bytes() == (out / "report.html").read_bytes()
    (out / "again").unlink()


def test_a_constant_view_is_one_line_of_warning(data, tmp_path):
    np.savez(tmp_path / "views.npz", **data, flat=np.zeros((90, 1)))
    result = run("fit", tmp_path / "views.npz", *QUICK, "--quiet", "--out", tmp_path)
    assert result.exit_code == 0
    assert result.stderr == ("Warning: 1 of 4 views are constant, have no clusters and are excluded: flat.\n")
    assert rows_of(tmp_path / "views.csv")[3]["excluded"] == "True"


# What goes wrong


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n3,x\n", (), "Line 3 of data.csv has 'x'"),
        ("a,b\n1,2\n3,\n", (), "views['data'] contains NaN"),
        ("a,b\n1,2\n", (), "a minimum of 2 is required"),
        ("a,b\n1,2\n3,4\n5,6\n", ("--views", "colums"), "views='colums' is neither"),
        ("a,b\n1,2\n3,4\n5,6\n", ("--device", "gpu"), "device='gpu' is unknown"),
        ("a,b\n1,2\n3,4\n5,6\n", ("--memory-limit", "lots"), "memory_limit='lots'"),
        ("a,b\n1,2\n3,4\n5,6\n", ("--memory-limit", "10B"), "memory"),
    ],
)
def test_bad_data_are_one_sentence_on_standard_error(tmp_path, text, options, message):
    (tmp_path / "data.csv").write_text(text)
    result = run("fit", tmp_path / "data.csv", "--quiet", *options, "--out", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []


def test_a_place_that_cannot_be_written_is_said_before_anything_is_read(archive):
    result = run("fit", archive, "--out", archive)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1


def test_a_missing_file_is_one_sentence(tmp_path):
    result = run("fit", tmp_path / "nowhere.csv", "--out", tmp_path)
    assert (result.exit_code, result.stderr) == (
        1,
        f"Error: There is no file {str(tmp_path / 'nowhere.csv')!r}.\n",
    )


@pytest.mark.parametrize(
    "arguments", [(), ("FILE", "--clusters", 0), ("FILE", "--similarity", "best"), ("FILE", "--seed", "x")]
)
def test_wrong_usage_has_its_own_status(arguments, archive):
    result = run("fit", *[archive if argument == "FILE" else argument for argument in arguments])
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: ")


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal on Windows")
@pytest.mark.parametrize(
    ("times", "similarity", "sign"), [(1, "local-scaling", "loss="), (2, "auto", "reading the views")]
)
def test_ctrl_c_keeps_the_best_so_far_and_twice_gives_up(times, similarity, sign, tmp_path):
    np.save(tmp_path / "views.npy", np.random.default_rng(0).normal(size=(40, 300, 2)))
    options = ["--similarity", similarity, "--n-init", "200", "--out", "out"]
    command = [sys.executable, "-m", "latentsimplex", "fit", "views.npy", *options]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        seen = ""
        deadline = time.monotonic() + 60
        while sign not in seen and time.monotonic() < deadline:
            seen += process.stderr.read(20)
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        rest = process.stderr.read()
        assert process.wait(60) == 130
    assert "Traceback" not in rest
    if times == 1:
        assert rest.endswith("Interrupted: the fit ended early, and the best result so far was written.\n")
        assert 1 <= len(load(tmp_path / "out" / "fit.model").start_losses_) < 200
    else:
        assert rest.endswith("Interrupted: the fit had not ended, and nothing was written.\n")
        assert list((tmp_path / "out").iterdir()) == []


# Bundled data


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
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
