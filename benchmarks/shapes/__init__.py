"""Shapes: tables with clusters of many shapes, drawn from a seed."""
