"""How a command ends other than well: in one line, without a traceback, with a status that says why."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

INTERRUPTED = 130
"""The exit status of a program that Ctrl-C ended."""


@contextmanager
def one_line(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors that the user can mend into one line without a traceback, and exit status 1."""
    try:
        yield
    except kinds as error:
        raise click.ClickException(" ".join(str(error).split())) from None


@contextmanager
def on_interrupt(sentence: str) -> Iterator[None]:
    """Turn Ctrl-C into one line and exit status 130."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"Interrupted: {sentence}", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Show warnings that users are meant to see, once each, as lines on standard error when all is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        click.echo(f"Warning: {message}", err=True)
