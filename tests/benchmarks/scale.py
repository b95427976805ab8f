"""The tables of docs/scale.md: what `make bench-analysis` measured, and what so many rows would cost on EMR. It measures nothing.

`python -m tests.benchmarks.scale FILE` takes the last line of FILE, what the benchmark printed, as docs/scale.json and writes the
tables anew; without FILE only the tables, for instance after a price has changed.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from bench.worker.records import FILE_ROWS, FILE_S
from provisioning.testbeds.aws.cost import GIB, emr_step
from provisioning.testbeds.aws.emr_sizes import load_nodes, sizes_on
from provisioning.testbeds.aws.prices import PriceTable, load_prices
from provisioning.testbeds.aws.shape import load_shape, stack_file
from provisioning.testbeds.aws.spark_step import STEP_LIMIT_S

ROOT = Path(__file__).resolve().parents[2]
PAGE, MEASURED = ROOT / "docs" / "scale.md", ROOT / "docs" / "scale.json"
STACK = "sn2022"  # whose region it is
STACKS = ("smoke", "sn2020", "sn2022")
ROWS = 100_000_000_000
TESTED_ROWS = 200_000_000  # fewer say little of ROWS, and the page says so
CLUSTERS = (("m5.2xlarge", 3), ("m5.4xlarge", 4), ("m5.4xlarge", 10), ("m5.4xlarge", 20))  # the primary among them

# Assumptions: nothing of this was measured.
VCPU_SHARE = (
    0.5  # of the work of one core here that a vCPU of the cluster does: half of a physical core, reading from S3
)
NODE_BYTES_PER_S = {"m5.2xlarge": 2.5e9 / 8, "m5.4xlarge": 5e9 / 8}  # what the network card sustains
START_S = 600.0  # until the cluster takes the step
# the driver's time per file and scan: a thousand names a request, and as long to plan for them
LISTED_S = 2 * 0.100 / 1000
# of each file: all counts, then the values at the wanted ranks; a third only of trials in which messages differ
SCANS = 2
REQUESTS_PER_SCAN = 2  # how long it is, and all of it

Summary = Mapping[str, Any]


@dataclass(frozen=True)
class Rates:
    """What the computation takes from the report job of the largest size."""

    core_s_per_row: float
    bytes_per_row: float
    read_bytes_per_row: float


@dataclass(frozen=True)
class Run:
    """The report of ROWS rows on a cluster, in seconds and US dollars."""

    instance_type: str
    instances: int
    vcpus: int
    driver_s: float
    network_s: float
    compute_s: float
    dollars: float

    @property
    def job_s(self) -> float:
        """From the step's start to its end."""
        return self.driver_s + self.network_s + self.compute_s


def rates(summary: Summary) -> Rates:
    """The largest size's; the time in which only the driver works is taken out, it is computed by itself."""
    job = max(summary["report_jobs"], key=lambda each: int(each["rows"]))
    rows, together_s = job["rows"], job["footprint"]["seconds"] - job["steps"]["reading"]
    return Rates(
        core_s_per_row=together_s * summary["threads"] / rows,
        bytes_per_row=job["bytes"] / rows,
        read_bytes_per_row=job["footprint"]["read_bytes"] / rows,
    )


def run_on(instance_type: str, instances: int, measured: Rates, prices: PriceTable) -> Run:
    """One cluster; its primary runs no executor, and only the executors' vCPUs work."""
    workers = instances - 1
    sizes = sizes_on(instance_type, workers, where="a cluster of", next_step="Compute with another one.")
    vcpus = sizes.executors * sizes.executor.cores
    driver_s = ROWS / FILE_ROWS * SCANS * LISTED_S
    network_s = ROWS * measured.read_bytes_per_row / (workers * NODE_BYTES_PER_S[instance_type])
    compute_s = ROWS * measured.core_s_per_row / (vcpus * VCPU_SHARE)
    shape = replace(load_shape(stack_file(ROOT, STACK)), report_instance_type=instance_type, report_instances=instances)
    dollars = emr_step(shape, prices, (START_S + driver_s + network_s + compute_s) / 3600)
    return Run(instance_type, instances, vcpus, driver_s, network_s, compute_s, dollars)


def percentiles(summary: Summary) -> str:
    """Exact percentiles on both engines, warm."""
    lines = []
    for one in summary["percentiles"]:
        spark_s, duckdb_s = median(one["spark_s"]), median(one["duckdb_s"])
        fresh = one["fresh"]
        lines.append(
            [
                f"{one['rows']:,}", one["case"], f"{len(one['spark_s'])}", f"{spark_s:.2f}", f"{duckdb_s:.2f}", f"{one['ratio']:.2f}",
                _millions(one["rows"] / spark_s), _millions(one["rows"] / duckdb_s),
                f"{one['shuffled_counts']:,}", f"{one['shuffled_bytes'] / 1e6:.1f}", f"{fresh['spark']['seconds']:.1f}",
                _memory(fresh["spark"]), _memory(fresh["duckdb"]),
            ]
        )  # fmt: skip
    headings = (
        "rows", "case", "runs", "Spark s", "DuckDB s", "ratio", "Spark M rows/s", "DuckDB M rows/s", "counts shuffled", "MB shuffled",
        "fresh Spark process s", "its peak MB", "DuckDB's peak MB",
    )  # fmt: skip
    return _table(headings, lines)


