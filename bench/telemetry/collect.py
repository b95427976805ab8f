"""Telemetry of a whole testbed: starts the samplers, ends them, fetches their samples as records."""

from __future__ import annotations

import contextlib
import json
import shlex
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from provisioning.errors import HostError
from provisioning.hosts.host import Host, RemoteProcess, on_all

SCHEMA_VERSION = "1"
MACHINE = "machine"
STOP_TIMEOUT_S = 30.0
SAMPLER_FILES = ("__init__.py", "procfs.py", "allowances.py", "sampler.py")
GAUGES = frozenset(
    {"cpus", "run_queue", "dirty_bytes", "writeback_bytes", "cached_bytes", "available_bytes", "rss_bytes", "threads"}
)
_FIELDS: list[pa.Field[Any]] = [
    pa.field("time_ns", pa.int64(), nullable=False),
    *(pa.field(name, pa.string(), nullable=False) for name in ("host", "source", "metric", "kind")),
    pa.field("value", pa.float64(), nullable=False),
]
HOSTS_SCHEMA = pa.schema(_FIELDS, metadata={"samebox.schema": SCHEMA_VERSION})


class Telemetry:
    """The samplers of one trial. Every host samples its daemons; the first host on each machine the machine too.

    >>> telemetry = Telemetry(hosts, boot_ids)
    >>> telemetry.start(); ...; telemetry.stop(); rows = telemetry.write(trial_dir / "hosts")
    """

    def __init__(self, hosts: Sequence[Host], boot_ids: Mapping[str, str]) -> None:
        """`boot_ids` (host name -> boot id) tells which hosts are the same machine."""
        self._hosts = tuple(hosts)
        self._boot_ids = dict(boot_ids)
        self._samplers: dict[str, RemoteProcess] = {}

    def start(self) -> None:
        """Starts a sampler on every host and waits for its first sample. Ends all of them if one can't start."""
        try:
            on_all("starting telemetry", self._hosts, self._start_on)
        except BaseException:
            self._close_all()
            raise

    def stop(self) -> None:
        """Ends every sampler and waits for it. Raises HostsFailed where one had ended before or ended badly."""
        running = [host for host in self._hosts if host.name in self._samplers]
        try:
            on_all("ending telemetry", running, self._stop_on)
        finally:
            self._close_all()

    def write(self, target_dir: Path, *, lost: Collection[str] = ()) -> int:
        """Fetches all samples into `target_dir`/<host>.parquet; returns the number of rows.

        Hosts named in `lost` are left out: they can't be reached any more, and the trial says so.
        """
        target_dir.mkdir(parents=True, exist_ok=True)
        reachable = [host for host in self._hosts if host.name not in lost]
        rows = on_all("fetching telemetry", reachable, lambda host: _write_one(host, target_dir))
        return sum(rows.values())

    def _start_on(self, host: Host) -> None:
        folder = f"{host.record.root}/telemetry"
        for name in SAMPLER_FILES:
            host.put(Path(__file__).with_name(name).read_bytes(), f"{folder}/sampler/{name}")
        sampler = host.spawn(self._command(host, folder))
        self._samplers[host.name] = sampler
        if next(sampler.lines(), None) != "sampling":
            sampler.close()
            raise HostError(host.name, f"the telemetry sampler didn't start: {_last_words(sampler)}")

    def _command(self, host: Host, folder: str) -> str:
        words = [
            "exec",
            "python3",
            "-m",
            "sampler.sampler",
            "--root",
            host.record.root,
            "--out",
            f"{folder}/samples.jsonl",
        ]
        # the hosts that are the same machine; it is recorded under the name of the first, with the disks of all
        alike = [each for each in self._hosts if self._boot_ids[each.name] == self._boot_ids[host.name]]
        if host is alike[0]:
            words.append("--machine")
            # the sampler counts a device once
            for device, path in sorted({(d.device, d.path) for each in alike for d in each.record.data_dirs}):
                words += ["--disk", device, path]
        return f"cd {shlex.quote(folder)} && {shlex.join(words)}"

    def _stop_on(self, host: Host) -> None:
        sampler = self._samplers[host.name]
        # Whatever is sent to it is ignored: this fails where the connection, and with it the sampler, is gone.
        sampler.send_line("")
        sampler.close()
        completed = sampler.wait(timeout_s=STOP_TIMEOUT_S)
        if completed.exit_status != 0:
            raise HostError(
                host.name,
                f"the telemetry sampler ended with {completed.exit_status}: {completed.stderr.strip()[-500:]}",
            )

    def _close_all(self) -> None:
        for sampler in self._samplers.values():
            sampler.close()
        self._samplers.clear()


def _last_words(sampler: RemoteProcess) -> str:
    with contextlib.suppress(HostError):
        completed = sampler.wait(timeout_s=STOP_TIMEOUT_S)
        return completed.stderr.strip()[-500:] or f"exit {completed.exit_status}"
    return "no answer"


def _write_one(host: Host, target_dir: Path) -> int:
    with tempfile.TemporaryDirectory(prefix=".telemetry-", dir=target_dir) as scratch:
        fetched = Path(scratch) / "samples.jsonl"
        host.fetch(f"{host.record.root}/telemetry/samples.jsonl", fetched)
        table = to_table(host.name, fetched)
        aside = Path(scratch) / "aside.parquet"
        pq.write_table(table, aside, compression="zstd")
        aside.rename(target_dir / f"{host.name}.parquet")
    return table.num_rows


def to_table(host: str, samples: Path) -> pa.Table:
    """The lines of one sampler as rows of docs/records.md "hosts"."""
    rows = [
        {
            "time_ns": time_ns,
            "host": host,
            "source": source,
            "metric": metric,
            "kind": "gauge" if metric in GAUGES else "counter",
            "value": float(value),
        }
        for time_ns, source, metrics in _sources(host, samples)
        for metric, value in metrics.items()
    ]
    return pa.Table.from_pylist(rows, schema=HOSTS_SCHEMA)


def _sources(host: str, samples: Path) -> Iterator[tuple[int, str, dict[str, float]]]:
    lines = samples.read_text().split("\n")
    # The last piece is empty, or a line that a killed sampler didn't finish.
    for number, line in enumerate(lines[:-1], start=1):
        try:
            sample = json.loads(line)
            time_ns, sources = int(sample["time_ns"]), sample["sources"]
        except (ValueError, KeyError, TypeError) as error:
            raise HostError(host, f"line {number} of its telemetry can't be read ({error!r}): {line[:120]!r}") from None
        for source, metrics in sources.items():
            yield time_ns, source, metrics
