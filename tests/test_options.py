"""Options: what "auto" means, and how a wrong one is refused."""

import re

import numpy as np
import pytest

from latentsimplex import LatentSimplexPosition
from latentsimplex.base.interruption import stop_of_fits
from latentsimplex.fitting import VIEW_SPREAD, make_model
from latentsimplex.model import em as m_step
from latentsimplex.model.cluster_prices import ClusterPrice, label_prices
from latentsimplex.model.penalties import PENALTIES
from latentsimplex.model.problem import NEVER, OPTIMIZERS, Model
from latentsimplex.options import (
    check_device,
    resolve_choices,
    resolve_optimizer,
    resolve_options,
)
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.similarity import Diffusion, LocalScaling, Precomputed

X = np.arange(12.0).reshape(6, 2)

UNKNOWN = {
    "divergence": ("kl", "divergence='kl' is unknown: choose one of 'auto', 'reverse', 'forward'."),
    "response": ("free", "response='free' is unknown: choose one of 'auto', 'identity', 'learned'."),
    "penalty": (
        "lasso",
        "penalty='lasso' is unknown: choose one of 'auto', 'group', 'dirichlet', None, 'labels'.",
    ),
    "search": ("greedy", "search='greedy' is unknown: choose one of 'auto', 'plain', 'moves'."),
    "optimizer": ("sgd", "optimizer='sgd' is unknown: choose one of 'auto', 'adam', 'mirror'."),
    "device": (
        "tpu",
        'device=\'tpu\' is unknown: choose "cpu", "cuda", "cuda:1" and so on, "mps" or "torch".',
    ),
    "temperature": (0, "temperature=0 is not valid: give a number greater than 0."),
    "tol": (-0.1, "tol=-0.1 is not valid: give a number greater than 0."),
    "max_iter": (0, "max_iter=0 is not valid: give a whole number of at least 1."),
    "n_init": (1.5, "n_init=1.5 is not valid: give a whole number of at least 1."),
    "n_clusters": (0, "n_clusters=0 is not valid: give a whole number of at least 1."),
    "n_patterns": ("many", "n_patterns='many' is not valid: give a whole number of at least 1."),
    "n_jobs": (0, "n_jobs=0 is not valid: give a whole number of at least 1."),
    "similarity": ("rbf", "similarity='rbf' is not a way to compare samples: choose one of"),
    "views": (
        "genes",
        'views=\'genes\' is unknown: use "whole", "columns", "discover" or one group label per column (or a dict).',
    ),
    "memory_limit": ("much", "memory_limit='much' is not an amount of memory"),
    "random_state": ("now", "random_state='now' is no seed"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_option(name):
    value, message = UNKNOWN[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        LatentSimplexPosition(**{name: value}).fit(X)


@pytest.mark.parametrize("device", ["cpu", "torch", "mps", "cuda", "cuda:0", "cuda:12"])
def test_names_of_devices(device):
    assert check_device(device) == device


@pytest.mark.parametrize("device", ["auto", "gpu", "CPU", "cuda:", "cuda:a", "cpu ", None, 0])
def test_what_is_no_name_of_a_device(device):
    with pytest.raises(ValueError, match="device="):
        check_device(device)


@pytest.mark.parametrize(
    ("optimizer", "penalty", "expected"),
    [
        ("auto", "labels", "mirror"),
        ("auto", None, "mirror"),
        ("auto", "group", "adam"),
        ("auto", "dirichlet", "adam"),
        ("adam", "labels", "adam"),
        ("mirror", "group", "mirror"),
    ],
)
def test_how_memberships_descend(optimizer, penalty, expected):
    assert resolve_optimizer(optimizer, penalty) == expected


def test_the_paper_descends_by_adam():
    assert LatentSimplexPosition.paper().optimizer == "adam"
    assert LatentSimplexPosition().optimizer == "auto"


@pytest.mark.parametrize("optimizer", ["adam", "mirror"])
def test_a_fit_descends_as_it_was_told(optimizer, monkeypatch):
    seen, descend = [], getattr(m_step, optimizer)

    def watched(*arguments):
        seen.append(arguments)
        return descend(*arguments)

    monkeypatch.setattr(m_step, optimizer, watched)
    monkeypatch.setattr(m_step, {"adam": "mirror", "mirror": "adam"}[optimizer], None)
    LatentSimplexPosition.paper(2, 1, n_init=1, max_iter=3, optimizer=optimizer, random_state=0).fit(X)
    schedule = OPTIMIZERS[optimizer]
    assert (seen[0][3] == schedule["rate"]).all()
    assert {arguments[2] for arguments in seen[1:]} == {schedule["steps"]}


@pytest.mark.parametrize("value", [True, None, np.nan, np.inf, "warm", [1.0]])
def test_temperature_is_a_positive_number(value):
    with pytest.raises(ValueError, match="temperature="):
        resolve_choices("auto", "auto", "auto", value, "auto")


@pytest.mark.parametrize("value", [True, None, 2.0, "3", -1])
def test_counts_are_whole_numbers(value):
    with pytest.raises(ValueError, match="n_clusters="):
        LatentSimplexPosition(n_clusters=value).fit(X)


def test_numbers_of_numpy_are_numbers():
    assert resolve_choices("reverse", "identity", None, np.float32(4), "plain").temperature == 4
    quick = LatentSimplexPosition.paper(
        np.int64(2), np.int32(1), n_init=np.int64(1), max_iter=2, random_state=0
    )
    assert quick.fit(X).n_iter_ == 2


def test_what_auto_means():
    auto = resolve_choices(*["auto"] * 5)
    assert (auto.divergence, auto.response, auto.penalty) == ("forward", "learned", "labels")
    assert (auto.temperature, auto.search) == (None, "moves")
    assert auto.automatic == {"divergence", "response", "penalty", "temperature"}
    prices = ClusterPrice(label_prices(6, 2, 4.0))
    assert make_model(auto, 6, 2, 4.0) == Model(DIVERGENCES["forward"], prices, 4.0, True)


def test_a_temperature_of_the_datas_is_raised_towards_half_the_samples_where_clusters_have_a_price():
    """Not beyond, nor by more than a factor. Prices stay those of what was measured; what the user gave stays."""
    prices = ClusterPrice(label_prices(20, 2, 8.0))
    auto = resolve_choices(*["auto"] * 5)
    assert make_model(auto, 20, 2, 8.0) == Model(DIVERGENCES["forward"], prices, 10.0, True)
    assert make_model(auto, 20, 2, 11.0).temperature == 11
    assert make_model(auto, 10_000, 2, 3.0).temperature == VIEW_SPREAD * 3
    assert make_model(resolve_choices("auto", "auto", "auto", 3.0, "auto"), 20, 2, 3.0).temperature == 3
    assert make_model(resolve_choices("auto", "auto", None, "auto", "auto"), 20, 2, 3.0).temperature == 3


def test_what_the_paper_means():
    names = ("divergence", "response", "penalty", "temperature", "search")
    paper = LatentSimplexPosition.paper()
    choices = resolve_choices(*(getattr(paper, name) for name in names))
    assert choices.automatic == set()
    assert choices.search == "plain"
    assert make_model(choices, 6, 2, choices.temperature) == Model(
        DIVERGENCES["reverse"], PENALTIES["group"], 1.0, False
    )


@pytest.mark.parametrize("divergence", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("response", ["auto", "learned", "identity"])
def test_co_assignments_are_read_as_the_paper_reads_them_where_that_was_left_open(divergence, response):
    choices = resolve_choices(divergence, response, "auto", "auto", "auto")
    drawn = choices.for_coassignments()
    assert drawn.divergence == ("reverse" if divergence == "auto" else divergence)
    assert drawn.response == ("identity" if response == "auto" else response)
    assert (drawn.penalty, drawn.temperature, drawn.search) == ("labels", None, "moves")


@pytest.mark.parametrize(
    "option",
    [
        {"response": "learned", "penalty": "group"},
        {"response": "identity", "penalty": "labels"},
        {"response": "identity"},
        {"penalty": "group"},
        {},
    ],
    ids=str,
)
def test_what_only_moves_can_fit_is_refused_without_them(option):
    with pytest.raises(
        ValueError, match=r'search="plain" can fit neither.*: leave search="auto" or set "moves"'
    ):
        LatentSimplexPosition(**option, search="plain").fit(X)


OPTIONS_AND_SEARCH = {
    ("identity", "group"): "plain",
    ("learned", "group"): "moves",
    ("identity", "labels"): "moves",
    ("identity", None): "plain",
    ("auto", "group"): "moves",
}


def test_auto_search_means_moves_where_nothing_else_can_fit():
    searches = [resolve_choices("auto", *options, "auto", "auto").search for options in OPTIONS_AND_SEARCH]
    assert searches == list(OPTIONS_AND_SEARCH.values())


def test_choices_become_a_model_once_the_size_is_known():
    choices = resolve_choices("forward", "learned", "labels", 3.0, "moves")
    assert choices.temperature == 3
    model = make_model(choices, 20, 4, choices.temperature)
    assert model == Model(DIVERGENCES["forward"], ClusterPrice(label_prices(20, 4, 3.0)), 3.0, True)
    assert len(model.penalty.prices) == 4


def test_options_are_checked_before_the_data_are_read():
    with pytest.raises(ValueError, match="divergence="):
        LatentSimplexPosition(divergence="kl").fit("not even data")


# All options at once


def options(**given):
    return resolve_options(LatentSimplexPosition(**given).get_params(deep=False))


def test_options_are_what_the_parameters_say():
    found = options(
        n_clusters=np.int64(4), n_patterns=3, views="columns", n_init=2, device="torch", n_jobs=-1, verbose=1
    )
    assert (found.n_clusters, found.n_patterns, found.n_init) == (4, 3, 2)
    assert type(found.n_clusters) is int
    assert (found.views, found.device, found.n_jobs, found.memory_limit) == ("columns", "torch", None, None)
    assert found.verbose is True
    assert found.choices == resolve_choices(*["auto"] * 5)


def test_the_data_choose_a_similarity_that_was_left_open():
    assert options().kernel is None
    assert options(similarity="diffusion").kernel == Diffusion()
    assert options(similarity="local-scaling").kernel == LocalScaling()
    assert options(similarity="precomputed").kernel == Precomputed()
    own = LocalScaling(0.3)
    assert options(similarity=own).kernel is own


def test_settings_are_the_parameters_as_they_were_given():
    """All but how much is shown, who works and where state is kept, which have no part in what is found."""
    given = LatentSimplexPosition(
        n_clusters=np.int64(4), checkpoint="kept", similarity="diffusion", n_jobs=-1, verbose=True
    )
    settings = resolve_options(given.get_params(deep=False)).settings
    left_out = {"verbose", "engine", "checkpoint"}
    assert settings == {name: value for name, value in given.get_params().items() if name not in left_out}
    given.set_params(n_init=9)
    assert settings["n_init"] == 3


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_schedule_is_that_of_the_optimizer(optimizer):
    schedule = options(optimizer=optimizer, max_iter=7, tol=0.5).schedule
    for name, value in OPTIMIZERS[optimizer].items():
        assert getattr(schedule, name) == value
    assert (schedule.max_iter, schedule.tol) == (7, 0.5)
    assert not schedule.single_precision


def test_a_fit_asks_whoever_may_stop_it():
    assert options().schedule.stop is NEVER
    token = stop_of_fits.set(lambda: True)
    try:
        assert options().schedule.stop() is True
    finally:
        stop_of_fits.reset(token)


def test_a_seed_gives_the_same_generator_each_time():
    draws = [options(random_state=seed).rng.integers(10**9) for seed in (3, 3, 4)]
    assert draws[0] == draws[1] != draws[2]
    own = np.random.default_rng(0)
    assert options(random_state=own).rng is own


@pytest.mark.parametrize("folder", [3, "", ["kept"], b""])
def test_a_checkpoint_that_is_no_folder(folder):
    with pytest.raises(
        ValueError, match=r"checkpoint=.* is no folder: give its path as text or a pathlib.Path"
    ):
        options(checkpoint=folder)
