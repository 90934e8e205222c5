"""Foundations of all other folders: arrays, threads, compiled loops, pairs of samples, checks of arguments, tables."""
