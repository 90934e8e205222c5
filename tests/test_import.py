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
