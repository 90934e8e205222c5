"""Data files of all kinds, read as named tables."""
