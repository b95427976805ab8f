"""Traces the processes that store messages while a sender sends, and brings home what each node did."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.checkout import SCRATCH
from bench.proof.timeline import CALLS, NodeTimeline, Sent, timeline_of
from bench.worker.sender import SenderJob
from provisioning.errors import HostError
from provisioning.hosts.clocks import ClockBound, clock_bounds
from provisioning.hosts.host import Host, RemoteProcess, on_all
from provisioning.hosts.strace import Traced, completed_calls, fetch, traced

MESSAGES_FILE = "messages.json"
_LAST_WORDS_TIMEOUT_S = 10.0


class Sender:
    """The sender's process on a client host, as the operator sees it."""

    def __init__(self, host: Host, process: RemoteProcess) -> None:
        self._host, self._process, self._lines = host, process, process.lines()

    def await_ready(self) -> None:
        """Raises HostError if it can't connect."""
        self._next("ready")

    def send(self, on_message: Callable[[int], None]) -> tuple[Sent, ...]:
        """Sends all messages; `on_message` gets how many are settled. Raises HostError when the sender fails."""
        self._process.send_line("begin")
        settled: list[Sent] = []
        while (event := self._next("message", "done")) is not None:
            settled.append(Sent(**event))
            on_message(len(settled))
        return tuple(settled)

    def _next(self, *kinds: str) -> dict[str, Any] | None:
        """The next event's fields; None for `done`."""
        line = next(self._lines, None)
        if line is None:
            said = self._process.wait(timeout_s=_LAST_WORDS_TIMEOUT_S).stderr.strip()[-400:]
            raise HostError(self._host.name, f"the proof's sender exited early. {said}".rstrip())
        event: dict[str, Any] = json.loads(line)
        kind = event.pop("event")
        if kind not in kinds:
            raise HostError(self._host.name, f"the proof's sender failed: {event.get('error', kind)}")
        return None if kind == "done" else event


@dataclass(frozen=True)
class Traces:
    """Every message as its client saw it; the traces are still on their hosts. `clock`: the client's, at its worst."""

    run: str
    sent: tuple[Sent, ...]
    outputs: tuple[Traced, ...]
    clock: ClockBound


@dataclass(frozen=True)
class Observed:
    """Every message as its client saw it and as each node did. The client's clock is at most `clock_bound_ns` from theirs."""

    sent: tuple[Sent, ...]
    nodes: tuple[NodeTimeline, ...]
    clock_bound_ns: int
    clock_method: str

    def messages(self) -> list[dict[str, Any]]:
        """Every message with all its times, so that a reader can judge for themselves."""
        return [
            {**asdict(message), "nodes": {node.host: asdict(node.of(message.sequence)) for node in self.nodes}}
            for message in self.sent
        ]


def send_traced(
    storing: Sequence[tuple[Host, int]],
    client: Host,
    python: str,
    job: SenderJob,
    *,
    detail: Callable[[str], None] = lambda _text: None,
) -> Traces:
    """Sends the job from `client`, whose Python the words `python` run, with the processes `storing` (host, pid) under strace.

    Raises HostError, HostsFailed.
    """
    clocked = list({host.name: host for host in (client, *(host for host, _ in storing))}.values())
    before = clock_bounds(clocked)
    with closing(client.spawn(f"exec {python} -m bench.worker.sender")) as process:
        process.send_line(job.to_line())
        sender = Sender(client, process)
        sender.await_ready()
        with traced(storing, CALLS, f"{job.run}.strace") as outputs:
            sent = sender.send(lambda settled: detail(f"{settled} of {job.messages} messages"))
    after = clock_bounds(clocked)
    worst = max((before[client.name], after[client.name]), key=lambda bound: bound.bound_ns)
    return Traces(job.run, sent, outputs, worst)


def read_traces(traces: Traces, folder: Path) -> Observed:
    """Brings the traces into `folder` and reads them. Raises HostsFailed."""
    of_host = {each.host.name: each for each in traces.outputs}
    nodes = on_all(
        "reading traces",
        [each.host for each in traces.outputs],
        lambda host: _brought_home(of_host[host.name], traces.run, folder),
    )
    return Observed(traces.sent, tuple(nodes.values()), traces.clock.bound_ns, traces.clock.method)


def _brought_home(output: Traced, run: str, folder: Path) -> NodeTimeline:
    """Fetches one trace, keeps it compressed, and reads it."""
    name = output.host.name
    raw, kept = SCRATCH / f"{run}-{name}.strace", folder / f"{name}.strace.gz"
    kept.parent.mkdir(parents=True, exist_ok=True)
    try:
        fetch(output, raw)
        with raw.open("rb") as source, gzip.open(kept, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target)
    finally:
        raw.unlink(missing_ok=True)
    with gzip.open(kept, "rt", errors="surrogateescape") as lines:
        return timeline_of(name, completed_calls(lines), run)
