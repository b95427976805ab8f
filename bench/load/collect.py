"""Brings the record files of a run from the client hosts to the operator's disk, whole, and removes them there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from provisioning.host import Host, on_all

if TYPE_CHECKING:
    from bench.load.driver import LoadResult


def collect_records(result: LoadResult, hosts: Sequence[Host], trial_dir: Path) -> None:
    """Fetches produced/*.parquet and consumed/*.parquet into `trial_dir`, then removes the run's directory on each host.

    A host whose files could not all be fetched keeps them. Raises HostsFailed.
    """
    for name in ("produced", "consumed"):
        (trial_dir / name).mkdir(parents=True, exist_ok=True)

    def fetch(host: Host) -> None:
        directory = f"{host.record.root}/{result.directory}"
        for file in result.files:
            if file.host == host.name:
                host.fetch(f"{directory}/{file.name}", trial_dir / file.name)
        host.run(f"rm -rf -- {shlex.quote(directory)}")

    on_all("collecting records", hosts, fetch)
