"""A case of hostile input, the data that most cases are made of, and what became of a case."""

from __future__ import annotations

import ast
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

import latentsimplex
from latentsimplex import LatentSimplexPosition

PACKAGE = Path(latentsimplex.__file__).parent
N = 24
TRUTH = np.random.default_rng(0).permutation(np.repeat([0, 1], N // 2))
"""The clusters of the samples in most cases, in no order, so that rows matched wrongly are seen."""
OUTCOMES = ("fits", "fits, warned", "refused", "refused wrongly", "traceback", "nonsense", "hang")
"""What may become of a case; the last four are faults."""
FAULTS = OUTCOMES[3:]
LONGEST = 600
"""Letters of an error that still is one sentence."""


class Case(NamedTuple):
    """Something to do, and what ought to become of it: "any" is a fit or a refusal."""

    name: str
    do: Callable[[], Any]
    expected: Literal["fits", "refused", "any"]


class Nonsense(Exception):
    """An answer that is known to be wrong."""


class Refused(Exception):
    """A command that ended in one line and a status of its own."""


class Outcome(NamedTuple):
    """One of OUTCOMES, and the message or the place of the fault."""

    kind: str
    said: str


def draw_table(seed: int = 0, p: int = 3) -> np.ndarray:
    """Return numbers (N, p) with two clusters far apart."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, p)) + 12.0 * TRUTH[:, None] * rng.choice([-1, 1], size=p)


def fit(data: Any, **settings: Any) -> LatentSimplexPosition:
    """Return a small fit, once it is known to be one."""
    model = LatentSimplexPosition(**{"n_init": 1, "n_jobs": 1, "random_state": 0, **settings}).fit(data)
    n = model.n_samples_
    if len(model.labels_) != n or model.view_labels_.shape != (len(model.view_names_in_), n):
        raise Nonsense("labels of another number of samples")
    for W in model.memberships_:
        if not np.allclose(W.sum(axis=1), 1, atol=1e-6) or W.shape[0] != n:
            raise Nonsense("memberships that do not sum to 1")
    if not np.isfinite(model.coassignment().row(0)).all() or not np.isfinite(model.loss_):
        raise Nonsense("numbers that are not finite")
    return model


def fit_twins(data: Any, truth: np.ndarray = TRUTH, n_views: int | None = None, **settings: Any) -> Any:
    """Return a fit to views with the same two clusters: they have to be found, and share one pattern."""
    model = fit(data, **settings)
    if n_views is not None and len(model.view_names_in_) != n_views:
        raise Nonsense(f"{len(model.view_names_in_)} views in place of {n_views}")
    if model.n_patterns_ != 1:
        raise Nonsense(f"{model.n_patterns_} patterns of views with the same clusters")
    same = (model.labels_[:, None] == model.labels_) == (truth[:, None] == truth)
    if not same.all():
        raise Nonsense(f"labels that are wrong for {(~same).any(axis=1).sum()} samples")
    return model


D, E = draw_table(0), draw_table(1)
"""Two views with the known clusters."""
PERM = np.random.default_rng(5).permutation(N)
"""Another order of the samples."""


def run_case(case: Case) -> Outcome:
    """Return what becomes of a case."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            case.do()
        except Nonsense as error:
            return Outcome("nonsense", str(error))
        except Exception as error:
            if not is_clear(error):
                return Outcome("traceback", f"{type(error).__name__}: {error} @ {find_place(error)}")
            kind = "refused wrongly" if case.expected == "fits" else "refused"
            return Outcome(kind, f"{type(error).__name__}: {error}")
    if case.expected == "refused":
        return Outcome("nonsense", "taken in silence")
    told = [w for w in caught if issubclass(w.category, UserWarning)]
    strange = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    if strange:
        return Outcome(
            "traceback", f"{strange[0].category.__name__}: {strange[0].message} @ {strange[0].filename}"
        )
    return Outcome("fits, warned", str(told[0].message)) if told else Outcome("fits", "")


def is_clear(error: Exception) -> bool:
    """Return whether an error is one sentence that the package wrote, or Python's about how a call was written."""
    if isinstance(error, (Refused, NotFittedError)):  # scikit-learn's sentence is that of all its estimators
        return True
    message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if "\n" in message or not 10 < len(message) <= LONGEST:
        return False
    if not isinstance(
        error, (ValueError, TypeError, MemoryError, OSError, ImportError, AttributeError, IndexError)
    ):
        return False
    if message.startswith(("index ", "only integers")) and isinstance(error, IndexError):
        return True  # NumPy's, of what is indexed as its arrays are
    if isinstance(error, TypeError) and "unexpected keyword argument" in message:
        return True  # Python's
    frame = traceback.extract_tb(error.__traceback__)[-1]
    path = Path(frame.filename)
    if (
        path.parent == Path(__file__).parent
    ):  # a call that Python itself refuses: of no such name, without an argument
        return isinstance(error, (TypeError, AttributeError))
    if not path.is_relative_to(PACKAGE):
        return isinstance(error, OSError) and error.filename is not None
    return isinstance(error, OSError) or raises(path, frame.lineno or 0)


@cache
def find_raises(path: Path) -> tuple[range, ...]:
    """Return the lines of each statement of a file that raises an error."""
    tree = ast.parse(path.read_text())
    return tuple(
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
    )


def raises(path: Path, line: int) -> bool:
    """Return whether a line of the package raises an error of its own."""
    return any(line in lines for lines in find_raises(path))


def find_place(error: BaseException) -> str:
    """Return the last line of the package that an error came through, and the last line of all."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)]
    places = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in (*own[-1:], frames[-1])]
    return " < ".join(dict.fromkeys(places))
