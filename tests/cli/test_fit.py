"""latentsimplex fit: files in, files out, and an exit status that says how it went."""

import csv
import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import normalized_mutual_info_score

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.cli import main
from latentsimplex.files.data_files import read_data

QUICK = ("--similarity", "local-scaling", "--clusters", 3, "--patterns", 2, "--n-init", 1)
TABLES = [
    "cluster_features.csv",
    "labels.csv",
    "memberships_pattern0.csv",
    "memberships_pattern1.csv",
    "uncertainty.csv",
    "view_labels.csv",
    "views.csv",
]


# the formats of files are others' and warn of changes to come
others_may_warn = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


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
    by_view = rows_of(out / "view_labels.csv")
    for v, name in enumerate(["blood", "urine", "image"]):
        assert [int(row[name]) for row in by_view] == model.view_labels_[v].tolist()
    assert [row["view"] for row in views] == ["blood", "urine", "image"]
    assert [int(row["pattern"]) for row in views] == [0, 0, 1]
    assert [row["excluded"] for row in views] == ["False"] * 3
    assert [float(row["consensus_weight"]) for row in views] == [1.0] * 3
    P = model.coassignment().toarray()
    uncertainty = rows_of(out / "uncertainty.csv")
    others = [j for j in range(1, 90) if model.labels_[j] == model.labels_[0]]
    assert float(uncertainty[0]["affinity"]) == pytest.approx(P[0, others].mean())


def test_the_features_of_clusters_are_written_and_in_the_report(fitted):
    _, out, model = fitted
    features = rows_of(out / "cluster_features.csv")
    assert {row["view"] for row in features} == {"blood", "urine", "image"}
    assert {int(row["cluster"]) for row in features} == set(model.labels_.tolist())
    first = [abs(float(row["effect"])) for row in features if row["cluster"] == "0"]
    assert first == sorted(first, reverse=True)
    assert "What sets each cluster apart" in (out / "report.html").read_text(encoding="utf-8")


def test_similarities_are_fitted_without_features(tmp_path):
    np.save(tmp_path / "S.npy", np.kron(np.eye(2), np.ones((5, 5))))
    result = run(
        "fit", tmp_path / "S.npy", "--similarity", "precomputed", "--n-init", 1, "--out", tmp_path / "fit"
    )
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "fit" / "cluster_features.csv").exists()


def test_fit_again_leaves_no_table_of_the_fit_before(archive, tmp_path):
    (tmp_path / "memberships_pattern7.csv").write_text("of another fit")
    (tmp_path / "mine.csv").write_text("something else")
    result = run("fit", archive, *QUICK, "--patterns", 1, "--quiet", "--out", tmp_path)
    assert (result.exit_code, result.output) == (0, "")
    assert {path.name for path in tmp_path.glob("*.csv")} == {
        "cluster_features.csv",
        "labels.csv",
        "memberships_pattern0.csv",
        "mine.csv",
        "uncertainty.csv",
        "view_labels.csv",
        "views.csv",
    }


def test_fit_again_leaves_no_copy_of_other_data(archive, tmp_path):
    (tmp_path / "fit.h5ad").write_text("of another fit")
    assert run("fit", archive, *QUICK, "--quiet", "--out", tmp_path).exit_code == 0
    assert not (tmp_path / "fit.h5ad").exists()


@pytest.mark.parametrize("writer", ["save", "report"])
@pytest.mark.parametrize("there", [True, False])
def test_a_disk_that_is_full_leaves_the_folder_as_it_was(archive, tmp_path, monkeypatch, writer, there):
    out = tmp_path / "out"
    if there:
        out.mkdir()
        (out / "fit.model").write_text("of another fit")
        (out / "labels.csv").write_text("of another fit")
    before = sorted(tmp_path.rglob("*"))

    def stop_half_way(self, path, *more, **options):
        path.write_text("half of it")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LatentSimplexPosition, writer, stop_half_way)
    result = run("fit", archive, *QUICK, "--out", out)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert (
        result.stderr == f"Error: {str(out)!r} cannot be used (no space left on device): give another path.\n"
    )
    assert sorted(tmp_path.rglob("*")) == before
    assert all(path.read_text() == "of another fit" for path in out.glob("*"))


