"""The picture in the design: imports point one way, files stay small, nothing is printed."""

import ast
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest

import latentsimplex

ROOT = Path(latentsimplex.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MOST_LINES = 400

AFTER_A_FIT = {
    "association",
    "audit",
    "calibration",
    "containers",
    "credible",
    "frames",
    "partitions",
    "screening",
    "table",
    "theory",
    "uncertainty",
}
SHOWN = {"plots", "report", "experiments", "cli", "io"}
RESULTS_AND_ABOVE = {"estimator", *SHOWN, *AFTER_A_FIT}
SEARCH = {"search", "starts", "moves", "regroup"}
HARD_CLUSTERS = {"profiles", "structure"}
CHOOSING = {"reference", "choice"}
SETTING_UP = {"engines", "options", "progress", "plan", *CHOOSING}
FITTING = {"em", "engines", "plan", "descent", *HARD_CLUSTERS, *CHOOSING, *SEARCH}
MODEL = {"compute", "similarity", "divergence", "objective", "views", "kmeans"}
"""What has mathematics of its own and no EM."""

FORBIDDEN = {
    "_arrays": {*MODEL, *FITTING, *SETTING_UP, *RESULTS_AND_ABOVE},
    "descent": {*MODEL, *FITTING, *SETTING_UP, *RESULTS_AND_ABOVE} - {"descent"},
    "compute": {
        "em",
        "objective",
        "similarity",
        "views",
        *HARD_CLUSTERS,
        *SEARCH,
        *SETTING_UP,
        *RESULTS_AND_ABOVE,
    },
    "kmeans": {
        "em",
        "objective",
        "similarity",
        "views",
        *HARD_CLUSTERS,
        *SEARCH,
        *SETTING_UP,
        *RESULTS_AND_ABOVE,
    },
    "similarity": {"em", "objective", *HARD_CLUSTERS, *SEARCH, *SETTING_UP, *RESULTS_AND_ABOVE},
    "divergence": {"compute", "em", *HARD_CLUSTERS, *SEARCH, *SETTING_UP, *RESULTS_AND_ABOVE},
    "objective": {"em", *HARD_CLUSTERS, *SEARCH, *SETTING_UP, *RESULTS_AND_ABOVE},
    "profiles": {"em", "structure", "similarity", "views", *SEARCH, *SETTING_UP, *RESULTS_AND_ABOVE},
    "structure": {"em", "similarity", "views", *SEARCH, *SETTING_UP, *RESULTS_AND_ABOVE},
    "reference": {"em", "structure", "views", *SEARCH, *SETTING_UP, *RESULTS_AND_ABOVE} - {"reference"},
    "choice": {"em", "structure", *SEARCH, *SETTING_UP, *RESULTS_AND_ABOVE} - CHOOSING,
    "views": {"em", "engines", *HARD_CLUSTERS, *CHOOSING, *SEARCH, *RESULTS_AND_ABOVE},
    "engines": {"em", "options", "progress", "plan", *CHOOSING, *SEARCH, *RESULTS_AND_ABOVE},
    "em": {"similarity", "views", *HARD_CLUSTERS, *SEARCH, *SETTING_UP, *RESULTS_AND_ABOVE},
    "starts": {"search", "moves", "regroup", "similarity", "views", *SETTING_UP, *RESULTS_AND_ABOVE},
    "moves": {"search", "starts", "regroup", "similarity", "views", *SETTING_UP, *RESULTS_AND_ABOVE},
    "regroup": {"search", "similarity", "views", *SETTING_UP, *RESULTS_AND_ABOVE},
    "search": {"similarity", "views", *SETTING_UP, *RESULTS_AND_ABOVE},
    "options": {"engines", "progress", "plan", "similarity", "views", *SEARCH, *CHOOSING, *RESULTS_AND_ABOVE},
    "plan": {"progress", *RESULTS_AND_ABOVE},
    "labels": {"em", "engines", *SEARCH, *RESULTS_AND_ABOVE},
    "consensus": {"em", "engines", *SEARCH, *RESULTS_AND_ABOVE},
    "coassignment": {"em", "engines", *SEARCH, *RESULTS_AND_ABOVE},
    "estimates": {"engines", *SEARCH, *RESULTS_AND_ABOVE},
    "estimator": {"experiments", "plots", "cli"},
    "plots": {"em", "engines", "compute", "experiments", "report", "cli", *SEARCH},
    "report": {"em", "engines", "compute", "experiments", "cli", *SEARCH},
    "datasets": {"em", "engines", *SEARCH, *RESULTS_AND_ABOVE},
    "table": {*MODEL, *FITTING, *SETTING_UP, *RESULTS_AND_ABOVE} - {"table"},
    "partitions": {*FITTING, *SHOWN, "estimator"},
    "credible": {*FITTING, *SHOWN, "estimator"},
    "theory": {*FITTING, *SHOWN, "estimator"},
    "frames": {*FITTING, *SHOWN},
    "containers": {*FITTING, *SHOWN},
    "calibration": {*FITTING, *SHOWN},
    "screening": {*FITTING, *SHOWN},
    "association": {*FITTING, *SHOWN},
    "audit": {*FITTING, *SHOWN},
    "uncertainty": {*FITTING, *SHOWN},
}
"""What each part must not import, whatever the depth of the file."""


def module_name(path):
    parts = ("latentsimplex", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part(name):
    """Return the part of the package a module belongs to, or None outside it."""
    pieces = name.split(".")
    return pieces[1] if pieces[0] == "latentsimplex" and len(pieces) > 1 else None


def imported_names(path, at_import_time=False):
    """Return the full names that a file imports, at its top or, unless told otherwise, inside its functions."""
    package = module_name(path) if path.stem == "__init__" else module_name(path).rpartition(".")[0]
    tree = ast.parse(path.read_text())
    names = set()
    for node in outside_functions(tree) if at_import_time else ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (
                resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
            )
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return names


def outside_functions(node):
    """Yield the nodes that run when a file is imported; what only a type checker reads does not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child
        yield from outside_functions(child)


def imported_parts(path):
    """Return the parts of the package that a file imports."""
    return {part(name) for name in imported_names(path)} - {None}


def file_id(path):
    return str(path.relative_to(ROOT))


def test_there_is_something_to_check():
    assert {"em.py", "search.py", "estimator.py", "objective.py"} <= {file_id(path) for path in FILES}
    assert {"em", "moves", "starts"} <= imported_parts(ROOT / "search.py")
    assert {"choice", "search", "engines"} <= imported_parts(ROOT / "plan.py")
    assert set(FORBIDDEN) <= {file_id(path).split("/")[0].removesuffix(".py") for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=file_id)
def test_imports_point_one_way(path):
    own = part(module_name(path))
    wrong = imported_parts(path) & FORBIDDEN.get(own, set())
    assert not wrong, f"{file_id(path)} imports {sorted(wrong)}"


def test_no_import_cycle_between_parts():
    uses = {}
    for path in FILES:
        if own := part(module_name(path)):
            uses.setdefault(own, set()).update(imported_parts(path) - {own})
    # these are called from the estimator's methods and read what it holds
    uses["estimator"] -= {"io", "report", "frames"}
    while uses:
        leaves = [name for name, below in uses.items() if not below & uses.keys()]
        assert leaves, f"a cycle among {sorted(uses)}"
        for name in leaves:
            del uses[name]


@pytest.mark.parametrize("path", FILES, ids=file_id)
def test_files_stay_small(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", FILES, ids=file_id)
def test_nothing_is_printed(path):
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    printing = [node.lineno for node in calls if isinstance(node.func, ast.Name) and node.func.id == "print"]
    assert not printing, f"print on lines {printing}"


OPTIONAL = {"torch", "triton", "pandas", "polars", "xarray", "anndata"}
ON_A_DEVICE = {"compute/torch.py": {"torch"}, "compute/cards.py": {"torch", "triton"}}
"""The files that need optional libraries to be imported, and are imported by functions alone."""


def test_optional_libraries_are_imported_inside_functions_alone():
    """scikit-learn may bring pandas along, so what matters is what our own files ask for."""
    found = {
        (file_id(path), name.split(".")[0])
        for path in FILES
        for name in imported_names(path, at_import_time=True)
        if name.split(".")[0] in OPTIONAL
    }
    assert found <= {(path, library) for path, libraries in ON_A_DEVICE.items() for library in libraries}
    names = {module_name(ROOT / path) for path in ON_A_DEVICE}
    importers = [file_id(path) for path in FILES if names & set(imported_names(path, at_import_time=True))]
    assert importers == []


def test_what_counts_as_import_time(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    path = tmp_path / "some.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "import one\n"
        "try:\n    import two\nexcept ImportError:\n    pass\n"
        "class A:\n    import three\n    def f(self):\n        import four\n"
        "if TYPE_CHECKING:\n    import five\n"
    )
    assert imported_names(path, at_import_time=True) == {"typing.TYPE_CHECKING", "one", "two", "three"}
    assert imported_names(path) == {"typing.TYPE_CHECKING", "one", "two", "three", "four", "five"}


def test_the_package_fits_where_optional_libraries_are_missing():
    code = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("torch", "pandas", "polars", "xarray", "anndata"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
import latentsimplex
model = latentsimplex.LatentSimplexPosition(2, 1, n_init=1, max_iter=2, random_state=0)
print(len(model.fit([[0.0], [0.1], [5.0], [5.2]]).labels_))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("4", 0), done.stderr


@pytest.mark.parametrize("library", ["torch", "xarray", "anndata", "numba", "matplotlib"])
def test_importing_the_package_does_not_import(library):
    """Compiled loops and figures are for those who ask for them: an import must be quick."""
    code = f"import sys, latentsimplex; sys.exit('{library}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_fit_on_the_processor_does_not_import_torch():
    code = """
import sys, latentsimplex
latentsimplex.LatentSimplexPosition(2, 1, n_init=1, max_iter=2, random_state=0).fit([[0.0], [0.1], [5.0], [5.2]])
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
