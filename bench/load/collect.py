"""Takes the record files of a run from the client hosts: to the operator's disk, or to a bucket that they upload them to."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.load.load import LoadResult
from bench.worker.upload import Order
from provisioning.errors import HostError
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.inventory import RecordsBucket

KINDS = ("produced", "consumed")
_ENDING_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Upload:
    """Hosts send their records to a bucket themselves. `results` is the campaign's folder in it; `pythons` as for `run_load`."""

    bucket: RecordsBucket
    results: str
    pythons: Mapping[str, str]
    on_progress: Callable[[str], None]

    def collect(self, result: LoadResult, hosts: Sequence[Host], trial: str) -> None:
        """Has each host send a run's records and remove them; one whose files did not all arrive keeps them. Raises HostsFailed.

        Hosts can't delete: what an attempt that was cut off has sent, the report removes (it isn't in trial.json).
        """
        place = f"{self.bucket.name}/{self.results}/trials/{trial}"

        def upload(host: Host) -> None:
            directory = f"{host.record.root}/{result.directory}"
            files = {file.name: file.bytes for file in result.files if file.host == host.name}
            self._send(host, Order(self.bucket.region, place, directory, files))
            _remove(host, result)

        on_all("uploading records", hosts, upload)

    def _send(self, host: Host, order: Order) -> None:
        process = host.spawn(f"exec {self.pythons[host.name]} -m bench.worker.upload")
        try:
            process.send_line(order.to_line())
            arrived = set()
            for line in process.lines():
                arrived.add(json.loads(line)["arrived"])
                self.on_progress(f"{host.name}: {len(arrived)} of {len(order.files)} record files sent")
            ended = process.wait(timeout_s=_ENDING_TIMEOUT_S)
        finally:
            process.close()
        if ended.exit_status != 0 or arrived != order.files.keys():
            raise HostError(
                host.name,
                f"{len(arrived)} of {len(order.files)} record files arrived in s3://{order.folder}: {ended.stderr.strip()[-800:]}",
                next_step="Check that the host's role may write there and that its subnet reaches S3.",
            )


def collect_records(result: LoadResult, hosts: Sequence[Host], folder: Path) -> None:
    """Fetches a run's records into `folder` and removes them on each host. Raises HostsFailed."""
    for kind in KINDS:
        (folder / kind).mkdir(parents=True, exist_ok=True)

    def fetch(host: Host) -> None:
        directory = f"{host.record.root}/{result.directory}"
        for file in result.files:
            if file.host == host.name:
                host.fetch(f"{directory}/{file.name}", folder / file.name)
        _remove(host, result)

    on_all("collecting records", hosts, fetch)


def _remove(host: Host, result: LoadResult) -> None:
    host.run(f"rm -rf -- {shlex.quote(f'{host.record.root}/{result.directory}')}")
