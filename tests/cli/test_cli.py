"""The command line does what the library does, and a user's mistake is one line and an exit status."""

import csv
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner
from sklearn.metrics import normalized_mutual_info_score

import latentsimplex
from latentsimplex import datasets, experiments, load
from latentsimplex.cli import main
from made_model import random_model


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def python(*arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=120)


@pytest.fixture
def model_file(tmp_path):
    random_model(12, 2, 3, random_state=5).save(tmp_path / "fit.model")
    return tmp_path / "fit.model"


def test_version_and_help():
    assert run("--version").output == f"latentsimplex, version {latentsimplex.__version__}\n"
    commands = run("--help").output.split("Commands:\n")[1].split("\n\n")[0]
    assert [line.split()[0] for line in commands.splitlines()] == [
        "compile",
        "data",
        "demo",
        "fit",
        "info",
        "predict",
        "report",
        "reproduce",
    ]


@pytest.mark.parametrize("command", ["", "data", "demo", "fit", "info", "predict", "report", "reproduce"])
def test_every_command_has_a_help_that_fits_a_terminal(command):
    result = run(*filter(None, [command]), "--help")
    assert result.exit_code == 0
    assert result.output.startswith("Usage: ")
    assert max(map(len, result.output.splitlines())) <= 80
    assert "..." not in result.output.split("Commands:")[-1].replace("FILE...", "").replace("[ARGS]...", "")


def test_the_module_runs_as_a_command():
    result = python("-m", "latentsimplex", "--version")
    assert (result.returncode, result.stdout) == (0, f"latentsimplex, version {latentsimplex.__version__}\n")


def test_starting_imports_no_drawing_no_data_and_no_experiments():
    code = "import sys, latentsimplex.cli; print(*sys.modules)"
    modules = set(python("-c", code).stdout.split())
    assert "latentsimplex.cli" in modules
    late = {
        "matplotlib",
        "jinja2",
        "latentsimplex.datasets",
        "latentsimplex.experiments",
        "latentsimplex.report",
    }
    assert modules & late == set()


# Models


def test_info_says_what_a_model_found(model_file):
    result = run("info", model_file)
    assert result.exit_code == 0
    assert result.output.startswith(
        "12 samples in 2 views, 2 patterns\npattern 0: 1 view, weight 0.50, 3 clusters"
    )
    assert "random_state=5" in result.output


def test_report_writes_the_page_of_the_model(model_file, tmp_path):
    result = run("report", model_file, "--out", tmp_path / "page")
    assert (result.exit_code, result.output) == (0, f"Report: {tmp_path / 'page'}\n")
    load(model_file).report(tmp_path / "direct")
    assert (tmp_path / "page").read_bytes() == (tmp_path / "direct").read_bytes()


def test_report_goes_beside_the_model_by_default(model_file):
    assert run("report", model_file).exit_code == 0
    assert "<title>12 samples" in model_file.with_name("fit.model.html").read_text()


@pytest.mark.parametrize("command", ["info", "report"])
@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "There is no file"), (b"something else", "is not a model"), (b"", "is not a model")],
    ids=["missing", "foreign", "empty"],
)
def test_a_bad_model_is_one_line(command, content, message, tmp_path):
    if content is not None:
        (tmp_path / "fit.model").write_bytes(content)
    result = run(command, tmp_path / "fit.model")
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert message in result.output
    assert result.output.count("\n") == 1
    assert not (tmp_path / "fit.model.html").exists()


@pytest.mark.parametrize(
    "arguments", [("report", "MODEL", "--out", "no/such/folder"), ("info", "."), ("report", ".")]
)
def test_a_path_that_cannot_be_used_is_one_line(arguments, model_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*[model_file if argument == "MODEL" else argument for argument in arguments])
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert result.output.count("\n") == 1


def test_errors_go_to_standard_error_without_a_traceback(tmp_path):
    result = python("-m", "latentsimplex", "info", tmp_path / "nowhere")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: There is no file")
    assert result.stderr.count("\n") == 1


# The demonstration


@pytest.fixture
def few_digits(monkeypatch):
    digits = datasets.load_digits()
    views = {name: view[:50] for name, view in digits.views.items()}
    few = replace(digits, views=views, labels=digits.labels[:50])
    monkeypatch.setattr(datasets, "load_digits", lambda: few)
    return few


