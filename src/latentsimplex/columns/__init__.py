"""Columns of one table, grouped into views."""
