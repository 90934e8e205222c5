"""A model file with another value somewhere is refused in one sentence, or its model is usable everywhere."""

from itertools import chain

import numpy as np
import pytest

pytest.importorskip("resource", reason="the bent files are made by a module that limits memory")

from hostile_models import bent_headers, bent_values, good_models
from latentsimplex import load
from latentsimplex.options import check_settings
from latentsimplex.report import describe, summarise
from latentsimplex.report.page import render
from latentsimplex.results.tables import labels_table, memberships_table, view_labels_table, views_table
from latentsimplex.uncertainty import model_uncertainty


def use_everywhere(model):
    """Ask a model for all that people ask one for."""
    results = model.results_
    assert np.array_equal(np.unique(model.labels_), np.arange(model.consensus_.n_clusters))
    parts = [
        model.coassignment(),
        *(model.coassignment(pattern=l) for l in range(model.n_patterns_)),
        *(model.coassignment(view=v) for v in range(len(model.view_names_in_))),
    ]
    for P in parts:
        dense = P.toarray()
        assert ((dense >= 0) & (dense <= 1 + 1e-6)).all()
    model.consensus()
    if results.references is not None:
        new = [np.full((2, own.n_columns), 0.5) for own in results.references.given]
        W = model.predict_memberships(new)
        assert np.abs(W.sum(axis=1) - 1).max() < 1e-6
        assert model.predict(new).max() < model.consensus_.n_clusters
    for table in (labels_table, view_labels_table, memberships_table, views_table, model_uncertainty):
        assert len(table(results)) in (model.n_samples_, len(model.view_names_in_))
    assert describe(summarise(model))
    assert render(model).startswith("<!")
    check_settings(model.get_params(deep=False))


def load_or_refuse(path):
    try:
        return load(path), ""
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("which", [0, 1, 2], ids=["plain", "named", "placing"])
def test_a_bent_model_is_refused_or_usable(which, tmp_path):
    content = good_models(tmp_path)[which]
    rng = np.random.default_rng(which)
    files = list(chain(bent_headers(content, rng), bent_values(content, rng)))
    path, found = tmp_path / "bent", {"refused": 0, "usable": 0}
    for k in rng.permutation(len(files))[:150]:
        path.write_bytes(files[k])
        model, refusal = load_or_refuse(path)
        if model is None:
            assert refusal.startswith(repr(str(path)))
            assert refusal.isprintable()
            found["refused"] += 1
        else:
            use_everywhere(model)
            found["usable"] += 1
    assert min(found.values()) > 10
