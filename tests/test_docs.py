"""The pages say what is true: their examples run, their links lead somewhere, their names exist."""

import ast
import csv
import doctest
import importlib
import inspect
import re
import runpy
import shlex
import tomllib
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import latentsimplex
from latentsimplex.cli import main

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted((ROOT / "docs").glob("*.md")) + sorted((ROOT / "docs" / "api").glob("*.md"))
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\S*).*?\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LARGEST_IMAGE = 150_000

REPOSITORY = "https://github.com/latentsimplex/latentsimplex"
"""The address in pyproject.toml, which README has in its links: a package index shows it too."""

ROOMS = {
    "analysis": [],
    "datasets": [],
    "experiments": ["EXPERIMENTS", "Table"],
    "inputs": [],
    "placing": [],
    "plots": [],
    "report": [],
    "results": [],
    "similarity": [],
    "uncertainty": [],
}
"""The rooms whose names are for users, and of each the names in ``__all__`` that are not on a page of the API."""


def page_id(page):
    return str(page.relative_to(ROOT))


def run_snippets(text, name):
    """Run a page's Python blocks in order, in one namespace; return how many there were."""
    namespace = {"__name__": "__page__"}
    blocks = list(CODE.finditer(text))
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        if ">>>" in block[1]:
            compare_shown(block[1], namespace, name, line)
        else:
            # the blank lines make tracebacks point at the page
            exec(compile("\n" * line + block[1], name, "exec"), namespace)
    return len(blocks)


def compare_shown(block, namespace, name, line):
    session = doctest.DocTestParser().get_doctest(block, namespace, name, name, line)
    said = []
    failed, _ = doctest.DocTestRunner(optionflags=SHOWN).run(session, out=said.append, clear_globs=False)
    assert not failed, "".join(said)
    namespace.update(session.globs)


def table_cells(text):
    """Return the cells of every table row of a page."""
    return [
        [cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*\|$", text, re.M)
    ]


def anchors(page):
    """Return the anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    run_snippets(page.read_text(encoding="utf-8"), page_id(page))


def test_pages_that_teach_have_snippets():
    for page in (
        ROOT / "README.md",
        *(ROOT / "docs" / f"{name}.md" for name in ("similarity", "tour", "settings")),
    ):
        assert CODE.search(page.read_text(encoding="utf-8")), page


def test_a_wrong_snippet_is_noticed():
    with pytest.raises(AssertionError, match="Expected"):
        run_snippets("```python\n>>> 1 + 1\n3\n```\n", "page")
    with pytest.raises(ZeroDivisionError):
        run_snippets("```python\nx = 0\n```\n\n```python\n1 / x\n```\n", "page")


def command_lines(text):
    """Return the calls of the command line in a page's shell blocks, as lists of arguments."""
    blocks = [block for language, block in BLOCK.findall(text) if language in ("", "sh")]
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("latentsimplex ")]


def parsed(arguments):
    """Raise click's UsageError unless there are such a command and such options."""
    with click.Context(main, info_name="latentsimplex") as context:
        if arguments[0] in ("--version", "--help"):
            return
        _, command, rest = main.resolve_command(context, arguments)
        command.make_parser(click.Context(command, parent=context)).parse_args(rest)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_on_pages_exist(page):
    for arguments in command_lines(page.read_text(encoding="utf-8")):
        parsed(arguments)


def test_a_wrong_command_is_noticed():
    assert command_lines("```\nlatentsimplex guess\n```\n\nlatentsimplex none\n\n```python\nx\n```\n") == [
        ["guess"]
    ]
    with pytest.raises(click.UsageError, match="No such option"):
        parsed(["fit", "data.csv", "--cluster-count", "3"])
    with pytest.raises(click.UsageError, match="No such command"):
        parsed(["guess"])


