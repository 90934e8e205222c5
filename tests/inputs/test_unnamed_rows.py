"""Names of samples that are in a column and not in the index are noticed before rows are matched by position."""

import warnings

import numpy as np
import pandas as pd
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.inputs import with_samples
from latentsimplex.inputs.unnamed_rows import find_id_columns
from latentsimplex.inputs.views import as_views

IDS = [5, 3, 9, 4]


def make_frame(library, ids=IDS, **columns):
    return library.DataFrame({"patient_id": ids, "size": [1.0, 2.0, 3.0, 4.0], **columns})


@pytest.fixture(params=["pandas", "polars"])
def library(request):
    return pytest.importorskip(request.param)


def test_ids_in_another_order_are_refused(library):
    views = {"blood": make_frame(library), "urine": make_frame(library, IDS[::-1])}
    message = (
        r"views\['urine'\] has its rows in another order than views\['blood'\], or other samples, by their columns "
        r"'patient_id', .*set_index\('patient_id'\).*with_samples.*or drop it\."
    )
    with pytest.raises(ValueError, match=message):
        as_views(views)


def test_ids_in_one_order_are_warned_about_once(library):
    with pytest.warns(
        UserWarning, match=r"The column 'patient_id' of views\[0\] has a different value"
    ) as told:
        as_views([make_frame(library), make_frame(library)])
    assert len(told) == 1
    with pytest.warns(UserWarning, match=r"'patient_id' of X .* was taken as a feature: make it the index"):
        as_views(make_frame(library), "columns")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"patient_id": [1, 1, 2, 2], "x": range(4)}),
        pd.DataFrame({"id": [0.5, 1.5, 2.5, 3.0], "x": range(4)}),
        pd.DataFrame({"acid": IDS, "x": range(4)}),
        pd.DataFrame({"id": IDS, "x": range(4)}).set_index("id"),
        pd.DataFrame({"id": IDS, "x": range(4)}, index=list("abcd")),
        np.arange(8.0).reshape(4, 2),
    ],
    ids=["repeated", "fractions", "another word", "index", "beside an index", "array"],
)
def test_other_columns_are_features(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_views([frame, frame])


def test_ids_of_several_names_are_found():
    frame = pd.DataFrame({"Unnamed: 0": [0, 1], "sampleID": ["b", "a"], "x": [1, 2]})
    assert find_id_columns(frame) == {"Unnamed: 0": [0, 1], "sampleID": ["b", "a"]}


def test_what_the_sentence_says_works(library):
    """The same clusters in views whose rows are in other orders are one pattern once rows have names."""
    rng, truth = np.random.default_rng(0), np.arange(30) % 2
    order = rng.permutation(30)
    numbers = {f"x{j}": rng.normal(size=30) + 9 * truth for j in range(2)}
    one = library.DataFrame({"id": range(100, 130), **numbers})
    two = library.DataFrame({"id": np.arange(100, 130)[order], **{k: x[order] for k, x in numbers.items()}})
    named = [
        frame.set_index("id") if hasattr(frame, "set_index") else with_samples(frame, "id")
        for frame in (one, two)
    ]
    model = LatentSimplexPosition(n_init=1, random_state=0).fit(named)
    assert model.n_patterns_ == 1
    assert ((model.labels_[:, None] == model.labels_) == (truth[:, None] == truth)).all()
