"""``latentsimplex predict``: files of new samples, with all that people write into them."""

import csv

import numpy as np
import pytest
from click.testing import CliRunner

from latentsimplex.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def write_csv(path, values, columns, first="sample", names=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([first, *columns])
        writer.writerows([name, *row] for name, row in zip(names, values.tolist(), strict=True))
    return path


def read_csv(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def two_views(n, seed):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    return (
        labels,
        8 * np.eye(3)[labels] + rng.normal(size=(n, 3)),
        8 * np.eye(3, 2)[labels] + rng.normal(size=(n, 2)),
    )


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a model of the files blood.csv and urine.csv."""
    folder = tmp_path_factory.mktemp("fitted")
    _, blood, urine = two_views(60, 0)
    names = [f"old{i}" for i in range(60)]
    files = [
        write_csv(folder / "blood.csv", blood, ["b0", "b1", "b2"], names=names),
        write_csv(folder / "urine.csv", urine, ["u0", "u1"], names=names),
    ]
    result = run("fit", *files, "--out", folder / "fit", "--quiet")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def new(tmp_path):
    labels, blood, urine = two_views(12, 1)
    blood[11] = 1000.0
    urine[11] = 1000.0
    names = [f"new{i}" for i in range(12)]
    write_csv(tmp_path / "new" / "blood.csv", blood[:, ::-1], ["b2", "b1", "b0"], names=names)
    write_csv(tmp_path / "new" / "urine.csv", urine[::-1], ["u0", "u1"], names=names[::-1])
    return labels, tmp_path / "new"


def test_new_samples_get_clusters_and_memberships(fitted, new, tmp_path):
    labels, folder = new
    out = tmp_path / "out"
    result = run(
        "predict", fitted / "fit" / "fit.model", folder / "urine.csv", folder / "blood.csv", "--out", out
    )
    assert result.exit_code == 0, result.output
    assert result.output.startswith("12 new samples, 1 unlike all samples of the fit\n")
    rows = {row["sample"]: row for row in read_csv(out / "predicted_labels.csv")}
    assert list(rows["new0"]) == ["sample", "consensus", "pattern0", "unlike"]
    assert [int(rows[f"new{i}"]["unlike"]) for i in range(12)] == [0] * 11 + [1]
    found = [int(rows[f"new{i}"]["consensus"]) for i in range(11)]
    assert len(set(zip(found, labels[:11].tolist(), strict=True))) == 3
    memberships = read_csv(out / "predicted_memberships_pattern0.csv")
    assert {row["sample"] for row in memberships} == set(rows)
    assert sum(float(memberships[0][f"cluster{k}"]) for k in range(3)) == pytest.approx(1)


def test_a_view_may_be_absent(fitted, new, tmp_path):
    result = run("predict", fitted / "fit" / "fit.model", new[1] / "blood.csv", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert len(read_csv(tmp_path / "out" / "predicted_labels.csv")) == 12


def test_one_table_may_have_any_name(new, tmp_path):
    _, blood, _ = two_views(60, 0)
    names = [f"old{i}" for i in range(60)]
    train = write_csv(tmp_path / "train.csv", blood, ["b0", "b1", "b2"], names=names)
    for cut, patterns in (("whole", 1), ("columns", None)):
        fit = run("fit", train, "--views", cut, "--clusters", 3, "--out", tmp_path / cut, "--quiet")
        assert fit.exit_code == 0, fit.output
        model = tmp_path / cut / "fit.model"
        result = run("predict", model, new[1] / "blood.csv", "--out", tmp_path / f"{cut} new")
        assert result.exit_code == 0, result.output
        assert len(read_csv(tmp_path / f"{cut} new" / "predicted_labels.csv")) == 12
        assert (
            patterns is None or not (tmp_path / f"{cut} new" / "predicted_memberships_pattern1.csv").exists()
        )


def test_info_says_that_rows_of_the_data_are_in_the_file(fitted, tmp_path):
    from latentsimplex import load

    path = fitted / "fit" / "fit.model"
    assert "The file holds the rows of all 60 samples, to place new ones" in run("info", path).output
    load(path).save(tmp_path / "small", predict=False)
    assert "The file holds no rows of the data" in run("info", tmp_path / "small").output
    result = run("predict", tmp_path / "small", fitted / "blood.csv", "--out", tmp_path / "out")
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert "saved with predict=False" in result.output


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        (
            "sweat.csv",
            ["b0", "b1", "b2"],
            "'sweat' is the name of no view of the model, whose views are 'blood', 'urine': give each file",
        ),
        ("blood.csv", ["b0", "b1", "c2"], "not fitted to, such as 'c2'"),
        ("blood.csv", ["b0", "b1"], "lacks 1 of the 3 features of the view 'blood', such as 'b2'"),
    ],
)
def test_other_files_are_one_line(fitted, tmp_path, name, columns, message):
    file = write_csv(tmp_path / name, np.ones((2, len(columns))) * [[1], [2]], columns, names=["a", "b"])
    result = run("predict", fitted / "fit" / "fit.model", file, "--out", tmp_path / "out")
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert message in result.output
    assert not (tmp_path / "out").exists()


def test_several_files_one_of_which_is_no_view(fitted, new, tmp_path):
    other = (new[1] / "urine.csv").rename(new[1] / "sweat.csv")
    result = run(
        "predict", fitted / "fit" / "fit.model", new[1] / "blood.csv", other, "--out", tmp_path / "out"
    )
    assert (result.exit_code, result.output.count("\n")) == (1, 1)
    assert "'sweat' is the name of no view of the model, whose views are 'blood', 'urine'" in result.output


def test_data_are_not_written_over(fitted, tmp_path):
    file = write_csv(tmp_path / "predicted_labels.csv", np.ones((2, 3)), ["b0", "b1", "b2"], names=["a", "b"])
    result = run("predict", fitted / "fit" / "fit.model", file, "--out", tmp_path)
    assert result.exit_code == 2
    assert "would be overwritten" in result.output


@pytest.mark.parametrize("join", ["inner", "outer"])
def test_samples_may_be_absent_from_files_as_they_were_in_the_fit(tmp_path, join):
    _, blood, urine = two_views(60, 0)
    names = [f"s{i}" for i in range(60)]
    files = [
        write_csv(tmp_path / "blood.csv", blood, ["b0", "b1", "b2"], names=names),
        write_csv(tmp_path / "urine.csv", urine[:40], ["u0", "u1"], names=names[:40]),
    ]
    refused = run("fit", *files, "--out", tmp_path / "fit")
    assert "fit with --join inner to keep those that all views have, or with --join outer" in refused.output
    fit = run("fit", *files, "--join", join, "--out", tmp_path / "fit", "--quiet")
    assert fit.exit_code == 0, fit.output
    result = run("predict", tmp_path / "fit" / "fit.model", *files, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    found = [row["consensus"] for row in read_csv(tmp_path / "out" / "predicted_labels.csv")]
    fitted = [row["consensus"] for row in read_csv(tmp_path / "fit" / "labels.csv")]
    assert (len(fitted), len(found)) == ({"inner": 40, "outer": 60}[join], 60)
    assert found[: len(fitted)] == fitted