KILLED = """
import os, sys
from latentsimplex import LatentSimplexPosition
from latentsimplex.cli import main

LatentSimplexPosition.report = lambda self, path, *more, **options: (path.write_text("half"), os.kill(os.getpid(), 9))
main(sys.argv[1:])
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no such signal on Windows")
def test_a_killed_fit_leaves_the_folder_as_it_was(archive, tmp_path):
    for name in ("fit.model", "labels.csv"):
        (tmp_path / name).write_text("of another fit")
    arguments = [str(each) for each in ("fit", archive, *QUICK, "--out", tmp_path)]
    assert subprocess.run([sys.executable, "-c", KILLED, *arguments]).returncode == -signal.SIGKILL
    shown = {path.name: path.read_text() for path in tmp_path.iterdir() if not path.name.startswith(".part-")}
    assert shown == {"fit.model": "of another fit", "labels.csv": "of another fit"}


def test_a_name_that_is_too_long_is_one_sentence_before_anything_is_read(archive, tmp_path, monkeypatch):
    monkeypatch.setattr("latentsimplex.cli.fit.read_data", lambda *arguments: pytest.fail("read"))
    result = run("fit", archive, "--out", tmp_path / ("x" * 300))
    assert result.exit_code == 1
    assert "cannot be used (file name too long): give another path." in result.stderr


def test_several_files_are_views(data, archive, tmp_path):
    for name, view in data.items():
        np.save(tmp_path / f"{name}.npy", view)
    paths = [tmp_path / f"{name}.npy" for name in data]
    assert run("fit", *paths, *QUICK, "--seed", 3, "--quiet", "--out", tmp_path / "out").exit_code == 0
    model = load(tmp_path / "out" / "fit.model")
    assert model.view_names_in_.tolist() == list(data)
    assert [row["sample"] for row in rows_of(tmp_path / "out" / "labels.csv")] == [str(i) for i in range(90)]


@pytest.fixture
def id_files(data, tmp_path):
    """The views with integer ids, each in another order, one as a European spreadsheet writes it."""
    rng = np.random.default_rng(1)
    paths = []
    for (name, view), mark in zip(data.items(), ",;\t", strict=True):
        lines = [f"{1000 + 7 * i}{mark}{a:.6f}{mark}{b:.6f}\n" for i, (a, b) in enumerate(view)]
        text = f"number{mark}{name}0{mark}{name}1\n" + "".join(rng.permutation(lines))
        paths.append(tmp_path / f"{name}.csv")
        paths[-1].write_text(text.replace(".", ",") if mark == ";" else text)
    return paths


def test_files_with_integer_ids_are_matched_by_them(fitted, id_files, tmp_path):
    result = run("fit", *id_files, *QUICK, "--seed", 3, "--quiet", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    warnings = result.stderr.splitlines()
    assert len(warnings) == 3
    assert warnings[0].startswith(
        "Warning: The column 'number' of blood.csv holds a different whole number in each row"
    )
    model, truth = load(tmp_path / "out" / "fit.model"), fitted[2]
    who = [(int(name) - 1000) // 7 for name in model.sample_names_in_]
    assert normalized_mutual_info_score(model.labels_, truth.labels_[who]) == 1.0
    result = run(
        "fit", *id_files, *QUICK, "--seed", 3, "--index", "number", "--quiet", "--out", tmp_path / "sure"
    )
    assert (result.exit_code, result.stderr) == (0, "")
    np.testing.assert_array_equal(load(tmp_path / "sure" / "fit.model").labels_, model.labels_)


def test_columns_can_be_left_out(id_files, tmp_path):
    options = ("--index", "number", "--drop", "blood1", "--views", "columns", "--quiet", "--out", tmp_path)
    result = run("fit", id_files[0], *QUICK, *options)
    assert (result.exit_code, result.stderr) == (0, "")
    assert load(tmp_path / "fit.model").view_names_in_.tolist() == ["blood0"]


def test_more_than_the_memory_limit_is_not_read(id_files, tmp_path):
    result = run("fit", id_files[0], "--index", "number", "--memory-limit", "1KB", "--out", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: blood.csv holds more than 1e-06 GB")


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
    load(out / "fit.model").report(out / "without data")
    assert (out / "again").read_bytes() == (out / "without data").read_bytes()
    (out / "again").unlink()
    (out / "without data").unlink()


def test_a_constant_view_is_one_line_of_warning(data, tmp_path):
    np.savez(tmp_path / "views.npz", **data, flat=np.zeros((90, 1)))
    result = run("fit", tmp_path / "views.npz", *QUICK, "--quiet", "--out", tmp_path)
    assert result.exit_code == 0
    assert result.stderr == ("Warning: 1 of 4 views are constant, have no clusters and are excluded: flat.\n")
    assert rows_of(tmp_path / "views.csv")[3]["excluded"] == "True"


# What goes wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3,x\n", "Line 3 of data.csv has 'x'"),
        ("a,b\n1,2\n3,\n", "data.csv has nothing in the column 'b' of sample '3'"),
        ("a,b\n1.5,2\n", "a minimum of 2 is required"),
        ("a;b\n1,5;2.5\n3;4\n", "data.csv has points and commas in its numbers"),
        ("", "data.csv has no samples"),
    ],
)
def test_bad_data_are_one_sentence_on_standard_error(tmp_path, text, message):
    (tmp_path / "data.csv").write_text(text)
    result = run("fit", tmp_path / "data.csv", "--quiet", "--out", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_too_little_memory_is_one_sentence(archive, tmp_path):
    result = run("fit", archive, "--memory-limit", "20KB", "--out", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: Fitting 90 samples with 3 patterns needs about")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--clusters", 0), "'--clusters'"),
        (("--similarity", "best"), "'--similarity'"),
        (("--seed", "x"), "'--seed'"),
        (("--views", "colums"), "views='colums' is unknown: choose whole, columns, discover or a CSV file"),
        (("--views", "columns"), "views='columns' cuts one table, but views.npz holds several views"),
        (("--views", "columns", "--similarity", "precomputed"), "leave out --views"),
        (("--layer", "log"), "layer='log' is for one .h5ad file: leave it out"),
        (("--drop", "age"), "--drop age: no file has such a column or array; look at its name"),
        (("--index", "id", "--no-index"), "--index and --no-index exclude each other"),
        (
            ("--device", "gpu"),
            "'--device': 'gpu' is unknown: choose cpu, cuda, cuda:1 and so on, mps or torch",
        ),
        (("--memory-limit", "lots"), "'--memory-limit': 'lots' is no amount of memory"),
        (("--out", "FILE"), "is a file: give a folder"),
        (("--out", "FILE/in"), "is a file, not a folder"),
    ],
)
def test_wrong_usage_has_its_own_status(archive, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    given = [str(option).replace("FILE", str(archive)) for option in options]
    result = run("fit", archive, *given)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: ")
    assert message in result.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_files_are_needed():
    assert run("fit").exit_code == 2


@pytest.mark.parametrize("device", ["cpu", "torch", "cuda:0", "mps"])
def test_devices_are_those_of_the_estimator(device, archive, tmp_path):
    """Whether there is such a device is found later: what counts here is that the name is none of wrong usage."""
    result = run("fit", archive, *QUICK, "--device", device, "--quiet", "--out", tmp_path / "out")
    assert result.exit_code in (0, 1)
    if result.exit_code == 0:
        assert load(tmp_path / "out" / "fit.model").device == device
    else:
        assert result.stderr.startswith(f'Error: device="{device.split(":")[0]}')


@pytest.mark.parametrize("name", ["labels.csv", "views.csv", "memberships_pattern3.csv"])
def test_the_data_are_not_written_over(tmp_path, name):
    (tmp_path / name).write_text("a,b\n1,2\n3,4\n5,6\n")
    result = run("fit", tmp_path / name, "--out", tmp_path)
    assert result.exit_code == 2
    assert "would be overwritten: choose another folder" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_place_that_cannot_be_written_is_said_before_anything_is_read(archive, tmp_path, monkeypatch):
    monkeypatch.setattr("latentsimplex.cli.errors.os.access", lambda path, mode: False)
    monkeypatch.setattr("latentsimplex.cli.fit.read_data", lambda *arguments: pytest.fail("read"))
    result = run("fit", archive, "--out", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (
        1,
        f"Error: Nothing can be written into {str(tmp_path)!r}: choose another folder with --out.\n",
    )


def test_a_missing_file_is_one_sentence(tmp_path):
    path = str(tmp_path / "nowhere.csv")
    result = run("fit", path, "--out", tmp_path)
    assert (result.exit_code, result.stderr) == (
        1,
        f"Error: There is no file {path!r}: look at its name and folder.\n",
    )


def test_progress_is_for_those_who_look_or_ask(archive, tmp_path):
    lines = {
        options: run("fit", archive, *QUICK, *options, "--out", tmp_path).stderr.splitlines()
        for options in [(), ("--verbose",), ("--quiet",)]
    }
    assert (lines[()], lines[("--quiet",)]) == ([], [])
    assert lines[("--verbose",)][0].startswith("latentsimplex: reading the views")
    assert load(tmp_path / "fit.model").verbose is False


# AnnData and MuData


@pytest.fixture
def cells(data):
    """An AnnData of 90 cells with the three views as groups of genes."""
    anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    genes = pandas.DataFrame({"tissue": np.repeat(list(data), 2)}, index=[f"g{j}" for j in range(6)])
    X = np.hstack(list(data.values()))
    index = [f"cell {i}" for i in range(90)]
    obs = pandas.DataFrame({"age": np.arange(90)}, index=index)
    return anndata.AnnData(X, obs=obs, var=genes, layers={"less": X[:, ::-1]}, obsm={"pca": X[:, :2]})


def written(out, kind):
    library = pytest.importorskip({"h5ad": "anndata", "h5mu": "mudata"}[kind])
    return getattr(library, f"read_{kind}")(out / f"fit.{kind}"), load(out / "fit.model")


@others_may_warn
def test_results_come_back_in_a_copy_of_an_anndata(cells, tmp_path):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    before = (tmp_path / "cells.h5ad").read_bytes()
    result = run("fit", tmp_path / "cells.h5ad", "--views", "tissue", *QUICK, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert f"Data with results: {tmp_path / 'out' / 'fit.h5ad'}\n" in result.stdout
    again, model = written(tmp_path / "out", "h5ad")
    assert model.view_names_in_.tolist() == ["blood", "urine", "image"]
    np.testing.assert_array_equal(again.X, cells.X)
    np.testing.assert_array_equal(again.layers["less"], cells.layers["less"])
    assert again.obs["age"].tolist() == list(range(90))
    assert again.obs_names.tolist() == model.sample_names_in_.tolist()
    assert again.obs["lsp_labels"].astype(int).tolist() == model.labels_.tolist()
    for l, W in enumerate(model.memberships_):
        np.testing.assert_array_equal(again.obsm[f"X_lsp_memberships_{l}"], W)
    assert again.uns["lsp"]["view_patterns"].tolist() == model.view_patterns_.tolist()
    assert (tmp_path / "cells.h5ad").read_bytes() == before


@others_may_warn
@pytest.mark.parametrize(
    ("options", "names"),
    [
        ((), ["X"]),
        (("--views", "columns"), [f"g{j}" for j in range(6)]),
        (("--views", "columns", "--layer", "less"), [f"g{j}" for j in range(6)]),
        (("--views", "layers"), ["less"]),
        (("--views", "obsm"), ["pca"]),
        (("--views", "groups.csv"), ["odd", "even"]),
    ],
)
def test_an_anndata_is_cut_in_every_way(cells, tmp_path, monkeypatch, options, names):
    monkeypatch.chdir(tmp_path)
    cells.write_h5ad("cells.h5ad")
    lines = [f"g{j},{'even' if j % 2 else 'odd'}\n" for j in range(6)]
    (tmp_path / "groups.csv").write_text("gene,group\n" + "".join(lines))
    result = run("fit", "cells.h5ad", *QUICK, *options, "--quiet")
    assert result.exit_code == 0, result.output
    again, model = written(tmp_path / "fit", "h5ad")
    assert model.view_names_in_.tolist() == names
    assert again.uns["lsp"]["view_names"].tolist() == names
    if "less" in options:  # its genes are those of X in reverse
        forward = run("fit", "cells.h5ad", *QUICK, "--views", "columns", "--quiet", "--out", "forward")
        assert forward.exit_code == 0
        both = model, load("forward/fit.model")
        assert both[0].loss_ == pytest.approx(both[1].loss_)
        assert both[0].view_patterns_.tolist() != both[1].view_patterns_.tolist()


@others_may_warn
@pytest.mark.parametrize("options", [("--views", "pathway"), ("--layer", "raw")])
def test_what_an_anndata_does_not_have_is_wrong_usage(cells, tmp_path, options):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    result = run("fit", tmp_path / "cells.h5ad", *options, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "is unknown" in result.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@others_may_warn
def test_results_come_back_in_a_copy_of_a_mudata(cells, tmp_path):
    mudata = pytest.importorskip("mudata")
    second = cells[::-1, 4:].copy()
    second.var_names = ["p0", "p1"]
    with mudata.set_options(pull_on_update=False):
        mudata.MuData({"rna": cells[:, :4].copy(), "protein": second}).write(tmp_path / "cells.h5mu")
    result = run("fit", tmp_path / "cells.h5mu", *QUICK, "--quiet", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    again, model = written(tmp_path / "out", "h5mu")
    assert model.view_names_in_.tolist() == ["rna", "protein"]
    assert again.obs_names.tolist() == model.sample_names_in_.tolist()
    assert again.obs["lsp_labels"].astype(int).tolist() == model.labels_.tolist()
    np.testing.assert_array_equal(again["protein"].X, second.X)
    np.testing.assert_array_equal(again.obsm["X_lsp_memberships_0"], model.memberships_[0])


@others_may_warn
def test_a_container_among_several_files_is_a_view_and_gets_no_copy(cells, data, tmp_path):
    cells.write_h5ad(tmp_path / "cells.h5ad")
    np.save(tmp_path / "more.npy", data["image"])
    paths = tmp_path / "cells.h5ad", tmp_path / "more.npy"
    assert run("fit", *paths, *QUICK, "--quiet", "--out", tmp_path / "out").exit_code == 0
    assert load(tmp_path / "out" / "fit.model").sample_names_in_[0] == "cell 0"
    assert not (tmp_path / "out" / "fit.h5ad").exists()


def test_three_tables_with_ids_gaps_and_words_are_right_on_the_first_try(tmp_path):
    """As people have them: integer ids in another order in each file, missing cells, a column of words."""
    rng, groups = np.random.default_rng(0), np.repeat([0, 1, 2], 30)
    ids = rng.permutation(10_000)[:90] + 1000
    blood = 5.0 * np.eye(3)[groups] + rng.normal(size=(90, 3))
    image = -5.0 * np.eye(3)[groups] + rng.normal(size=(90, 3))
    habits = [
        [f"{3.0 * group + rng.normal():.2f}", "abc"[(group + (rng.random() < 0.05)) % 3]] for group in groups
    ]
    tables = {
        "blood": (["iron", "salt", "fat"], [[f"{x:.3f}" for x in row] for row in blood]),
        "image": (["red", "green", "blue"], [[f"{x:.3f}" for x in row] for row in image]),
        "habits": (["sleep", "diet"], habits),
    }
    tables["blood"][1][4][1] = tables["image"][1][7][0] = tables["habits"][1][5][1] = ""
    for name, (header, rows) in tables.items():
        order = rng.permutation(90)
        lines = [["patient_id", *header], *([ids[i], *rows[i]] for i in order)]
        text = "\n".join(",".join(map(str, line)) for line in lines)
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    files = [tmp_path / f"{name}.csv" for name in tables]
    refused = run("fit", *files, "--out", tmp_path / "fit")
    assert (refused.exit_code, "--missing pairwise" in refused.stderr) == (1, True)
    done = run("fit", *files, "--missing", "pairwise", "--out", tmp_path / "fit", "--quiet")
    assert done.exit_code == 0, done.output
    found = {row["sample"]: row["consensus"] for row in rows_of(tmp_path / "fit" / "labels.csv")}
    labels = [found[str(i)] for i in ids]
    assert normalized_mutual_info_score(groups, labels) > 0.9
    features = {row["feature"] for row in rows_of(tmp_path / "fit" / "cluster_features.csv")}
    assert {"iron", "red", "sleep", "diet=a"} <= features
    assert (tmp_path / "fit" / "report.html").stat().st_size > 10_000


def test_without_a_number_of_clusters_there_is_no_bound(tmp_path):
    table = tmp_path / "table.csv"
    np.savetxt(table, np.random.default_rng(0).normal(size=(30, 2)), delimiter=",", header="x,y", comments="")
    result = run("fit", str(table), "--no-index", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert load(tmp_path / "out" / "fit.model").n_clusters == "auto"


def test_exactly_as_many_clusters_as_are_asked_for(archive, tmp_path):
    asked = ("fit", archive, "--clusters", 4, "--out", tmp_path / "fit")
    done = run(*asked, "--min-clusters", 4, "--quiet")
    assert done.exit_code == 0, done.output
    assert load(tmp_path / "fit" / "fit.model").n_clusters_.tolist() == [4, 4]
    refused = run(*asked, "--min-clusters", 5)
    assert (refused.exit_code, refused.stderr.count("\n")) == (1, 1)
    assert "--min-clusters 5 is more than --clusters 4" in refused.stderr


def test_a_checkpoint_is_gone_on_from(archive, tmp_path, monkeypatch):
    folder, out = tmp_path / "kept", tmp_path / "fit"
    command = ("fit", archive, *QUICK, "--out", out, "--checkpoint", folder)
    with monkeypatch.context() as patched:
        patched.setattr("latentsimplex.stages.find_references", give_up)
        interrupted = run(*command)
    assert interrupted.exit_code == 1
    assert not out.exists()
    assert list(folder.glob("*.npz"))
    monkeypatch.setattr("latentsimplex.model.em.em_step", give_up)  # all of it has been done
    assert run(*command).exit_code == 0
    found = load(out / "fit.model")
    monkeypatch.undo()
    run("fit", archive, *QUICK, "--out", tmp_path / "other")
    expected = load(tmp_path / "other" / "fit.model")
    np.testing.assert_array_equal(found.memberships_[0], expected.memberships_[0])
    assert not list(folder.glob("*.npz"))


def give_up(*arguments, **named):
    raise ValueError("It was given up.")


def test_a_checkpoint_of_something_else_is_refused_in_one_line(archive, tmp_path):
    assert (
        run("fit", archive, *QUICK, "--out", tmp_path / "a", "--checkpoint", tmp_path / "kept").exit_code == 0
    )
    other = run(
        "fit", archive, *QUICK, "--seed", 1, "--out", tmp_path / "b", "--checkpoint", tmp_path / "kept"
    )
    assert other.exit_code == 1
    assert other.output.count("\n") == 1
    assert "is of other settings (random_state was 0, not 1): give another folder" in other.output
    assert not (tmp_path / "b").exists()


def test_a_checkpoint_that_cannot_be_written_is_refused_in_one_line(archive, tmp_path):
    (tmp_path / "file").write_text("")
    for path, told in ((tmp_path / "file", "is a file"), (tmp_path / "file" / "folder", "cannot be written")):
        found = run("fit", archive, *QUICK, "--out", tmp_path / "fit", "--checkpoint", path)
        assert found.exit_code == 1
        assert told in found.output
        assert found.output.count("\n") == 1


def test_labels_and_links_from_files(archive, tmp_path):
    (tmp_path / "labels.csv").write_text(
        "sample,kind\npatient 0,low\npatient 1,low\npatient 40,middle\npatient 89,\n"
    )
    (tmp_path / "links.csv").write_text("one,other\npatient 2,patient 3\n")
    (tmp_path / "apart.csv").write_text("one,other\npatient 2,patient 88\n")
    known = ("--labels", tmp_path / "labels.csv", "--must-link", tmp_path / "links.csv")
    result = run(
        *("fit", archive, "--out", tmp_path / "fit", *QUICK, *known, "--cannot-link", tmp_path / "apart.csv")
    )
    assert result.exit_code == 0, result.output
    rows = rows_of(tmp_path / "fit" / "doubts.csv")
    assert sorted(row["kind"] for row in rows) == ["cannot-link", "label", "label", "label", "must-link"]
    assert load(tmp_path / "fit" / "fit.model").known_.classes.tolist() == ["low", "middle"]


def test_a_file_of_labels_that_names_nobody(archive, tmp_path):
    (tmp_path / "labels.csv").write_text("sample,kind\nnobody,low\n")
    result = run("fit", archive, "--out", tmp_path / "fit", *QUICK, "--labels", tmp_path / "labels.csv")
    assert result.exit_code == 1
    assert "y has 'nobody', which is no sample" in result.stderr


@pytest.mark.parametrize(("option", "text"), [("--labels", "low"), ("--must-link", "patient 1")])
def test_a_file_of_labels_or_links_without_a_line_of_column_names(archive, tmp_path, option, text):
    """Its first entry would be taken as that line and passed over."""
    (tmp_path / "some.csv").write_text(f"patient 0,{text}\npatient 40,{text}\n")
    result = run("fit", archive, "--out", tmp_path / "fit", *QUICK, option, tmp_path / "some.csv")
    assert result.exit_code == 1
    assert f"The first line of some.csv is 'patient 0,{text}'" in result.stderr
