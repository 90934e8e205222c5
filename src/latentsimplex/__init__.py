"""Multi-view clustering that says how sure it is: the latent simplex position model."""

from latentsimplex._version import __version__
from latentsimplex.estimator import LatentSimplexPosition, load

__all__ = ["LatentSimplexPosition", "__version__", "load"]
