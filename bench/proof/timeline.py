"""What one node did with each message, read from its strace: arrived, written to a file, that file synced.

A sync counts for a message only if it is of a file that the message was written to, began after that write had returned, and
succeeded. The number of syncs alone says nothing: with group commit one serves many messages, and files are synced for others' sake.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from bench.worker.sender import sequences_in
from provisioning.hosts import async_io
from provisioning.hosts.strace import Call

READS = ("read", "readv", "recvfrom", "recvmsg")
WRITES = ("write", "writev", "pwrite64", "pwritev", "pwritev2")
# msync and sync_file_range are not among them: the first is of mapped indexes, the second promises nothing.
SYNCS = ("fsync", "fdatasync")
CALLS = (*READS, *WRITES, *SYNCS, *async_io.CALLS)
# A file's sync that comes so long after the one before it may be a timer's; messages follow each other within milliseconds.
TIMER_NS = 900_000_000


@dataclass(frozen=True)
class Sent:
    """One message: ns since the epoch on the client's wall clock. `acked_ns` None = not acknowledged, with `error`."""

    sequence: int
    sent_ns: int
    acked_ns: int | None
    error: str | None = None


@dataclass(frozen=True)
class Kept:
    """When a node first had a message in memory (read from a socket), in a file, and in a file that was then synced; ns.

    `synced_untimed_ns`: likewise, but for syncs that may be a timer's, which come whether or not a message waits for them.
    """

    arrived_ns: int | None = None
    written_ns: int | None = None
    synced_ns: int | None = None
    synced_untimed_ns: int | None = None


@dataclass(frozen=True)
class NodeTimeline:
    """One node: its steps with each message that it saw, the files that messages were written to, all its syncs."""

    host: str
    messages: Mapping[int, Kept]
    files: tuple[str, ...]
    syncs: int

    def of(self, sequence: int) -> Kept:
        """What this node did with one message."""
        return self.messages.get(sequence, Kept())


@dataclass
class _Seen:
    arrived: dict[int, int] = field(default_factory=dict)
    writes: dict[int, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    syncs: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))


def timeline_of(host: str, calls: Iterable[Call], run: str) -> NodeTimeline:
    """The timeline of a node's calls, in any order."""
    seen = _Seen()
    for call in async_io.with_completions(calls):
        _note(seen, call, run)
    syncs = {path: _Syncs(each) for path, each in seen.syncs.items()}
    untimed = {path: _Syncs(_untimed(each)) for path, each in seen.syncs.items()}
    messages = {}
    for sequence in seen.arrived.keys() | seen.writes.keys():
        writes = seen.writes.get(sequence, [])
        messages[sequence] = Kept(
            seen.arrived.get(sequence),
            min((written_ns for _, written_ns in writes), default=None),
            _first_end(syncs, writes),
            _first_end(untimed, writes),
        )
    files = sorted({path for writes in seen.writes.values() for path, _ in writes})
    return NodeTimeline(host, messages, tuple(files), sum(len(each) for each in seen.syncs.values()))


def _note(seen: _Seen, call: Call, run: str) -> None:
    if call.path is None or call.returned < 0:
        return
    is_file = call.path.startswith("/")
    if call.name in SYNCS:
        seen.syncs[call.path].append((call.started_ns, call.ended_ns))
    elif call.name in WRITES and is_file:
        for sequence in sequences_in(call.arguments, run):
            seen.writes[sequence].append((call.path, call.ended_ns))
    elif call.name in READS and not is_file:
        for sequence in sequences_in(call.arguments, run):
            seen.arrived[sequence] = min(call.ended_ns, seen.arrived.get(sequence, call.ended_ns))


class _Syncs:
    """The syncs (start, end) of one file."""

    def __init__(self, syncs: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(syncs)
        self._starts = [started_ns for started_ns, _ in ordered]
        # beside each the earliest end of all that start there or later
        ends = [ended_ns for _, ended_ns in ordered]
        self._ends = list(accumulate(reversed(ends), min))[::-1]

    def first_end(self, written_ns: int) -> int | None:
        """The earliest end of a sync that began after the write."""
        at = bisect_left(self._starts, written_ns)
        return self._ends[at] if at < len(self._ends) else None


def _first_end(syncs: Mapping[str, _Syncs], writes: Iterable[tuple[str, int]]) -> int | None:
    ends = (syncs[path].first_end(written_ns) for path, written_ns in writes if path in syncs)
    return min((end for end in ends if end is not None), default=None)


def _untimed(syncs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those that came soon after the one before, so never the first."""
    return [(start, end) for (before, _), (start, end) in pairwise(sorted(syncs)) if start - before < TIMER_NS]