def test_demo_writes_a_model_labels_and_a_report(few_digits, tmp_path):
    out = tmp_path / "new" / "folder"
    result = run("demo", "--out", out)
    assert result.exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == ["digits.model", "labels.csv", "report.html"]
    for path in out.iterdir():
        assert str(path) in result.output
    model = load(out / "digits.model")
    score = normalized_mutual_info_score(few_digits.labels, model.labels_)
    assert f"NMI of the consensus with the true digits: {score:.3f}\n" in result.output
    with open(out / "labels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["sample", "digit", "consensus", *few_digits.views]
    assert [int(row["digit"]) for row in rows] == few_digits.labels.tolist()
    assert [int(row["consensus"]) for row in rows] == model.labels_.tolist()
    assert [int(row["mor"]) for row in rows] == model.view_labels_[5].tolist()
    assert "<title>50 samples in 6 views" in (out / "report.html").read_text()


def test_demo_refuses_a_folder_that_is_a_file_before_it_fits(few_digits, model_file):
    result = run("demo", "--out", model_file)
    assert result.exit_code == 2
    assert f"Error: Invalid value for '--out': '{model_file}' is a file: give a folder." in result.output
    assert "Fitting" not in result.output


# Experiments


@pytest.fixture
def calls(monkeypatch):
    """The calls that an experiment called "quick" received."""
    received = []

    def quick(n_seeds, out, progress=None, *, n_samples=None):
        received.append((n_seeds, out, n_samples))
        progress("seed 1")
        out.mkdir(parents=True)
        table = experiments.Table.from_rows(["method", "NMI"], [["ours", 0.5]])
        return experiments.Result({"scores": table}, [out / "scores.png"], ["The paper has 0.6."])

    monkeypatch.setitem(experiments.EXPERIMENTS, "quick", experiments.Experiment("A quick one.", quick))
    return received


def test_reproduce_prints_tables_notes_and_where_the_files_are(calls, tmp_path):
    result = run("reproduce", "quick", "--seeds", 2, "--out", tmp_path / "x", "--samples", 40)
    assert result.exit_code == 0
    assert calls == [(2, tmp_path / "x", 40)]
    assert "scores\nmethod    NMI\n------  -----\nours    0.500\n" in result.output
    assert "The paper has 0.6." in result.output
    assert f"Written to {tmp_path / 'x'}: 1 table (CSV) and 1 figure (PNG)." in result.output


def test_reproduce_has_defaults(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("reproduce", "quick").exit_code == 0
    assert [(seeds, str(out), samples) for seeds, out, samples in calls] == [(3, "results", None)]


def test_reproduce_lists_the_experiments_there_are(calls):
    result = run("reproduce", "nothing")
    assert result.exit_code == 2
    for name in experiments.EXPERIMENTS:
        assert f"'{name}'" in result.output
        assert f"\n  {name} " in run("reproduce", "--help").output


def test_reproduce_refuses_a_place_that_is_no_folder_before_it_runs(calls, model_file):
    result = run("reproduce", "quick", "--out", model_file)
    assert (result.exit_code, calls) == (2, [])
    assert result.output.splitlines()[-1].startswith("Error: Invalid value for '--out'")


def test_reproduce_without_room_to_write_is_one_line(tmp_path, monkeypatch):
    def full(n_seeds, out, progress=None, *, n_samples=None):
        raise OSError(28, "No space left on device", str(out / "table.csv"))

    monkeypatch.setitem(experiments.EXPERIMENTS, "full", experiments.Experiment("None fits.", full))
    result = run("reproduce", "full", "--out", tmp_path)
    path = str(tmp_path / "table.csv")
    assert (result.exit_code, result.output) == (
        1,
        f"Error: {path!r} cannot be used (no space left on device): give another path.\n",
    )


@pytest.mark.parametrize("arguments", [("--seeds", 0), ("--seeds", "many"), ("--samples", 1), ("--views", 0)])
def test_reproduce_refuses_senseless_numbers(arguments, calls):
    result = run("reproduce", "quick", *arguments)
    assert (result.exit_code, calls) == (2, [])


def test_reproduce_hands_over_the_number_of_views(calls, tmp_path, monkeypatch):
    received = []

    def many(n_seeds, out, progress=None, *, n_samples=None, n_views=None):
        received.append(n_views)
        return experiments.Result({}, [], [])

    experiment = experiments.Experiment("Many views.", many, options=("n_views",))
    monkeypatch.setitem(experiments.EXPERIMENTS, "many", experiment)
    for views in [(), ("--views", 7)]:
        assert run("reproduce", "many", "--out", tmp_path, *views).exit_code == 0
    assert received == [None, 7]


def test_reproduce_refuses_a_number_of_views_where_there_is_none_to_choose(calls):
    result = run("reproduce", "quick", "--views", 7)
    assert (result.exit_code, calls) == (2, [])
    assert result.output.splitlines()[-1].startswith(
        "Error: quick takes no --views: leave it out, or run views-50k"
    )
