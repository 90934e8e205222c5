"""New samples placed against samples whose memberships are known, and new views against known patterns."""

from latentsimplex.placing.new_views import AssignedViews

__all__ = ["AssignedViews"]