def test_the_tour_gives_the_same_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    run_snippets(text, "tour")
    (groups,) = (block for language, block in BLOCK.findall(text) if language == "text")
    Path("groups.csv").write_text(groups, encoding="utf-8")
    calls = command_lines(text)
    assert [call[0] for call in calls] == ["fit", "info"]
    for call in calls:
        result = CliRunner().invoke(main, call)
        assert result.exit_code == 0, result.output
    with open("fit/labels.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    model = latentsimplex.load("patients.model")
    assert [row["sample"] for row in rows] == list(model.sample_names_in_)
    assert [int(row["consensus"]) for row in rows] == model.labels_.tolist()
    assert Path("fit/report.html").exists()


def figures_left(value):
    """Return whether a name of a script leads to a figure."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return any(figures_left(entry) for entry in value.flat)
    return isinstance(value, Figure | Axes)


def gallery_finds(name, left):
    """Return whether an example found what its text says it did."""
    model = left["model"]
    match name:
        case "anndata_to_report":
            found = left["pd"].crosstab(left["adata"].obs["cells"], left["adata"].obs["lsp_labels"])
            return (found > 0).sum().sum() == 2 and model.n_patterns_ == 1 and model.n_clusters_[0] >= 8
        case "feature_sets":
            return model.n_patterns_ == 1 and model.n_clusters_[0] >= 9
        case "genes_as_views":
            sex, _, cells = left["found"].statistics.max(axis=0)
            return sex > 0.6 and cells > 0.99
        case "precomputed_similarities" | "reading_the_uncertainty":
            return model.view_patterns_.tolist() == [0, 0, 1] and model.n_clusters_.tolist() == [3, 2]
        case "fit_on_a_cluster":
            model = left["model"]
            return [stage.n_views for stage in model.stages_][-1] == 1500 and sorted(model.n_clusters_) == [
                1,
                2,
                3,
            ]
        case "labels_of_some_samples":
            first = set(left["doubts"]["sample"].head(4))
            kept = left["linked"].labels_
            together, apart = left["together"], left["apart"]
            return (
                len(first & set(left["wrong"])) >= 3
                and len(set(kept[together])) == 1
                and kept[apart[0]] != kept[apart[1]]
            )
        case "views_found_in_a_table":
            return (left["found"] > 0).sum().sum() == 4 and (left["agreement"].max() > 0.8).all()
        case "reproducing_the_paper":
            paper, default = (left["models"][name].n_clusters_ for name in ("paper", "default"))
            return (paper > 5).all() and default.tolist() == [3, 2]


@pytest.mark.parametrize("script", GALLERY, ids=lambda script: script.stem)
def test_gallery_scripts_draw_and_find_what_they_say(script, tmp_path, monkeypatch):
    needed = {
        "anndata_to_report": ("pandas", "anndata", "mudata"),
        "fit_on_a_cluster": ("distributed", "zarr"),
    }
    for library in needed.get(script.stem, ("pandas",)):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    left = runpy.run_path(str(script))
    assert any(figures_left(value) for value in left.values())
    assert gallery_finds(script.stem, left)
    assert not list(tmp_path.iterdir())


def test_the_landing_page_leads_to_every_example():
    linked = LINK.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    assert "../examples/gallery" in linked
    assert {script.stem for script in GALLERY} == {
        "anndata_to_report",
        "feature_sets",
        "fit_on_a_cluster",
        "genes_as_views",
        "labels_of_some_samples",
        "precomputed_similarities",
        "reading_the_uncertainty",
        "reproducing_the_paper",
        "views_found_in_a_table",
    }


def listed_pages(index):
    """Return the pages of an index's hidden table of contents."""
    text = index.read_text(encoding="utf-8")
    contents = re.search(r":hidden:\n\n(.*?)(?:```|\n\n|\Z)", text, re.DOTALL)[1]
    return [line.strip() for line in contents.splitlines() if line.strip()]


def test_the_guide_says_what_each_page_answers():
    guide = ROOT / "docs" / "guide.md"
    rows = [cells for cells in table_cells(guide.read_text(encoding="utf-8")) if cells[0].startswith("[")]
    assert [LINK.findall(page)[0] for page, _ in rows] == [f"{page}.md" for page in listed_pages(guide)]
    assert all(answers.endswith("?") for _, answers in rows)


def test_the_api_index_says_what_each_page_is_for():
    index = ROOT / "docs" / "api" / "index.rst"
    rows = re.findall(
        r"^   \* - :doc:`(\w+)`\n     - (.+\.)$", index.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [page for page, _ in rows] == listed_pages(index)
    assert {page for page, _ in rows} == {path.stem for path in index.parent.glob("*.*")} - {"index"}


def test_the_five_lines_are_shown_as_they_are():
    source = (ROOT / "examples" / "five_lines.py").read_text(encoding="utf-8")
    code = source.split('"""\n\n', 1)[1]
    assert code in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len([line for line in code.splitlines() if line]) == 5


def test_readme_is_two_screens_and_the_landing_page_has_its_beginning():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    landing = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    begins, ends = re.findall(r":(?:start-after|end-before): (<!--.*-->)", landing)
    assert "## Five lines" in text[text.index(begins) : text.index(ends)]


def test_links_of_readme_work_wherever_it_is_shown():
    text = FENCED.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    links = LINK.findall(text)
    assert all(link.startswith("https://") for link in links)
    own = [link.removeprefix(f"{REPOSITORY}/") for link in links if link.startswith(REPOSITORY)]
    assert len(own) > 10
    for link in own:
        how, branch, path = link.split("/", 2)
        target, _, anchor = path.partition("#")
        assert (how in ("blob", "raw", "tree"), branch) == (True, "main")
        assert (ROOT / target).exists(), link
        assert not anchor or anchor in anchors(ROOT / target), link


def test_the_address_of_the_repository_is_typed_in_few_places():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert all(url.startswith(REPOSITORY) for url in urls.values())
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(urls)


def test_there_is_one_unreleased_section():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(re.findall(r"^## .*unreleased", text, re.MULTILINE | re.IGNORECASE)) == 1


def test_pictures_are_drawn_and_small(tmp_path):
    runpy.run_path(str(ROOT / "examples" / "overview.py"))["draw"](tmp_path / "overview.png")
    runpy.run_path(str(ROOT / "examples" / "page_figures.py"))["draw"](tmp_path)
    drawn, kept = (sorted(folder.glob("*.png")) for folder in (tmp_path, ROOT / "docs" / "images"))
    assert [picture.name for picture in drawn] == [picture.name for picture in kept]
    for picture in (*drawn, *kept):
        content = picture.read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) < LARGEST_IMAGE


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_relative_links_lead_somewhere(page):
    broken = []
    for link in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        file = page.parent / target if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_names_in_backticks_exist(page):
    for dotted in re.findall(r"`(latentsimplex(?:\.\w+)+)`", page.read_text(encoding="utf-8")):
        found(dotted)


def found(dotted):
    """Return what a dotted name stands for, or raise ImportError or AttributeError."""
    thing = importlib.import_module("latentsimplex")
    for name in dotted.split(".")[1:]:
        is_loaded = hasattr(thing, name)
        thing = getattr(thing, name) if is_loaded else importlib.import_module(f"{thing.__name__}.{name}")
    return thing


def test_a_name_that_does_not_exist_is_noticed():
    assert inspect.isfunction(found("latentsimplex.model.em.e_step"))
    with pytest.raises((ImportError, AttributeError)):
        found("latentsimplex.model.em.no_such_step")


def equation_rows():
    """Return (equation, says, functions, tests) of the rows of docs/equations.md."""
    cells = table_cells((ROOT / "docs" / "equations.md").read_text(encoding="utf-8"))
    return [row for row in cells if len(row) == 4 and "::" in row[3]]


def test_equations_have_functions_and_tests():
    rows = equation_rows()
    text = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    assert len(rows) == len([row for row in table_cells(text) if row[2].startswith("`latentsimplex")])
    for equation in range(1, 11):
        assert any(re.search(rf"\({equation}\)", row[0]) for row in rows), f"equation ({equation}) is missing"


@pytest.mark.parametrize("row", equation_rows(), ids=lambda row: row[0])
def test_the_tests_of_an_equation_exist(row):
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row[3])
    assert len(tests) == row[3].count("::")
    for path, name in tests:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, (
            path,
            name,
        )


