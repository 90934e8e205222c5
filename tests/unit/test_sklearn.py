"""scikit-learn's own checks of an estimator: none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from latentsimplex import LatentSimplexPosition

QUICK = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "max_iter": 5, "random_state": 0}

# sparse input is documented to warn, and warnings are errors here
sparse_may_warn = pytest.mark.filterwarnings("ignore:Sparse views are made dense:UserWarning")


@sparse_may_warn
@parametrize_with_checks(
    [
        LatentSimplexPosition(**QUICK),
        LatentSimplexPosition(**QUICK, views="columns", divergence="forward", penalty=None, temperature=4.0),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@sparse_may_warn
@parametrize_with_checks([LatentSimplexPosition(), LatentSimplexPosition.paper()])
def test_scikit_learn_check_of_the_defaults(estimator, check):
    check(estimator)
