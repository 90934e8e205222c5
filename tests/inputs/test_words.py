"""Tables of words: which they are, and samples without words, which fits, files and predictions know as absent."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from latentsimplex import LatentSimplexPosition, load
from latentsimplex.inputs.views import as_views
from latentsimplex.inputs.words import holds_words, keep_present, leave_out_wordless


def texts(seed, topics, n_words=40):
    """Return counts of words of texts that each have one topic."""
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(n_words, 0.1), size=topics.max() + 1)
    return np.array([rng.multinomial(30, words[k]) for k in topics]).astype(float)


TOPICS = np.arange(160) % 3


def test_words_are_many_features_of_mostly_zeros_and_none_below():
    words = texts(0, TOPICS)
    assert holds_words(words)
    assert not holds_words(words - 1)
    assert not holds_words(words[:, :10])
    assert not holds_words(words + 1)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_samples_without_a_word_are_absent(form):
    words = texts(0, TOPICS)
    words[:5] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sparse views become dense
        views = leave_out_wordless(as_views([form(words), np.arange(160.0)[:, None]]))
    assert (~views.present).sum(axis=1).tolist() == [5, 0]
    assert views[0].shape == (155, 40)
    assert leave_out_wordless(views).present is views.present


def test_nothing_is_left_out_where_few_have_words_or_cells_are_not_known():
    words = texts(0, TOPICS)
    words[:100] = 0
    assert leave_out_wordless(as_views([words])).present is None
    words = texts(0, TOPICS)
    words[:5] = 0
    words[0, 0] = np.nan
    assert leave_out_wordless(as_views([words], missing="pairwise")).present is None
    assert keep_present(as_views([words], missing="pairwise"), None).present is None


@pytest.mark.filterwarnings("ignore:Sparse views")
@pytest.mark.parametrize("views", [1, 2])
def test_a_fit_with_samples_without_words_is_saved_loaded_and_predicts_the_same(views, tmp_path):
    data = [texts(seed, TOPICS) for seed in range(views)]
    for X in data:
        X[:4] = 0
    model = LatentSimplexPosition(random_state=0).fit(data)
    assert model.present_.sum(axis=1).tolist() == [156] * views
    np.testing.assert_allclose(model.memberships_[0][:4].std(axis=0), 0, atol=1e-12)  # the shares of clusters
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(data), model.predict(data))
    assert (model.predict(data) == model.labels_).mean() > 0.97
    assert np.isfinite(again.predict_memberships(data)).all()


def test_words_beside_numbers_of_the_same_width_are_no_shares_of_negative_numbers():
    words = texts(0, TOPICS)
    numbers = np.random.default_rng(1).normal(size=(160, 40)) + 4 * np.eye(3, 40)[TOPICS]
    for data in ([numbers, words], [words, numbers]):
        assert LatentSimplexPosition(random_state=0).fit(data).n_clusters_.max() > 1
