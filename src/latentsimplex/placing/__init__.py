"""Out-of-sample prediction: new samples placed against known memberships, new views against known patterns."""

from latentsimplex.placing.new_views import AssignedViews

__all__ = ["AssignedViews"]
