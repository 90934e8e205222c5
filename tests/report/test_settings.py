"""What a fit was asked to do, what "auto" came to mean in it, and what its stages used."""

from dataclasses import fields, replace

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.report import summarise
from latentsimplex.report.settings import describe_similarity, describe_stage
from latentsimplex.similarity import AutoDiffusion, Diffusion, LocalScaling, Precomputed
from made_model import made_model, made_stages
from report.reading import with_results


def settings_of(model):
    return {setting["name"]: setting for setting in summarise(model)["settings"]}


def values_of(model):
    return {name: setting["value"] for name, setting in settings_of(model).items()}


def test_settings_say_what_auto_stood_for(model):
    settings, values = settings_of(model), values_of(model)
    assert values["n_clusters"] == "3"
    assert values["similarity"] == (
        "auto: diffusion at the local scale; 1 feature as they are then "
        "diffusion at the mixed scale, mean 0.4; 1 feature as they are"
    )
    assert values["divergence"] == "auto: forward then reverse"
    assert values["response"] == "auto: learned then identity"
    assert (values["penalty"], values["search"]) == ("auto: labels", "auto: moves")
    assert values["optimizer"] == "auto: mirror"
    assert values["temperature"] == "auto: 10 then 12.5"
    assert (settings["temperature"]["given"], settings["temperature"]["meant"]) == ("auto", "10 then 12.5")
    assert (settings["n_init"]["given"], settings["n_init"]["meant"]) == ("3", None)
    assert set(settings) == set(LatentSimplexPosition().get_params()) - {"verbose"}


def test_settings_that_were_given_stand_alone():
    given = {"divergence": "forward", "response": "learned", "similarity": "diffusion", "temperature": 3.0}
    values = values_of(made_model([np.eye(2)], [0], **given))
    assert (values["divergence"], values["response"]) == ("forward", "learned")
    assert (values["similarity"], values["temperature"]) == ("diffusion", "3")


def test_settings_are_those_of_the_fit_and_not_of_the_estimator_now(model):
    model.set_params(n_init=9, divergence="reverse")
    values = values_of(model)
    assert (values["n_init"], values["divergence"]) == ("3", "auto: forward then reverse")


def test_settings_of_clusters_that_were_refined_as_they_were_found(model):
    search, refinement = made_stages(5)
    refinement = replace(
        refinement,
        similarity=AutoDiffusion("fine", ((1, "as they are"),)),
        divergence="forward",
        response="learned",
    )
    values = values_of(with_results(model, stages=(search, refinement)))
    assert (values["divergence"], values["response"]) == ("auto: forward", "auto: learned")


def test_stages_that_use_the_same_are_named_once(model):
    search, _ = made_stages(5)
    values = values_of(with_results(model, stages=(search, replace(search, name="all views", n_views=9))))
    assert values["temperature"] == "auto: 10"
    assert values["similarity"] == "auto: diffusion at the local scale; 1 feature as they are"


@pytest.mark.usefixtures("one_cloud")
@pytest.mark.parametrize("scale", ["mixed", "local"])
def test_a_kernel_that_the_user_gave_is_not_taken_for_a_refinement(scale):
    """Its one stage has one divergence, whichever scale the kernel has."""
    kernel = AutoDiffusion(scale, ((1, "as they are"),), 0.5)
    fit = LatentSimplexPosition(2, n_init=1, max_iter=3, random_state=0, similarity=kernel)
    summary = summarise(fit.fit([[0.0], [0.1], [5.0], [5.2]]))
    values = {setting["name"]: setting["value"] for setting in summary["settings"]}
    assert (values["divergence"], values["response"]) == ("auto: forward", "auto: learned")
    assert values["similarity"] == describe_similarity(kernel)
    (stage,) = summary["stages"]
    assert (stage["name"], stage["divergence"], stage["evidence"]) == ("search", "forward", None)


def test_group_labels_are_counted():
    values = values_of(made_model([np.eye(2)], [0], views=["a", "b", "b"]))
    assert values["views"] == "3 group labels"


def test_each_stage_is_described(model):
    search, refinement = summarise(model)["stages"]
    assert search == {
        "name": "search",
        "similarity": "diffusion at the local scale; 1 feature as they are",
        "divergence": "forward",
        "response": "learned",
        "temperature": 10.0,
        "n_views": 5,
        "evidence": 2.5,
    }
    assert refinement == describe_stage(made_stages(5)[1])
    assert (refinement["name"], refinement["evidence"]) == ("refinement", None)


def test_a_similarity_that_was_given_is_described_in_words():
    assert describe_similarity(Diffusion(neighbours=5)) == "diffusion: neighbours 5, mean 0.1, standardised"
    assert describe_similarity(Precomputed()) == "precomputed"
    local = LocalScaling(metric=np.dot, per_feature=True)
    assert (
        describe_similarity(local)
        == "local scaling: quantile 0.1, power 1, metric the function dot, feature by feature"
    )


@pytest.mark.parametrize("kernel", [Diffusion, LocalScaling])
def test_every_switch_of_a_kernel_has_its_word(kernel):
    for field in fields(kernel):
        if isinstance(field.default, bool):
            on, off = (describe_similarity(kernel(**{field.name: value})) for value in (True, False))
            assert len(on) > len(off)


def test_settings_are_prose_and_no_python():
    given = {"penalty": None, "random_state": np.random.RandomState(0), "similarity": LocalScaling()}
    values = values_of(made_model([np.eye(2)], [0], **given))
    assert (values["penalty"], values["random_state"]) == ("none", "a RandomState")
    assert (values["memory_limit"], values["n_jobs"]) == ("half of what is free", "all cores")
    assert values_of(made_model([np.eye(2)], [0]))["random_state"] == "not fixed"
    for value in values.values():
        assert not {"None", "True", "False"} & set(value.split())
        assert "(" not in value


def test_versions_are_those_at_hand(model):
    versions = summarise(model)["versions"]
    assert list(versions) == ["latentsimplex", "Python", "numpy", "scipy", "scikit-learn", "numba"]
    assert versions["numpy"] == np.__version__
