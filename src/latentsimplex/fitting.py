"""The context of a running fit: its data, options, workers and checkpoint, and how a stage runs EM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from latentsimplex.auto.choose_similarity import Choice, choose_similarity
from latentsimplex.auto.temperatures import view_temperatures
from latentsimplex.base.threads import Workers
from latentsimplex.base.types import Array, Indices
from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.inputs.views import Views
from latentsimplex.model.backends import choose_backend
from latentsimplex.model.cluster_prices import ClusterPrice, label_prices
from latentsimplex.model.joint_losses import JointLoss
from latentsimplex.model.penalties import PENALTIES, Penalty
from latentsimplex.model.problem import FIT_TYPES, NOBODY, Fit, Listener, Model, Problem, drop_statistics
from latentsimplex.options import Choices, Options
from latentsimplex.pairs.absent_pairs import Followed, follow_fit
from latentsimplex.pairs.divergence import DIVERGENCES
from latentsimplex.pairs.memory_budget import Storage
from latentsimplex.pairs.on_device import make_pairs
from latentsimplex.pairs.protocol import Backend
from latentsimplex.results.estimates import PatternTrees
from latentsimplex.results.results import Stage
from latentsimplex.search.least_clusters import finish_with_clusters
from latentsimplex.search.multistart import Search
from latentsimplex.search.runs import finish_on_all_views
from latentsimplex.similarity import AutoDiffusion, Kernel

T = TypeVar("T")

VIEW_SPREAD = 2.0
"""How much less sure of its pattern a view is than its own nats say: views of one pattern differ in more ways than
chance (docs/defaults.md)."""


class Reading(NamedTuple):
    """How a stage reads the views: the model and the search, the similarity, the temperature of each view (V,).

    No temperatures are one that the user gave; ``evidence`` is that for clusters, where the data chose the similarity.
    """

    choices: Choices
    kernel: Kernel
    temperatures: Array | None
    evidence: float | None = None

    @property
    def is_automatic(self) -> bool:
        """Whether the data chose the similarity, and a refinement may follow."""
        return self.evidence is not None and self.choices.search == "moves"


class Found(NamedTuple):
    """Where a fit is after a stage: the search, None where all views are constant, and the views that took part.

    ``searched`` are the views that the search looked at, ``informative`` those of the last stage, constant ones left
    out of both; ``members`` are the views that were read for it, in order, or None for all of them. ``trees`` has the
    levels of clusters and their evidence, where splits were looked for. ``losses`` are those that joined, with the
    weights that were found for them.
    """

    search: Search | None
    searched: Indices
    informative: Indices
    members: Indices | None
    reading: Reading
    stages: tuple[Stage, ...]
    trees: PatternTrees | None = None
    losses: tuple[JointLoss, ...] = ()


class Asked(NamedTuple, Generic[T]):
    """The result of EM in a stage: what it found, in which views, constant ones left out, and the stage's record."""

    found: T
    informative: Indices
    stage: Stage


class Kept(NamedTuple):
    """The result of EM in a stage as a checkpoint stores it."""

    found: Any
    informative: Indices
    temperature: float
    n_views: int


