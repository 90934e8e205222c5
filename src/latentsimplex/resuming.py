"""Fits with a checkpoint: started, resumed, or already finished (:mod:`latentsimplex.checkpoints`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from latentsimplex.base.wording import warn_user
from latentsimplex.checkpoints.checkpoint import Checkpoint
from latentsimplex.checkpoints.piece_folder import PieceFolder, open_folder
from latentsimplex.checkpoints.pieces import make_key
from latentsimplex.engines.dask_cluster import connect_to
from latentsimplex.engines.dask_stages import open_on_cluster, run_opened
from latentsimplex.engines.sharded_views import fingerprint_shards
from latentsimplex.inputs.fingerprint import fingerprint_views
from latentsimplex.inputs.views import Views
from latentsimplex.known.known_samples import NOTHING, Given, read_known
from latentsimplex.model.joint_losses import check_losses
from latentsimplex.options import Options
from latentsimplex.results.parameters import encode_parameters
from latentsimplex.results.results import Results
from latentsimplex.results.save_load import load_results, save_results
from latentsimplex.stages import open_views, run_stages

FINISHED = "finished.model"
"""The file with the result of a fit that has ended; it is a model file like any other."""
SAME_ANSWER = {"memory_limit", "n_jobs"}
"""Settings that another process may change: of those that say how much memory there is, the first one stays in force
where it can."""
SEEN_IN_DATA = {"views", "missing", "join"}
"""Settings that say what the views are, of which there is a fingerprint."""
SEEDS = 2**63


def resume_stages(X: Any, options: Options, given: Given = NOTHING) -> Results:
    """Return what a fit to data finds, going on from the state in the folder of the options, and keeping it there.

    It may go on elsewhere than it began: in this process, or on the workers of an engine.
    """
    if options.engine is None:
        views = open_views(X, options)
        return resume(views, fingerprint_views(views), options, given, partial(run_stages, views))
    with connect_to(options.engine, options.checkpoint) as cluster:
        opened = open_on_cluster(cluster, X, options)
        run = partial(run_opened, cluster, opened)
        if isinstance(opened, Views):
            return resume(opened, fingerprint_views(opened), options, given, run)
        return resume(opened.views, fingerprint_shards(cluster, opened), options, given, run)


def resume(
    views: Views, fingerprint: str, options: Options, given: Given, run: Callable[..., Results]
) -> Results:
    """Return what ``run`` finds, given the options, what is known and a checkpoint, or has found before."""
    assert options.checkpoint is not None
    is_drawn = options.settings["random_state"] is None
    identity = {"data": fingerprint, "settings": describe_settings(options)}
    if any(each is not None for each in given):
        identity["labels, links or losses"] = fingerprint_given(given, views)
    drawn = {"seed": int(options.rng.integers(SEEDS)) if is_drawn else None}
    with open_folder(options.checkpoint, identity, drawn) as folder:
        if (results := read_finished(folder, views, options)) is not None:
            return results
        if is_drawn:
            options = replace(options, rng=np.random.default_rng(folder.identity["seed"]))
        stop = options.schedule.stop
        results = run(options, given, Checkpoint(folder, stop))
        if not stop():  # what ended early goes on with the next call
            finish(folder, results)
    return results


def fingerprint_given(given: Given, views: Views) -> str:
    """Return a fingerprint of what is known of samples and of losses, these by what they say of some memberships."""
    known, n = read_known(*given[:3], views), views.n_samples
    parts: list[Any] = []
    if known is not None:
        parts += [known.classes.tolist(), known.labels, *known.must, *known.cannot]
    some = np.random.default_rng(0).dirichlet(np.ones(3), size=(1, n))
    for other in () if given.losses is None else check_losses(given.losses, n):
        parts += [type(other).__name__, str(other.weight), *other.value_and_gradient(some)]
    return make_key(*parts)


def describe_settings(options: Options) -> dict[str, Any]:
    """Return the settings that a fit depends on, as JSON values; of a kernel of the user's own, its description."""
    left_out = SAME_ANSWER | SEEN_IN_DATA
    settings = {name: value for name, value in options.settings.items() if name not in left_out}
    described = encode_parameters(settings)
    described["device"] = options.device.partition(":")[0]
    if described["random_state"] is None and settings["random_state"] is not None:
        generator: Any = options.rng.bit_generator
        described["random_state"] = f"a generator {make_key(generator.state, generator.seed_seq)}"
    return described


def finish(folder: PieceFolder, results: Results) -> None:
    """Keep the results of a fit that has ended, in place of the pieces that it was made of."""
    try:
        save_results(results, folder.path / FINISHED)
    except OSError as error:
        warn_user(
            f"The result could not be kept in the checkpoint {str(folder.path)!r} ({(error.strerror or '').lower()}): "
            "save the model elsewhere.",
        )
        return
    folder.remove_pieces()


def read_finished(folder: PieceFolder, views: Views, options: Options) -> Results | None:
    """Return the results of a fit that has ended; None if it has not, or if they are damaged."""
    path = folder.path / FINISHED
    if not path.exists():
        return None
    try:
        results = load_results(path, lambda settings: None)
    except ValueError as error:
        warn_user(f"The fit is made anew: {error}")
        return None
    stages = results.stages
    if options.kernel is not None:  # it may be the user's own code, which no file holds
        stages = tuple(replace(stage, similarity=options.kernel) for stage in stages)
    return replace(results, settings=options.settings, stages=stages, frame_library=views.frame_library)
