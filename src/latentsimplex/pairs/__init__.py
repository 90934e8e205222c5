"""Pair values f(s) of views, one for each pair of samples: how they are made, where they are kept, passes over them."""