def report_jobs(summary: Summary) -> str:
    """The report job as a whole, then step by step."""
    jobs = summary["report_jobs"]
    lines = []
    for job in jobs:
        took, rows = job["footprint"], job["rows"]
        peaks = [f"{took['peak_bytes'].get(program, 0) / 1e6:,.0f}" for program in ("jvm", "python", "python_workers")]
        lines.append(
            [
                f"{rows:,}", f"{job['files']:,}", f"{job['bytes'] / rows:.1f}", f"{took['seconds']:.0f}", f"{took['cpu_s']:.0f}",
                _millions(rows / took["seconds"]), *peaks,
            ]
        )  # fmt: skip
    headings = (
        "rows",
        "files",
        "bytes a row",
        "seconds",
        "CPU s",
        "M rows/s",
        "JVM peak MB",
        "Python peak MB",
        "workers' peaks MB",
    )
    steps = [[name, *(f"{job['steps'][name]:.1f}" for job in jobs)] for name in jobs[0]["steps"]]
    sizes = [f"s of {job['rows']:,} rows" for job in jobs]
    return f"{_table(headings, lines)}\n\n{_table(('step', *sizes), steps)}"


def growth(summary: Summary) -> str:
    """Time against rows, from the smallest size to the largest: time grows as rows to the power of the last column."""
    series: dict[str, list[tuple[float, float]]] = {}
    for one in summary["percentiles"]:
        series.setdefault(f"percentiles, {one['case']}, Spark", []).append((one["rows"], median(one["spark_s"])))
        series.setdefault(f"percentiles, {one['case']}, DuckDB", []).append((one["rows"], median(one["duckdb_s"])))
    for job in summary["report_jobs"]:
        series.setdefault("report job", []).append((job["rows"], job["footprint"]["seconds"]))
    lines = []
    for name, points in series.items():
        (rows, seconds), (more_rows, more_s) = points[0], points[-1]
        if more_rows > rows:
            factor, longer = more_rows / rows, more_s / seconds
            lines.append([name, f"{factor:.2f}", f"{longer:.2f}", f"{math.log(longer) / math.log(factor):.2f}"])
    return _table(("what", "rows x", "time x", "power"), lines)


def machine(summary: Summary) -> str:
    """Where and when it was measured."""
    had = summary["machine"]
    memory = f"{had['memory_bytes'] / GIB:.0f} GiB"
    found = "as made up" if summary["as_expected"] else "NOT ALL AS EXPECTED"
    return _missing(summary) + (
        f"Measured {summary['date']} on one machine with {had['cores']} cores ({had['processor']}) and {memory}, {summary['threads']} "
        f"threads each, files in the page cache. Percentiles and reports: {found}."
    )


def _missing(summary: Summary) -> str:
    """What the page says instead of a computation that would rest on too few rows; empty if there were enough."""
    largest = max(int(one["rows"]) for one in summary["percentiles"])
    return "" if largest >= TESTED_ROWS else f"**TO MEASURE: so far {largest:,} rows, of {TESTED_ROWS:,}.** "


def basis(summary: Summary) -> str:
    """What the computation rests on, measured and assumed."""
    if missing := _missing(summary):
        return missing
    measured, prices = rates(summary), load_prices()
    region = load_shape(stack_file(ROOT, STACK)).region
    bandwidths = ", ".join(f"{kind} {each * 8 / 1e9:g}" for kind, each in NODE_BYTES_PER_S.items())
    filled = f"where a producer sends {FILE_ROWS / FILE_S:,.0f} a second or more; else what it sends in {FILE_S:g} s"
    core_s, kept, read = measured.core_s_per_row * 1e6, measured.bytes_per_row, measured.read_bytes_per_row
    lines = [
        ["core-seconds per million rows", f"{core_s:.2f}", "measured, largest job with its start: (seconds - reading) x cores / rows"],
        ["bytes per row in S3", f"{kept:.1f}", "measured, made-up latencies"],
        ["bytes read per row", f"{read:.0f}", "measured, same job: all read calls, shuffles and pipes among them"],
        ["rows per file", f"{FILE_ROWS:,}", filled],
        ["a vCPU's share of a core's work", f"{VCPU_SHARE:g}", "assumed"],
        ["a node's network, Gbit/s", bandwidths, "assumed"],
        ["driver's seconds per file and scan", f"{LISTED_S:.4f}", "assumed: listed by the thousand in 0.1 s, planned in as long"],
        ["seconds until the cluster works", f"{START_S:.0f}", "assumed"],
        ["scans of a file", f"{SCANS:g}", "analysis/pipeline.py: all counts, then values; a third of trials in which messages differ"],
        ["requests per file and scan", f"{REQUESTS_PER_SCAN}", "assumed"],
        ["prices", f"{region}, {prices.pinned}", "[prices.toml](../provisioning/testbeds/aws/prices.toml), on demand, without tax"],
    ]  # fmt: skip
    return _table(("", "value", "where from"), lines)


