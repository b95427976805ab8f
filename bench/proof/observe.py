"""Traces the processes that store messages while a sender sends, and brings home what each node did. It deploys and judges nothing."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.checkout import SCRATCH
from bench.proof.sending import Sent, sender_on
from bench.proof.timeline import CALLS, NodeTimeline, timeline_of
from bench.worker.sender import SenderJob
from provisioning.hosts.clocks import clock_bounds
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.strace import Traced, completed_calls, fetch, traced

MESSAGES_FILE = "messages.json"


@dataclass(frozen=True)
class Observed:
    """Every message as its client saw it and as each node did. The client's clock is at most `clock_bound_ns` from theirs."""

    sent: tuple[Sent, ...]
    nodes: tuple[NodeTimeline, ...]
    clock_bound_ns: int
    clock_method: str

    def messages(self) -> list[dict[str, Any]]:
        """Every message with all its times, for whoever wants to judge for himself."""
        return [
            {**asdict(message), "nodes": {node.host: asdict(node.of(message.sequence)) for node in self.nodes}}
            for message in self.sent
        ]


def observe(
    storing: Sequence[tuple[Host, int]],
    client: Host,
    python: str,
    job: SenderJob,
    folder: Path,
    *,
    detail: Callable[[str], None] = lambda _text: None,
    next_step: Callable[[], None] = lambda: None,
) -> Observed:
    """Sends the job from `client`, whose Python the words `python` run, with the processes `storing` (host, pid) under strace.

    The traces are kept in `folder`. `next_step` is called when the messages are sent. Raises HostError, HostsFailed.
    """
    clocked = list({host.name: host for host in (client, *(host for host, _ in storing))}.values())
    before = clock_bounds(clocked)
    with (
        sender_on(client, python, job) as sender,
        traced(storing, CALLS, f"{job.run}.strace") as outputs,
    ):
        sent = sender.send(lambda settled: detail(f"{settled} of {job.messages} messages"))
    after = clock_bounds(clocked)
    next_step()
    worst = max((before[client.name], after[client.name]), key=lambda bound: bound.bound_ns)
    of_host = {each.host.name: each for each in outputs}
    nodes = on_all(
        "reading traces",
        [each.host for each in outputs],
        lambda host: _brought_home(of_host[host.name], job.run, folder),
    )
    return Observed(sent, tuple(nodes.values()), worst.bound_ns, worst.method)


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