def test_the_table_of_rooms_is_complete():
    """Every file and folder at the top of the package, and every file of a room."""
    package = Path(latentsimplex.__file__).parent
    text = (ROOT / "docs" / "principles.md").read_text(encoding="utf-8")
    listed = {name for row in table_cells(text) for name in re.findall(r"`([\w/]+\.py|[\w]+/)`", row[0])}
    files = {str(path.relative_to(package)) for path in package.rglob("*.py")}
    ours = {name for name in files if "/__init__" not in name and name not in ("__init__.py", "_version.py")}
    rooms = {path.name + "/" for path in package.iterdir() if (path / "__init__.py").exists()}
    told = {room for room in rooms if any(name.startswith(room) for name in listed - rooms)}
    assert rooms <= listed
    assert {name for name in ours if "/" not in name or name.split("/")[0] + "/" in told} == listed - rooms


def api_names():
    """Return the dotted names that the API pages list."""
    names = []
    for page in sorted((ROOT / "docs" / "api").glob("*.rst")):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif re.fullmatch(r"   [A-Za-z_][\w.]*", line) and module:
                names.append(f"{module}.{line.strip()}")
    return names


def test_names_on_api_pages_exist():
    names = api_names()
    assert len(names) == len(set(names)) > 50
    for name in names:
        found(name)


def test_api_pages_cover_the_package():
    listed = set(api_names())
    assert {"latentsimplex.LatentSimplexPosition", "latentsimplex.load"} <= listed
    differing = {}
    for room, others in ROOMS.items():
        public = set(importlib.import_module(f"latentsimplex.{room}").__all__)
        shown = {entry.rpartition(".")[2] for entry in listed if entry.startswith(f"latentsimplex.{room}.")}
        if public - shown != set(others):
            differing[room] = sorted((public - shown) ^ set(others))
    assert not differing, "list these in docs/api, or in ROOMS"


def extension(name, monkeypatch):
    """Return a module that helps to build the site, or skip where Sphinx is not installed."""
    pytest.importorskip("sphinx")
    pytest.importorskip("sphinx_gallery")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    return importlib.import_module(name)


@pytest.mark.parametrize("name", ["figures", "mathml", "offline", "repository_links"])
def test_examples_of_the_site_extensions(name, monkeypatch):
    results = doctest.testmod(extension(name, monkeypatch))
    assert results.failed == 0
    assert results.attempted


@pytest.mark.parametrize(
    ("page", "loaded"),
    [
        ('<a href="https://example.org">text</a><img src="images/a.png">', []),
        ('<script src="https://example.org/a.js"></script>', ["https://example.org/a.js"]),
        ('<link rel="stylesheet" href="//example.org/a.css">', ["//example.org/a.css"]),
        ('<link rel="canonical" href="https://example.org/">', []),
        ('<img srcset="a.png, https://example.org/b.png 2x">', ["https://example.org/b.png"]),
    ],
)
def test_pages_that_load_something_from_elsewhere_are_noticed(page, loaded, monkeypatch):
    assert extension("offline", monkeypatch).outside_requests(page) == loaded
