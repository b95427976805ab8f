"""Are 1,000 random mutations of a bundle found and named, and none in honest bundles? With the real report job, in one Spark session.

python -m tests.bundle [COUNT] [SEED]     exits 1 if one isn't found, isn't named rightly, or is seen where there is none

Figures are recomputed only where nothing else tells a mutation, and what was made of the same files once isn't made again. A row that
was altered, and all sums with it, so that no figure moves is told by the root alone: the table says how many.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.bundle.write import make_bundle
from bench.checkout import CHECKOUT, SCRATCH
from bench.results.folder import Results
from bench.verify.seals import Expected
from bench.verify.verify import MakesReports
from tests.bundle.honest import honest_results
from tests.bundle.trying import Kept, Tried, find, make_world, try_one

HONEST = 20
COUNT, SEED = 1_000, 1


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    count, seed = ([int(each) for each in arguments] + [COUNT, SEED][len(arguments) :])[:2]
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutations-", dir=SCRATCH) as name:
        os.environ |= {"MPLCONFIGDIR": name, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        from analysis.session import start_session
        from tests.bundle.on_spark import InThisProcess

        spark = start_session("samebox mutations")
        try:
            return _run(Path(name), InThisProcess(spark), count, seed)
        finally:
            spark.stop()


def _run(folder: Path, make_report: MakesReports, count: int, seed: int) -> int:
    results = honest_results(folder / "results" / "demo")
    make_report(Results(results), results / "report")
    (folder / "world").mkdir()
    (folder / "kept").mkdir()
    world, kept = make_world(results, folder / "world"), Kept(make_report, folder / "kept")
    began_s = time.monotonic()
    tried = [_told(try_one(world, folder, number, seed, kept)) for number in range(count)]
    mutations_s = time.monotonic() - began_s
    false = _false_in_honest(folder, make_report)
    _print(tried)
    wrong = [each for each in tried if not (each.found and each.named)]
    figures = [each for each in tried if each.recomputed and not each.by_root]
    print(
        json.dumps(
            {
                "mutations": count,
                "found": sum(each.found for each in tried),
                "named": sum(each.named for each in tried),
                "by_figures_alone": len(figures),
                "by_root_alone": sum(each.by_root for each in tried),
                "seconds": round(mutations_s, 1),
                "seconds_without_spark_median": sorted(each.seconds for each in tried)[count // 2],
                "reports_made": kept.made,
                "seconds_a_report": round(kept.seconds / max(1, kept.made), 2),
                "honest": HONEST,
                "false": false,
            }
        )
    )
    return 1 if wrong or false else 0


def _told(tried: Tried) -> Tried:
    if tried.by_root:
        print(f"BY ITS ROOT ALONE: {tried}", flush=True)
    if not (tried.found and tried.named):
        print(f"NOT {'NAMED' if tried.found else 'FOUND'}: {tried}", flush=True)
    return tried


def _false_in_honest(folder: Path, make_report: MakesReports) -> int:
    """Honest bundles, each made in a folder of its own of results that were written there, in which something is said to differ."""
    false = 0
    for number in range(HONEST):
        home = folder / f"clone-{number}" / ("x" * (number % 3 + 1))
        results = honest_results(home / "results" / f"demo-{number}")
        make_report(Results(results), results / "report")
        target = home / "demo.samebox"
        make_bundle(Results(results), target, checkout=CHECKOUT)
        differences, recomputed = find(target, home, Expected(), make_report)
        false += bool(differences) or not recomputed
        if differences:
            print(f"FALSE: {differences[:3]}", flush=True)
    return false


def _print(tried: Sequence[Tried]) -> None:
    kinds = Counter((each.mutation, each.forger) for each in tried)
    print(f"{'mutation':20} {'forger':10} {'tried':>6} {'found':>6} {'named':>6} {'by figures':>10} {'by root':>8}")
    for (mutation, forger), times in sorted(kinds.items()):
        own = [each for each in tried if (each.mutation, each.forger) == (mutation, forger)]
        found, named, roots = (sum(getattr(each, name) for each in own) for name in ("found", "named", "by_root"))
        figures = sum(each.recomputed and not each.by_root for each in own)
        print(f"{mutation:20} {forger:10} {times:6} {found:6} {named:6} {figures:10} {roots:8}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
