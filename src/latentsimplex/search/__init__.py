"""The search for patterns and clusters: starts, moves that EM cannot make by itself, and the best of several runs."""
