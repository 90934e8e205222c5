"""Numbers and names as a reader wants them, and warnings that name the reader's own line."""

import inspect
import re
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import latentsimplex
from latentsimplex import LatentSimplexPosition, load
from latentsimplex.base.wording import SHOWN_LETTERS, count_noun, shorten_middle, show_value, warn_user
from latentsimplex.files.data_files import read_data
from latentsimplex.placing.references import References
from latentsimplex.results import save_load
from latentsimplex.resuming import FINISHED


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0 views"), (1, "1 view"), (2, "2 views"), (999, "999 views"), (1000, "1,000 views")],
)
def test_a_number_with_its_noun(number, expected):
    assert count_noun(number, "view") == expected


@pytest.mark.parametrize("most", range(1, 12))
def test_a_short_name_is_as_long_as_it_may_be_and_keeps_both_ends(most):
    text = "abcdefghijkl"
    short = shorten_middle(text, most)
    assert len(short) == most
    start, _, end = short.partition("…")
    assert text.startswith(start)
    assert text.endswith(end)
    assert len(start) - len(end) in (0, 1)


@pytest.mark.parametrize("text", ["", "a", "abcdefghijkl"])
def test_a_name_that_is_short_enough_stays(text):
    assert shorten_middle(text, 12) == text


def test_no_space_is_left_beside_what_was_left_out():
    assert shorten_middle("many words in a row", 12) == "many w…a row"
    assert shorten_middle("a few words in a row", 12) == "a few…a row"


def test_values_are_shown_on_one_line_and_not_at_length():
    assert show_value("a") == "'a'"
    assert show_value(np.eye(2)) == "array([[1., 0.], [0., 1.]])"
    assert len(show_value(list(range(1000)))) == SHOWN_LETTERS


def test_a_warning_names_the_outermost_line_that_called_the_package():
    own = {"__name__": "latentsimplex.some.room", "warn_user": warn_user, "contextmanager": contextmanager}
    exec("@contextmanager\ndef entered():\n    warn_user('This.')\n    yield\n", own)
    exec("def fit():\n    with entered():\n        pass\n", own)
    with pytest.warns(UserWarning, match=r"^This\.$") as caught:
        own["fit"]()
    assert [warning.filename for warning in caught] == [__file__]
    lines, first = inspect.getsourcelines(test_a_warning_names_the_outermost_line_that_called_the_package)
    assert 'own["fit"]()' in lines[caught[0].lineno - first]


def test_warnings_are_given_by_one_function_alone():
    root = Path(latentsimplex.__file__).parent
    calls = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if re.search(r"warnings\.warn|stacklevel", path.read_text())
    }
    assert calls == {"base/wording.py"}


VIEWS = [np.random.default_rng(seed).normal(size=(24, 2)) for seed in (0, 1)]
IDS = pd.DataFrame({"patient_id": range(1, 25), "x": VIEWS[0][:, 0], "y": VIEWS[0][:, 1]})
QUICK = {"n_init": 1, "max_iter": 2, "random_state": 0}


def fit(data, **settings):
    return LatentSimplexPosition.paper(2, 2, **QUICK, **settings).fit(data)


WARNED = {
    "fit": lambda folder: fit([sparse.csr_array(view) for view in VIEWS]),
    "fit of a frame": lambda folder: fit(IDS),
    "fit of columns": lambda folder: fit(IDS, views="columns"),
    "fit of groups of columns": lambda folder: fit(IDS, views=["one", "one", "two"]),
    "fit of a constant view": lambda folder: fit([*VIEWS, np.ones((24, 1))]),
    "fit that is made anew": lambda folder: fit_again(folder),
    "fit of all labels": lambda folder: LatentSimplexPosition(**QUICK).fit(VIEWS, [0, 1] * 12),
    "assign_views": lambda folder: LatentSimplexPosition(**QUICK).fit(VIEWS).assign_views([IDS]),
    "predict": lambda folder: LatentSimplexPosition(**QUICK).fit(VIEWS).predict(VIEWS),
    "load": lambda folder: load(saved(folder)),
    "read_data": lambda folder: read_data([written(folder)]),
}
"""What warns, or is made to."""


def fit_again(folder):
    fit(VIEWS, checkpoint=folder)
    (folder / FINISHED).write_bytes(b"damaged")
    return fit(VIEWS, checkpoint=folder)


def saved(folder):
    fit(VIEWS).save(folder / "fit.model")
    return folder / "fit.model"


def written(folder):
    (folder / "some.csv").write_text("7,x\n1,1.5\n2,2.5\n")
    return folder / "some.csv"


@pytest.mark.usefixtures("deep_warnings")
@pytest.mark.parametrize("name", WARNED)
def test_warnings_name_the_line_of_the_user(name, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WARNED[name](tmp_path)
    assert caught
    assert {warning.filename for warning in caught} == {__file__}


@pytest.fixture
def deep_warnings(monkeypatch):
    """Neither predict nor load has anything to warn of today."""

    def warned(function):
        def run(*args, **settings):
            warn_user("Something deep inside.")
            return function(*args, **settings)

        return run

    monkeypatch.setattr(References, "place_chunk", warned(References.place_chunk))
    monkeypatch.setattr(save_load, "_restore", warned(save_load._restore))
