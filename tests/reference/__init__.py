"""Naive reference implementation that the package is tested against."""