def cost(summary: Summary) -> str:
    """ROWS rows on each cluster, then what doesn't depend on the cluster."""
    if missing := _missing(summary):
        return missing
    measured, prices = rates(summary), load_prices()
    region = load_shape(stack_file(ROOT, STACK)).region
    lines = []
    for kind, count in CLUSTERS:
        run = run_on(kind, count, measured, prices)
        hours = [f"{seconds / 3600:.2f}" for seconds in (run.driver_s, run.network_s, run.compute_s, run.job_s)]
        within = "yes" if run.job_s < STEP_LIMIT_S else "no"
        lines.append([f"{count} x {kind}", str(run.vcpus), *hours, within, f"${run.dollars:,.2f}"])
    limit = f"within the step's {STEP_LIMIT_S / 3600:g} h"
    clusters = _table(("cluster", "vCPUs", "driver h", "network h", "compute h", "job h", limit, "cluster"), lines)
    files, gib = ROWS / FILE_ROWS, ROWS * measured.bytes_per_row / GIB
    puts = files / 1000 * prices.price("service", "s3_thousand_puts", region)
    gets = files * SCANS * REQUESTS_PER_SCAN / 1000 * prices.price("service", "s3_thousand_gets", region)
    stored = gib * prices.price("service", "s3_gib_month", region)
    others = [
        ["records in S3 for a month", f"{gib:,.0f} GiB", f"${stored:,.2f}"],
        ["uploads", f"{files / 1e6:.2f} million files", f"${puts:,.2f}"],
        ["reading requests", f"{files * SCANS * REQUESTS_PER_SCAN / 1e6:.2f} million", f"${gets:,.2f}"],
    ]
    return f"{clusters}\n\n{_table(('beside the cluster', 'how much', 'dollars'), others)}"


def sizes(_: Summary) -> str:
    """What driver and executors ask YARN for in the cluster of every preset, in MiB."""
    lines = []
    for stack in STACKS:
        shape = load_shape(stack_file(ROOT, stack))
        kind, instances = shape.report_instance_type, shape.report_instances
        found = sizes_on(kind, instances - 1, where=stack, next_step="")
        driver, executor = found.driver, found.executor
        lines.append(
            [
                stack, f"{instances} x {kind}", f"{driver.heap_mib:,} + {driver.beside_heap_mib:,}", f"{found.executors}",
                f"{executor.heap_mib:,} + {executor.beside_heap_mib:,}", f"{executor.cores}",
                f"{found.memory_mib:,} of {(instances - 1) * load_nodes()[kind].yarn_memory_mib:,}",
            ]
        )  # fmt: skip
    headings = ("stack", "cluster", "driver, MiB", "executors", "each, MiB", "tasks at a time, each", "of YARN's MiB")
    return _table(headings, lines)


TABLES: Mapping[str, Callable[[Summary], str]] = {
    "percentiles": percentiles,
    "report job": report_jobs,
    "growth": growth,
    "machine": machine,
    "sizes": sizes,
    "basis": basis,
    "cost": cost,
}


def with_tables(page: str, summary: Summary) -> str:
    """The page with every table between its two comments written anew. Raises ValueError if one has no place there."""
    for name, table in TABLES.items():
        found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->\n", page, re.DOTALL)
        if found is None:
            raise ValueError(f"{PAGE.name} has no place for {name!r}")
        page = f"{page[: found.start(1)]}{table(summary)}\n{page[found.end(1) :]}"
    return page


def _millions(per_s: float) -> str:
    return f"{per_s / 1e6:.2f}"


def _memory(footprint: Mapping[str, Any]) -> str:
    return " + ".join(f"{peak / 1e6:,.0f}" for _, peak in sorted(footprint["peak_bytes"].items()))


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [headings, ["---"] * len(headings), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def main(arguments: Sequence[str]) -> None:
    """Brings a measurement, if one is given, and the tables into docs/."""
    if arguments:
        MEASURED.write_text(json.dumps(_summary_in(Path(arguments[0])), indent=1) + "\n")
    PAGE.write_text(with_tables(PAGE.read_text(), json.loads(MEASURED.read_text())))


def _summary_in(printed: Path) -> dict[str, Any]:
    """What the benchmark's last line says; ends the program if `printed` hasn't such a line."""
    lines = printed.read_text().splitlines() if printed.is_file() else []
    with suppress(json.JSONDecodeError):
        summary = json.loads(lines[-1] if lines else "")
        if isinstance(summary, dict) and summary.get("benchmark") == "analysis":
            return summary
    sys.exit(
        f"{printed}: its last line isn't what `make bench-analysis` prints last. Keep that with: make bench-analysis | tee FILE"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
