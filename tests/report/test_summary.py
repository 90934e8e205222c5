"""The summary of a fit: numbers and text, by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest

from latentsimplex.auto.cluster_tree import Level
from latentsimplex.report import describe, summarise
from latentsimplex.report.page import render
from made_model import made_model
from report.reading import ONE, SURE, Elements, page_of, with_results


def test_headline_counts_only_views_with_clusters(model):
    headline = summarise(model)["headline"]
    sure, three = (0.9 + 0.7 + 0.8 + 0.95) / 4, (0.5 + 1 + 1 + 1) / 4
    assert headline["probability"] == pytest.approx((3 * sure + three) / 4)
    assert headline["unsure"] == pytest.approx((3 * 1 / 4 + 1 / 4) / 4)
    assert (headline["n_samples"], headline["n_views"], headline["n_views_clustered"]) == (4, 5, 4)
    assert headline["n_clusters"] == [2, 3, 1]


def test_labels_that_are_not_the_largest_membership_are_explained(model):
    assert summarise(model)["headline"]["n_not_largest"] == 0
    assert "near a border" not in render(model)
    labels = model.pattern_labels_.copy()
    labels[1, 0] = 1  # with 0.4 beside 0.5
    one = with_results(model, pattern_labels=labels)
    assert summarise(one)["headline"]["n_not_largest"] == 1
    assert "1 sample near a border is assigned to a cluster that is not the most probable one" in render(one)
    labels[0, 1:3] = labels[0, 2:0:-1]
    three = with_results(model, pattern_labels=labels)
    assert "3 samples near a border are assigned to a cluster" in render(three)


def test_the_kept_start_has_no_say_in_how_stable_a_fit_is(model):
    losses, agreement = np.array([16.0, 15.0, 15.01]), np.array([0.45, 1.0, 0.95])
    summary = summarise(with_results(model, start_losses=losses, start_agreement=agreement))
    assert summary["headline"]["start_agreement"] == pytest.approx(0.7)
    assert (summary["headline"]["n_alike"], summary["headline"]["n_starts"]) == (1, 3)
    assert [start["kept"] for start in summary["course"]["starts"]] == [False, True, False]


def test_patterns_their_clusters_and_their_views(model):
    eta = np.array([[0.96, 0.04, 0], [0.9, 0.1, 0], [0.7, 0.3, 0], [0, 1, 0], [0, 0, 1]])
    first, second, third = summarise(with_results(model, view_responsibilities=eta))["patterns"]
    assert (first["n_views"], first["n_clusters"], first["weight"]) == (3, 2, pytest.approx(0.6))
    assert (first["n_views_sure"], first["n_views_unsure"], first["top_views"]) == (1, 1, ["a", "b", "c"])
    assert [cluster["size"] for cluster in first["clusters"]] == [2, 2]
    assert first["clusters"][0]["probability"] == pytest.approx(0.8)
    assert first["clusters"][0]["unsure"] == pytest.approx(0.5)
    assert second["probability"] == pytest.approx(0.875)
    assert (third["n_clusters"], third["probability"]) == (1, 1.0)


def test_views_with_their_pattern_and_the_next_one(model):
    model.view_responsibilities_[0] = [0.6, 0.1, 0.3]
    assert summarise(model)["views"]["rows"][0] == {
        "name": "a",
        "pattern": 0,
        "responsibility": 0.6,
        "rival": 2,
        "rival_probability": 0.3,
        "n_clusters": 2,
        "weight": 1.0,
    }
    assert summarise(model)["views"]["n_unsure"] == 1


def test_the_most_uncertain_sample_and_its_rival(model):
    rows = summarise(model)["uncertain"]
    assert [row["sample"] for row in rows] == ["1", "0", "2", "3"]
    assert rows[1] == {
        "sample": "0",
        "probability": pytest.approx((3 * 0.9 + 0.5) / 4),
        "consensus": int(model.labels_[0]),
        "pattern": 1,
        "cluster": 0,
        "cluster_probability": 0.5,
        "rival": 1,
        "rival_probability": 0.4,
    }


def test_an_assigned_cluster_need_not_be_the_most_probable(model):
    model.pattern_labels_[1, 0] = 2
    row = next(row for row in summarise(model)["uncertain"] if row["sample"] == "0")
    assert (row["cluster"], row["cluster_probability"], row["rival"]) == (2, pytest.approx(0.1), 0)


def test_consensus_and_its_exclusions(model):
    consensus = summarise(model)["consensus"]
    assert (consensus["n_included"], consensus["excluded"], consensus["n_excluded"]) == (4, ["flat"], 1)
    P = model.consensus_.coassignment.toarray()
    for cluster in consensus["clusters"]:
        members = np.flatnonzero(model.labels_ == cluster["index"])
        assert cluster["size"] == len(members)
        pairs = [P[i, j] for i in members for j in members if i != j]
        assert cluster["coassignment"] == (pytest.approx(np.mean(pairs)) if pairs else None)


def test_the_course_says_which_stage_it_is_of(model, tmp_path):
    course = summarise(model)["course"]
    assert (course["stage"], course["n_stages"], course["moves"]) == ("refinement", 2, False)
    assert course["axis"] == [15, 30]
    text = Elements(page_of(model, tmp_path)).text
    assert "in the last of 2 stages (refinement): from 30 it fell by 15." in text
    assert "its own course is not kept" in text
    alone = with_results(model, stages=model.stages_[:1])
    assert summarise(alone)["course"]["moves"]
    assert "A sudden fall is a move" in Elements(page_of(alone, tmp_path)).text


def test_a_consensus_of_one_pattern_is_known_as_such(model):
    assert summarise(model)["consensus"]["pattern"] is None
    assert summarise(made_model([SURE, ONE], [0, 0, 1]))["consensus"]["pattern"] == 0


def test_a_summary_is_plain_json(model):
    assert json.loads(json.dumps(summarise(model))) == summarise(model)


def test_a_single_start_says_nothing_of_stability(model, tmp_path):
    alone = with_results(model, start_losses=np.array([15.0]), start_agreement=np.array([1.0]))
    assert summarise(alone)["headline"]["start_agreement"] is None
    assert "a single start cannot disagree" in Elements(page_of(alone, tmp_path)).text
    assert describe(summarise(alone)).endswith("; a single start")


def test_levels_say_what_was_split_into_what():
    one = np.zeros(6, dtype=int)
    two, four = np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 3, 3])
    model = made_model([np.eye(4)[four]], [0])
    levels = [[Level(one, 0.0), Level(two, 0.4), Level(four, 0.9)]]
    found = summarise(with_results(model, levels=levels))["levels"]
    assert [(level["n_clusters"], level["evidence"]) for level in found] == [(2, 0.4), (4, 0.9)]
    assert found[0]["splits"] == [{"of": 6, "into": [4, 2]}]
    assert found[1]["splits"] == [{"of": 4, "into": [2, 1, 1]}]
    assert "4 samples into 2, 1, 1" in render(with_results(model, levels=levels))


def test_without_clusters_there_are_no_levels():
    model = made_model([ONE], [0])
    assert summarise(model)["levels"] == []
    assert "<h3>Levels</h3>" not in render(model)


def test_a_search_by_splits_is_not_said_to_have_a_loss(model):
    assert "loss of the search" in render(model)
    first, *others = model.stages_
    page = render(with_results(model, stages=(replace(first, search="splits"), *others)))
    assert "loss of the search" not in page
    assert "by splits, which have evidence and no loss" in page
