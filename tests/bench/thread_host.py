"""Client hosts in memory: their worker processes are threads of the test, their files this machine's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pyarrow.parquet as pq

from bench.load.collect import collect_records
from bench.load.load import NO_HOOKS, Hooks, LoadResult, LoadSpec
from bench.load.worker_pool import run_load
from bench.worker.control import Inbox
from bench.worker.job import event
from bench.worker.main import serve
from provisioning.errors import CommandTimedOut, Completed
from provisioning.hosts.host import Host, RemoteProcess
from provisioning.hosts.inventory import HostRecord, SshAddress

Sabotage = Callable[["ThreadProcess", str], str | None]


class ThreadProcess:
    """A RemoteProcess whose worker is two threads of this process. `sabotage` sees each line and may change, drop or end it."""

    def __init__(self, host: str, sabotage: Sabotage) -> None:
        self.host = host
        self.output: SimpleQueue[str | Exception | None] = SimpleQueue()
        self.ended = threading.Event()
        self.heard_out = threading.Event()  # the operator has taken its last line
        self.status = -1
        self.aborted = threading.Event()
        self.orders: list[str] = []
        self._sabotage = sabotage
        self._input: SimpleQueue[str | None] = SimpleQueue()
        self._inbox = Inbox(on_abort=self.aborted.set)
        threading.Thread(target=self._inbox.follow, args=(iter(self._input.get, None),), daemon=True).start()
        threading.Thread(target=self._serve, daemon=True).start()

    def send_line(self, line: str) -> None:
        self.orders.append(line)
        self._input.put(line)

    def _serve(self) -> None:
        def emit(name: str, fields: Any) -> None:
            changed = self._sabotage(self, event(name, fields))
            if changed is not None:
                self.output.put(changed)

        self.status = serve(self._inbox, emit)
        self.ended.set()
        self.output.put(None)

    def lines(self) -> Iterator[str]:
        while (line := self.output.get()) is not None:
            if isinstance(line, Exception):
                raise line
            yield line
        self.heard_out.set()

    def wait(self, *, timeout_s: float) -> Completed:
        if not self.ended.wait(timeout_s):
            raise CommandTimedOut(self.host, "worker", timeout_s)
        return Completed("worker", "", "", self.status)

    def close(self) -> None:
        self._input.put(None)


class ThreadHost:
    """A client host whose processes are threads and whose files are this machine's, below `record.root`."""

    def __init__(self, name: str, root: Path, sabotage: Sabotage = lambda _process, line: line) -> None:
        ssh = SshAddress("127.0.0.1", 22, "nobody", "")
        self.record = HostRecord(name, "client", ssh, "127.0.0.1", str(root / name), (), "i", "t", 1)
        self.processes: list[ThreadProcess] = []
        self.asked: list[str] = []
        self.answer: Exception | None = None
        self._sabotage = sabotage

    @property
    def name(self) -> str:
        return self.record.name

    def run(
        self, command: str, *, timeout_s: float = 60.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        del timeout_s, check, stdin
        self.asked.append(command)
        if self.answer is not None:
            raise self.answer
        return Completed(command, "", "", 0)

    def spawn(self, command: str) -> RemoteProcess:
        assert command == "exec python3 -m bench.worker.main"
        self.processes.append(ThreadProcess(self.name, self._sabotage))
        return self.processes[-1]

    def put(self, content: bytes, path: str, *, mode: int = 0o644) -> None:
        raise AssertionError(f"unexpected put of {path}: {content!r}, {mode}")

    def push(self, source: Path, path: str, *, mode: int = 0o644) -> None:
        raise AssertionError(f"unexpected push of {source} to {path}, {mode}")

    def get(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def fetch(self, path: str, target: Path) -> None:
        target.write_bytes(Path(path).read_bytes())

    def close(self) -> None:
        return None


def load(spec: LoadSpec, hosts: list[ThreadHost], hooks: Hooks = NO_HOOKS) -> LoadResult:
    """Runs it."""
    typed: list[Host] = [*hosts]
    return run_load(spec, typed, {host.name: "python3" for host in hosts}, hooks)


def rows_of(result: LoadResult, hosts: list[ThreadHost], folder: Path, kind: str) -> list[dict[str, Any]]:
    """All rows of one kind, collected, in the order of the files."""
    collect_records(result, [*hosts], folder)
    rows = [row for file in sorted((folder / kind).iterdir()) for row in pq.read_table(file).to_pylist()]
    counted = result.produced_rows if kind == "produced" else result.consumed_rows
    assert len(rows) == counted
    return rows