@dataclass(frozen=True)
class Fitting:
    """The context of a running fit: the views, the options, where the work is done, and where state is kept.

    ``n_landmarks`` is how many samples all others are placed against, None for all of them. ``losses`` are those that
    join EM's (:mod:`latentsimplex.model.joint_losses`). ``read`` makes pair values of views where it is not this
    process that holds them, or its GPU.
    """

    views: Views
    options: Options
    n_clusters: int
    n_patterns: int
    n_landmarks: int | None
    keep: Storage
    device: str | None
    workers: Workers
    backend: Backend
    listener: Listener = NOBODY
    checkpoint: Checkpoint | None = None
    losses: tuple[JointLoss, ...] = ()
    read: Callable[..., Any] | None = None

    def take_samples(self, rows: Indices) -> Fitting:
        """Return the same fit to some of the samples."""
        if len(rows) == self.views.n_samples:
            return self
        backend = choose_backend(self.device, len(rows), self.workers)
        losses = tuple(other.take(rows) for other in self.losses)
        views = self.views.take_samples(rows)
        return replace(self, views=views, backend=backend, losses=losses)

    def recall(self, name: str, compute: Callable[[], T], *key: Any, types: Sequence[type] = ()) -> T:
        """Return what a checkpoint has stored under this name and key, or compute it."""
        if self.checkpoint is None:
            return compute()
        return self.checkpoint.recall(name, compute, *key, types=types)

    def ask(
        self,
        name: str,
        reading: Reading,
        members: Indices | None,
        run: Callable[[Problem, Indices], T],
        n_clusters: int | None = None,
        followed: Followed | None = None,
        again: bool = False,
    ) -> Asked[T]:
        """Return what EM finds in a stage, or finds ``again``: what ``run`` makes of its problem and its views."""
        if self.checkpoint is None:
            problem, informative, stage = self.pose(name, reading, members, n_clusters, followed)
            return Asked(run(problem, informative), informative, stage)

        def run_kept() -> Kept:
            problem, informative, stage = self.pose(name, reading, members, n_clusters, followed)
            found: Any = run(problem, informative)
            if isinstance(found, Search):
                found = found._replace(fit=drop_statistics(found.fit))
            elif isinstance(found, Fit):
                found = drop_statistics(found)
            return Kept(found, informative, stage.temperature, stage.n_views)

        kept = self.recall(name, run_kept, again, types=(Kept, Search, *FIT_TYPES))
        stage = self.record_stage(name, reading, kept.temperature, kept.n_views)
        return Asked(kept.found, kept.informative, stage)

    def go_on(
        self,
        name: str,
        fit: Fit,
        reading: Reading,
        members: Indices | None,
        seen: Indices,
        n_clusters: int | None = None,
        again: bool = False,
    ) -> Asked[Fit]:
        """Run EM on members from a fit to the views ``seen``, the pairs that they lack filled by what it found."""

        def finish(problem: Problem, _: Indices) -> Fit:
            finish_fit = finish_on_all_views if self.options.min_clusters == 1 else finish_with_clusters
            return finish_fit(problem, fit, self.listener.follow(0))

        return self.ask(name, reading, members, finish, n_clusters, self.follow(fit, seen), again)

    def follow(self, fit: Fit, informative: Indices) -> Followed:
        """Return what a fit tells of the pairs that views lack."""
        return follow_fit(fit.expectation.eta, informative, len(self.views), fit.state.W, fit.state.B)

    def choose_similarity(self, candidates: Mapping[int, list[AutoDiffusion]]) -> Choice:
        """Return the similarity under which clusters explain most."""
        divergence = DIVERGENCES[self.options.choices.divergence]
        choose = partial(choose_similarity, self.views, candidates, self.n_clusters, divergence, self.workers)
        return self.recall("similarity", choose, types=(Choice, AutoDiffusion))

    def measure_temperatures(self, choices: Choices, kernel: Kernel) -> Array | None:
        """Return the temperature of each view (V,) with a kernel; None where the user gave one."""
        if choices.temperature is not None:
            return None
        divergence = DIVERGENCES[choices.divergence]
        measure = partial(view_temperatures, self.views, kernel, divergence, self.workers)
        # a kernel of the user's own, whose words may change from process to process, is the only one of its fit
        own = repr(kernel) if isinstance(kernel, AutoDiffusion) else ""
        return self.recall("temperatures", measure, self.views.n_samples, choices.divergence, own)

    def record_stage(self, name: str, reading: Reading, temperature: float, n_views: int) -> Stage:
        """Return the record of a stage."""
        choices = reading.choices
        return Stage(
            name,
            reading.kernel,
            choices.divergence,
            choices.response,
            choices.penalty,
            choices.search,
            self.options.schedule.optimizer,
            temperature,
            n_views,
            reading.evidence,
        )

    def pose(
        self,
        name: str,
        reading: Reading,
        members: Indices | None,
        n_clusters: int | None = None,
        followed: Followed | None = None,
    ) -> tuple[Problem, Indices, Stage]:
        """Return the problem of a stage, each view's divergence in its own nats, its views, and the stage's record."""
        choices, kernel, own, _ = reading
        temperature = choices.temperature if own is None else float(own.mean())
        assert temperature is not None
        weights = None if own is None else temperature / own
        model = make_model(choices, self.views.n_samples, n_clusters or self.n_clusters, temperature)
        pairs = (self.read or make_pairs)(
            self.device,
            self.views,
            kernel,
            model.divergence,
            self.workers,
            self.backend,
            self.keep,
            weights,
            members,
            followed,
        )
        stage = self.record_stage(name, reading, model.temperature, len(pairs))
        kept = None if self.checkpoint is None else self.checkpoint.within(name)
        return Problem(pairs, model, self.options.schedule, kept, self.losses), pairs.informative, stage


def make_model(choices: Choices, n_samples: int, n_clusters: int, temperature: float) -> Model:
    """Return the model, whose loss EM minimises, for data of this size."""
    if choices.penalty == "labels":
        penalty: Penalty = ClusterPrice(label_prices(n_samples, n_clusters, temperature))
    else:
        penalty = PENALTIES[choices.penalty]
    if "temperature" in choices.automatic and choices.penalty == "labels":
        # pairs share samples, and no more than that: n^2 / 2 of them are n facts about a view's pattern at least
        temperature = min(VIEW_SPREAD * temperature, max(temperature, n_samples / 2))
    return Model(DIVERGENCES[choices.divergence], penalty, temperature, choices.response == "learned")
