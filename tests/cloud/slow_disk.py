"""A rehearsal in which one machine's disk is slow, so that vetting rejects it and has its host replaced through Pulumi."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from provisioning.testbeds.aws.rehearsal.iam.reference import REGION
from tests.cloud.faults import Cloud, Faults

SLOW_HOST, SLOW_BYTES_PER_S = "broker-2", 6_000_000


@contextlib.contextmanager
def only_first_is_slow(state_dir: Path) -> Iterator[set[str]]:
    """The first machine called SLOW_HOST in the cloud that is to be in `state_dir` has a slow disk, its successors don't.

    Yields a set that will hold the first one's id.
    """
    cloud = Cloud("", REGION, {}, state_dir)
    slow: set[str] = set()
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.1) and not (state_dir / "server.log").exists():
            pass
        cloud.inject(Faults(disk_bytes_per_s={SLOW_HOST: SLOW_BYTES_PER_S}))
        while not ended.wait(0.1) and not slow:
            # its console is there once it has been told how fast its disk is
            slow.update(
                each.parent.name for each in state_dir.glob("hosts/*/console.log") if _name(each.parent) == SLOW_HOST
            )
        cloud.inject(Faults())

    watching = threading.Thread(target=watch, name="only-first-is-slow")
    watching.start()
    try:
        yield slow
    finally:
        ended.set()
        watching.join()


def _name(host: Path) -> str:
    return (host / "upper/etc/hostname").read_text().strip()
