"""Values of options that the estimator would refuse: refused as wrong usage, before anything is read."""

from __future__ import annotations

from typing import Any

import click


class Device(click.ParamType):
    """Where to compute, as the estimator knows it."""

    name = "device"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of a device."""
        from latentsimplex.options import check_device

        try:
            return check_device(value)
        except ValueError:
            self.fail(f"{value!r} is unknown: choose cpu, cuda, cuda:1 and so on, mps or torch.", param, ctx)


class Memory(click.ParamType):
    """An amount of memory, as the estimator knows it."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the amount as it was given."""
        from latentsimplex.engines.memory import memory_budget

        try:
            memory_budget(value)
        except ValueError:
            self.fail(f"{value!r} is no amount of memory: give bytes, or something like 2GB.", param, ctx)
        return str(value)
