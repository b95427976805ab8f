"""The campaigns of a made-up site: two systems, versions of one, faults, a published report, and one without records.

Test material only.
"""

from __future__ import annotations

from pathlib import Path

from analysis.omb.import_task import import_files
from bench.site.reading import read_all
from bench.site.write import write_site
from contract.colours import COLOURS
from systems.registry import SYSTEMS
from tests.analysis.omb_results import PUBLISHED
from tests.site.bundles import bundle_of
from tests.site.reports import KAFKA, PULSAR, Ran, report_of

VERSIONS = [
    Ran(f"kafka-{version}", "kafka", version, ms) for version, ms in (("3.9.1", 6.0), ("4.10.0", 4.0), ("4.4.0", 6.01))
]
HURT = [
    Ran("kafka", "kafka", "4.3.1", 4.0, workload="kill-leader", lost=(0, 2), gap_s=1.5),
    Ran("nats", "nats", "2.15.1", 2.0, workload="kill-leader", lost=(0,), gap_s=4.0),
]
MEMORY = [Ran(each.contestant, each.system, each.version, each.median_ms / 4, level="2") for each in (KAFKA, PULSAR)]
SLOW = Ran("valkey", "valkey", "9.1.2", 9.0, validity="invalid", failed=("no-loss",))


def made_up(folder: Path) -> list[Path]:
    """Writes the bundles, and an import beside them; returns them in an order that isn't theirs."""
    reports = {
        "demo": report_of([KAFKA, PULSAR], blocks=2),
        "both-levels": report_of([KAFKA, PULSAR, SLOW, *MEMORY], name="both-levels", day=3),
        "watch-kafka": report_of(VERSIONS, name="watch-kafka", day=5),
        "faults": report_of(HURT, name="faults", blocks=4, day=6),
    }
    for name, report in reports.items():
        bundle_of(report, folder / f"{name}.samebox", records=name != "both-levels")
    import_files([str(file) for file in sorted(PUBLISHED.rglob("*.json"))[:3]], out=folder / "imported")
    return [
        folder / "faults.samebox",
        folder / "imported",
        *(folder / f"{name}.samebox" for name in reports if name != "faults"),
    ]


def colours() -> dict[str, str]:
    """As the command has them."""
    return {name: COLOURS[system.colour] for name, system in sorted(SYSTEMS.items()) if system.colour}


def site_of(paths: list[Path], folder: Path) -> Path:
    """Writes a site of bundles and imports."""
    write_site(read_all(paths, lambda _name: None), folder, colours())
    return folder
