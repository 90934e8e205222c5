"""A summary in a few lines for a terminal."""

import numpy as np

from latentsimplex.report import describe, summarise
from made_model import random_model
from report.reading import with_results


def test_a_description_for_the_terminal(model):
    found = with_results(model, start_agreement=np.array([1.0, 0.95, 0.45]))
    lines = describe(summarise(found)).splitlines()
    assert lines[0] == "4 samples in 5 views, 3 patterns"
    assert lines[1].startswith("pattern 0: 3 views, weight 0.60, 2 clusters, mean probability")
    assert lines[3] == "pattern 2: 1 view, weight 0.20, 1 cluster"
    assert lines[-2] == "consensus: 3 clusters from 4 views, 1 view excluded"
    course, stability = lines[-1].split("; ")
    assert course == "EM converged after 2 iterations, loss 15"
    assert stability == "1 of 2 other starts clustered alike, mean NMI 0.70"


def test_a_fit_that_did_not_converge_says_so(model):
    found = with_results(model, converged=False)
    assert "EM did not converge in 2 iterations" in describe(summarise(found))


def test_of_many_patterns_the_heaviest_are_described():
    lines = describe(summarise(random_model(10, 23, 2))).splitlines()
    assert [line.split(":")[0] for line in lines[1:21]] == [f"pattern {l}" for l in range(20)]
    assert lines[21] == "and 3 lighter patterns"
