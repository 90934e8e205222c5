"""Hostile inputs: what users give to the package by mistake or on purpose, and what ought to become of it."""
