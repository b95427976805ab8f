"""python -m tests.site [BUNDLES] [--keep FOLDER]: how long a site of many bundles takes, how large it is, and how soon it answers.

Bundles are of made-up campaigns, as tests have them; a browser opens the site as a file. `make bench-site` runs it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.checkout import CHECKOUT, SCRATCH
from bench.site.write import DATA, INDEX
from tests.chromium import ARGUMENTS, CHROMIUM
from tests.site.bundles import bundle_of
from tests.site.reports import Ran, report_of

BUNDLES = 500
OPENED = 5  # times
RATES, LEVELS, BLOCKS = (400, 1_000, 5_000), ("1", "2"), (2, 6, 9)
SYSTEMS = {
    "kafka": ("3.9.1", "4.1.1", "4.3.1", "4.4.0"),
    "nats": ("2.12.8", "2.15.1"),
    "pulsar": ("4.0.9", "4.2.4"),
    "rabbitmq": ("4.0.5",),
    "valkey": ("9.1.2",),
}
# when the first figure has been painted, counted from when the browser began to load the page
PAINTED = "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"


def main() -> None:
    """Parses the arguments, measures and prints."""
    parser = argparse.ArgumentParser(prog="tests.site", description=__doc__)
    parser.add_argument("bundles", type=int, nargs="?", default=BUNDLES)
    parser.add_argument("--keep", type=Path, help="where to leave the site")
    options = parser.parse_args()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="many-", dir=SCRATCH) as scratch:
        folder = Path(scratch)
        paths = write_bundles(folder / "bundles", options.bundles)
        size_bytes = sum(path.stat().st_size for path in paths)
        print(f"{len(paths)} bundles, {size_bytes / 1e6:,.0f} MB, {size_bytes / len(paths) / 1e3:,.0f} kB each")
        site = options.keep or folder / "site"
        seconds = make(paths, site)
        files = [path for path in site.rglob("*") if path.is_file()]
        total, data = sum(path.stat().st_size for path in files), (site / DATA).stat().st_size
        print(f"samebox site: {seconds:.1f} s; {total / 1e6:.2f} MB, of which data {data / 1e6:.2f} MB")
        print(f"opened {OPENED} times: {look(site)}")


def write_bundles(folder: Path, count: int) -> list[Path]:
    """Campaigns of two contestants each, with every metric that a site shows, at some rates, levels and numbers of blocks."""
    contestants = [(system, version) for system, versions in SYSTEMS.items() for version in versions]
    pairs = [(one, other) for one, other in product(contestants, contestants) if one < other]
    paths = []
    for number in range(count):
        cell = {"level": LEVELS[number % len(LEVELS)], "rate_per_s": RATES[number // 2 % len(RATES)]}
        ran = [
            Ran(f"{system}-{version}", system, version, 2.0 + (number * place) % 7 / 3, **cell)  # type: ignore[arg-type]
            for place, (system, version) in enumerate(pairs[number % len(pairs)], 1)
        ]
        name = f"campaign-{number:03}"
        report = report_of(ran, name=name, blocks=BLOCKS[number % len(BLOCKS)], day=number)
        paths.append(folder / f"{name}.samebox")
        bundle_of(report, paths[-1], records=number % 10 != 0)
    return paths


def make(paths: list[Path], site: Path) -> float:
    """Seconds that the command takes, as typed."""
    began = time.monotonic()
    command = [str(Path(sys.executable).with_name("samebox")), "site", *map(str, paths), "-o", str(site), "--plain"]
    subprocess.run(command, check=True, capture_output=True, cwd=CHECKOUT)
    return time.monotonic() - began


def look(site: Path) -> str:
    """When the front page was drawn and a filter answered, as medians; a browser that has nothing in its cache."""
    drawn, filtered = [], []
    with sync_playwright() as playwright:
        for _ in range(OPENED):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            page = browser.new_page(viewport={"width": 1200, "height": 900})
            page.goto(f"file://{site / INDEX}")
            drawn.append(float(page.evaluate(PAINTED)))
            began = float(page.evaluate("performance.now()"))
            page.select_option("select[name=system]", "kafka")
            filtered.append(float(page.evaluate(PAINTED)) - began)
            browser.close()
    return f"drawn after {_seconds(drawn)}, filtered in {_seconds(filtered)}"


def _seconds(values_ms: list[float]) -> str:
    low, middle, high = min(values_ms), statistics.median(values_ms), max(values_ms)
    return f"{middle / 1e3:.2f} s ({low / 1e3:.2f} to {high / 1e3:.2f})"


if __name__ == "__main__":
    main()
