"""How commands print: tables and JSON on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from bench.checkout import CHECKOUT
from bench.progress import Reporter, Step, reporter_for

console = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Prints a line on standard error as it is; only the terminal wraps it, so that commands in it can be copied."""
    console.print(text, markup=False, soft_wrap=True)


def harmless(text: str) -> str:
    """A text that may be anybody's, in which nothing moves the cursor."""
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def print_json(document: Any) -> None:
    """What --json prints."""
    click.echo(json.dumps(document, indent=1))


def table_console(columns_of_a_file: int = 160) -> Console:
    """For tables on standard output: as wide as the terminal, and in a file or a pipe so wide that nothing is cut off."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else columns_of_a_file)


@contextmanager
def spinner(doing: str) -> Iterator[Callable[[str], None]]:
    """A spinner beside what is being done; the block is given what shows a detail of it."""
    with console.status(doing) as status:
        yield lambda detail: status.update(f"{doing}: {escape(detail)}")


@contextmanager
def reporter_of(plain: bool, steps: Sequence[Step]) -> Iterator[Reporter]:
    """The progress of a command, with all its steps planned."""
    reporter = reporter_for(console, plain=plain)
    reporter.plan(steps)
    try:
        yield reporter
    finally:
        reporter.close()


def shown(path: Path) -> str:
    """A path as the user would type it: relative where it lies below the current folder."""
    for base in (Path.cwd(), CHECKOUT):
        try:
            return str(path.resolve().relative_to(base))
        except ValueError:
            continue
    return str(path)
