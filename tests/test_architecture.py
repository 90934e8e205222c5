"""The house: rooms in order, small files, quick imports, nothing printed."""

import ast
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest

import latentsimplex

ROOT = Path(latentsimplex.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

ROOMS = [
    "base",
    "checkpoints",
    "inputs",
    "files",
    "similarity",
    "neighbours",
    "pairs",
    "model",
    "auto",
    "columns",
    "known",
    "placing",
    "search",
    "results",
    "uncertainty",
    "analysis",
    "datasets",
    "plots",
    "report",
    "options",
    "progress",
    "fitting",
    "split_stages",
    "stages",
    "engines",
    "resuming",
    "prediction",
    "outputs",
    "estimator",
    "experiments",
    "cli",
]
"""Rooms, and the files at the top of the package, in order: each imports only from those before it, and from itself."""
EVERYWHERE = {"_version"}
"""What any file may import."""
MOST_LINES, MOST_FILES, MOST_AT_TOP = 400, 17, 12


def module_name(path):
    parts = ("latentsimplex", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(name):
    """Return the room, or the file at the top, that a module of the package belongs to; None outside it."""
    pieces = name.split(".")
    return pieces[1] if pieces[0] == "latentsimplex" and len(pieces) > 1 else None


def imports(path, at_import_time=False):
    """Return (module, name) of all that a file imports, at its top or, unless told otherwise, in its functions too."""
    package = module_name(path) if path.stem == "__init__" else module_name(path).rpartition(".")[0]
    tree = ast.parse(path.read_text())
    found = set()
    for node in outside_functions(tree) if at_import_time else ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (
                resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
            )
            found.update((base, alias.name) for alias in node.names)
    return found


def outside_functions(node):
    """Yield the nodes that run when a file is imported; what only a type checker reads does not."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child
        yield from outside_functions(child)


def imported_modules(path):
    """Return the modules of the package that a file imports, anywhere in it."""
    names = {module_name(file) for file in FILES}
    wanted = {f"{module}.{name}" if f"{module}.{name}" in names else module for module, name in imports(path)}
    return (wanted & names) - {module_name(path)}


def file_id(path):
    return str(path.relative_to(ROOT))


def test_every_part_of_the_package_has_its_place():
    parts = {room_of(module_name(path)) for path in FILES} - {None, "__main__"} - EVERYWHERE
    assert parts == set(ROOMS)


@pytest.mark.parametrize("path", FILES, ids=file_id)
def test_rooms_import_from_rooms_before_them(path):
    own = room_of(module_name(path))
    if own is None or own == "__main__":
        return  # the package itself and its command, which come after all
    allowed = {*ROOMS[: ROOMS.index(own) + 1], *EVERYWHERE} if own in ROOMS else EVERYWHERE
    wrong = {name for name in imported_modules(path) if room_of(name) not in allowed}
    assert not wrong, f"{file_id(path)} imports {sorted(wrong)}"


def test_no_import_closes_a_circle():
    """Imports inside functions count: they may be late to be quick, not to hide a circle."""
    uses = {module_name(path): imported_modules(path) for path in FILES}
    while uses:
        leaves = [name for name, below in uses.items() if not below & uses.keys()]
        assert leaves, f"a circle among {sorted(uses)}"
        for name in leaves:
            del uses[name]


@pytest.mark.parametrize("path", FILES, ids=file_id)
def test_private_names_stay_in_their_file(path):
    """Names with an underscore are imported by nobody; files with one, which hold loops, by their own room."""
    modules = {module_name(file) for file in FILES}
    for module, name in imports(path):
        if not module.startswith("latentsimplex."):
            continue
        module, name = (f"{module}.{name}", None) if f"{module}.{name}" in modules else (module, name)
        assert name is None or not name.startswith("_") or name == "__version__", (module, name)
        if any(piece.startswith("_") for piece in module.split(".")[2:]):
            assert room_of(module) == room_of(module_name(path)), module


def test_the_top_of_the_package_is_small():
    assert len([path for path in FILES if path.parent == ROOT]) <= MOST_AT_TOP


@pytest.mark.parametrize("room", [room for room in ROOMS if (ROOT / room).is_dir()])
def test_rooms_stay_small(room):
    assert len(list((ROOT / room).glob("*.py"))) - 1 <= MOST_FILES


@pytest.mark.parametrize("path", FILES, ids=file_id)
def test_files_stay_small(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_tests_mirror_the_rooms():
    """Every folder of tests is a room, or one of the few that look at all of them."""
    here = Path(__file__).parent
    folders = {path.name for path in here.iterdir() if path.is_dir() and not path.name.startswith(("_", "."))}
    assert folders - {"browser", "golden", "property", "reference"} <= set(ROOMS)
    assert {room for room in ROOMS if (ROOT / room).is_dir()} <= folders


@pytest.mark.parametrize("path", FILES, ids=file_id)
def test_nothing_is_printed(path):
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    printing = [node.lineno for node in calls if isinstance(node.func, ast.Name) and node.func.id == "print"]
    assert not printing, f"print on lines {printing}"


OPTIONAL = {
    "torch",
    "triton",
    "pandas",
    "polars",
    "xarray",
    "anndata",
    "dask",
    "distributed",
    "zarr",
    "pyarrow",
}
ON_A_DEVICE = {
    "model/torch_backend.py": {"torch"},
    "neighbours/torch_cells.py": {"torch"},
    "neighbours/torch_graphs.py": {"torch"},
    "pairs/_triton_values.py": {"torch", "triton"},
    "similarity/_triton_walks.py": {"torch", "triton"},
}
"""The files that need optional libraries to be imported, and are imported by functions alone."""


def test_optional_libraries_are_imported_inside_functions_alone():
    """scikit-learn may bring pandas along, so what matters is what our own files ask for."""
    found = {
        (file_id(path), module.split(".")[0])
        for path in FILES
        for module, _ in imports(path, at_import_time=True)
        if module.split(".")[0] in OPTIONAL
    }
    assert found == {(path, library) for path, libraries in ON_A_DEVICE.items() for library in libraries}
    names = {module_name(ROOT / path) for path in ON_A_DEVICE}
    importers = [
        file_id(path)
        for path in FILES
        if names & {module for module, _ in imports(path, at_import_time=True)}
    ]
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
    at_once = {("typing", "TYPE_CHECKING"), ("one", None), ("two", None), ("three", None)}
    assert imports(path, at_import_time=True) == at_once
    assert imports(path) == at_once | {("four", None), ("five", None)}


def test_the_package_fits_where_optional_libraries_are_missing():
    code = """
import sys
class Missing:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("torch", "pandas", "polars", "xarray", "anndata", "dask", "distributed", "zarr"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
import latentsimplex
model = latentsimplex.LatentSimplexPosition(2, 1, n_init=1, max_iter=2, random_state=0)
print(len(model.fit([[0.0], [0.1], [5.0], [5.2]]).labels_))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("4", 0), done.stderr


@pytest.mark.parametrize("library", ["torch", "xarray", "anndata", "numba", "matplotlib", "distributed"])
def test_importing_the_package_does_not_import(library):
    """Compiled loops and figures are for those who ask for them: an import must be quick."""
    code = f"import sys, latentsimplex.estimator; sys.exit('{library}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_fit_on_the_processor_does_not_import_torch():
    code = """
import sys, latentsimplex
latentsimplex.LatentSimplexPosition(2, 1, n_init=1, max_iter=2, random_state=0).fit([[0.0], [0.1], [5.0], [5.2]])
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
