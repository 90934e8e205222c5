"""Engines other than this process: the workers of a Dask cluster."""
