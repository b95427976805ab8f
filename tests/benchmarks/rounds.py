"""Contenders in turn, medians of their runs, and the table of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from tests.benchmarks.cluster import Row

COLUMNS = (  # heading, field of Row, decimals
    ("msg/s", "rate_per_s", 0),
    ("CPU us/msg", "cpu_us", 1),
    ("publish p50 ms", "publish_p50_ms", 2),
    ("p99 ms", "publish_p99_ms", 1),
    ("send delay p99 ms", "send_delay_p99_ms", 2),
    ("end-to-end p50 ms", "end_to_end_p50_ms", 2),
    ("bytes/row", "bytes_per_row", 1),
)
console = Console(highlight=False, width=160)


def alternate(contenders: Mapping[str, Callable[[], Row]], runs: int, *, unmeasured: int = 0) -> dict[str, list[Row]]:
    """Every contender `runs` times, in turn, every other round backwards.

    Before that `unmeasured` rounds that nobody looks at: brokers that have just been started compile their code as they go.
    """
    rows: dict[str, list[Row]] = {name: [] for name in contenders}
    for number in range(unmeasured):
        for name, run in contenders.items():
            with console.status(f"unmeasured round {number + 1} of {unmeasured}: {name}"):
                run()
    for number in range(runs):
        names = list(contenders)
        for name in names if number % 2 == 0 else reversed(names):
            with console.status(f"round {number + 1} of {runs}: {name}"):
                rows[name].append(contenders[name]())
    return rows


def median(rows: Sequence[Row], field: str) -> float:
    """Of one column."""
    return float(statistics.median(getattr(row, field) for row in rows))


def print_rows(title: str, rows: Mapping[str, Sequence[Row]]) -> None:
    """One line per contender: medians, and every run's rate."""
    table = Table(title=title, title_justify="left", box=None, header_style="bold")
    table.add_column("tool", no_wrap=True)
    for heading, _, _ in COLUMNS:
        table.add_column(heading, justify="right")
    table.add_column("msg/s of each run")
    for name, of_tool in rows.items():
        cells = [
            "-" if getattr(of_tool[0], field) is None else f"{median(of_tool, field):,.{digits}f}"
            for _, field, digits in COLUMNS
        ]
        table.add_row(name, *cells, " ".join(f"{row.rate_per_s:,.0f}" for row in of_tool))
    console.print(table)
