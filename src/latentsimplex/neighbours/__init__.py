"""Nearest neighbours of samples, graphs that join them, and random walks on these."""
