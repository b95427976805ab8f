"""Prints what a simulation found, as plain lines."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A title and a table."""
    table = Table(box=None, header_style="bold")
    table.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row)
    Console(width=140, highlight=False).print(f"\n{title}", table, sep="\n")


def per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"
