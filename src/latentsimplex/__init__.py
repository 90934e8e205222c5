"""Multi-view clustering that says how sure it is: the latent simplex position model."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from latentsimplex._version import __version__

if TYPE_CHECKING:
    from latentsimplex.estimator import LatentSimplexPosition, load

__all__ = ["LatentSimplexPosition", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """Import the estimator, and rooms with it, when somebody asks: the command answers Ctrl-C before that."""
    if not name.startswith("_"):
        estimator = import_module("latentsimplex.estimator")
        globals().update({public: getattr(estimator, public) for public in ("LatentSimplexPosition", "load")})
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
