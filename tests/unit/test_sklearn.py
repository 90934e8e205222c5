"""scikit-learn's own checks of an estimator: none is expected to fail."""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from latentsimplex import LatentSimplexPosition

QUICK = {"n_clusters": 3, "n_patterns": 2, "n_init": 1, "max_iter": 5, "random_state": 0}
DEFAULT = LatentSimplexPosition(**{**QUICK, "n_clusters": 2})

# sparse input is documented to warn, and warnings are errors here
sparse_may_warn = pytest.mark.filterwarnings("ignore:Sparse views are made dense:UserWarning")


def name_of(check):
    return getattr(check, "func", check).__name__


@sparse_may_warn
@parametrize_with_checks(
    [
        LatentSimplexPosition.paper(**QUICK),
        LatentSimplexPosition(**QUICK, views="columns", similarity="local-scaling", temperature=0.5),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# the checks of sparse input fit a dozen times, and what the data choose takes its time
@pytest.mark.usefixtures("one_cloud")
@pytest.mark.parametrize(
    "check",
    [check for _, check in estimator_checks_generator(DEFAULT) if "sparse" not in name_of(check)],
    ids=name_of,
)
def test_scikit_learn_check_of_what_the_data_choose(check):
    check(DEFAULT)


@pytest.mark.slow
@sparse_may_warn
@parametrize_with_checks([LatentSimplexPosition(), LatentSimplexPosition.paper()])
def test_scikit_learn_check_of_the_defaults(estimator, check):
    check(estimator)
