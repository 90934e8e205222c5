"""``import latentsimplex`` brings little more than scikit-learn does."""

import subprocess
import sys

import pytest

OWN = {"latentsimplex", "numpy", "scipy", "sklearn", "threadpoolctl"}
OPTIONAL = ["anndata", "mudata", "polars", "torch", "xarray"]
LATER = ["click", "jinja2", "matplotlib", "numba", "tqdm"]


def modules_after(code):
    """The top-level modules that are there once the code has run."""
    shown = f"{code}\nimport sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


FIT = """
from latentsimplex import LatentSimplexPosition
from latentsimplex.datasets import running_example
LatentSimplexPosition(3, 3, random_state=0).fit(running_example(150, 6, random_state=0).views)
import sys
for module in [module for name, module in sys.modules.items() if name.startswith("latentsimplex")]:
    print(*(name for name, loop in vars(module).items() if getattr(loop, "signatures", None)))
"""
COMPILED_AT_FIRST = {
    "add_gradient",
    "best_kmeans",
    "count_crossed",
    "fit_one_hump",
    "join_rows",
    "write_pair_values",
    "write_terms",
}


def test_a_first_small_fit_compiles_few_loops():
    """Others take seconds to compile, and a small fit does without them."""
    done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == COMPILED_AT_FIRST


@pytest.fixture(scope="module")
def brought():
    """What the package imports beyond Python's own modules and what scikit-learn had imported already."""
    before = modules_after("import sklearn.base, sklearn.metrics")
    return modules_after("import latentsimplex") - before - set(sys.stdlib_module_names)


def test_nothing_is_brought_that_is_not_needed(brought):
    assert "latentsimplex" in brought
    assert {name for name in brought if not name.startswith("_")} <= OWN


@pytest.mark.parametrize("name", OPTIONAL + LATER)
def test_what_is_optional_or_slow_waits_until_it_is_asked_for(brought, name):
    assert name not in brought
