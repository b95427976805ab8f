"""Is a durability level what it says? Judged from what every node had done with each message when its acknowledgement came.

Each promise of the level becomes a requirement, each requirement is proven, disproved or not shown, and the worst counts. Hosts'
clocks are only so close: within their bound a time is neither before nor after the acknowledgement, and what hangs on it isn't shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bench.proof.timeline import Kept, NodeTimeline, Sent
from contract.durability import Durability

Verdict = Literal["proven", "not shown", "disproved"]
_WORST_LAST: tuple[Verdict, ...] = ("proven", "not shown", "disproved")
# A level that doesn't wait for the disk: a sync that happens to fall between a write and its acknowledgement is no promise.
HARDLY_ANY = 0.01
# So many messages with a sync that may have been a timer's, and it can't be told from one that they waited for.
TOO_MANY_TIMED = 0.1


@dataclass(frozen=True)
class Requirement:
    """One thing that must hold for the level to be what it says. `share` of the messages is what the sentence tells."""

    name: str
    verdict: Verdict
    share: float
    sentence: str


@dataclass(frozen=True)
class Judgement:
    """A level's verdict with all that it rests on.

    `arrived`, `written`, `synced`: by number of nodes (from 0), how many messages had certainly reached the memory, the file, the
    disk of so many when their acknowledgement came. `unseen`: acknowledged but on no node, so the trace missed them.
    """

    verdict: Verdict
    requirements: tuple[Requirement, ...]
    messages: int
    acknowledged: int
    unseen: int
    copies: int
    clock_bound_ns: int
    arrived: tuple[int, ...]
    written: tuple[int, ...]
    synced: tuple[int, ...]

    @property
    def sentence(self) -> str:
        """Why, in short: the requirements that the verdict comes from."""
        return " ".join(each.sentence for each in self.requirements if each.verdict == self.verdict and each.sentence)

    def to_json(self) -> dict[str, Any]:
        """As proof.json carries it."""
        return {**asdict(self), "sentence": self.sentence}


@dataclass(frozen=True)
class _Nodes:
    """On how many nodes something had happened by the acknowledgement: certainly, and as far as the clocks can tell possibly."""

    certainly: int
    possibly: int


def judge(
    durability: Durability, sent: Sequence[Sent], nodes: Sequence[NodeTimeline], *, clock_bound_ns: int, replicas: int,
    untraced: str = "",
) -> Judgement:  # fmt: skip
    """The judgement on one level of one system. `replicas` of each message there should be; a quorum is more than half of them.

    `untraced`: why no trace can show that the level is kept (`System.untraced`); it is then not shown, whatever was seen.
    """
    copies = replicas // 2 + 1 if durability.replication == "sync" else 1
    acknowledged = [message for message in sent if message.acked_ns is not None]
    seen = [message for message in acknowledged if any(message.sequence in node.messages for node in nodes)]

    def by_ack(step: Callable[[Kept], int | None]) -> list[_Nodes]:
        return [_by_ack(message, nodes, step, clock_bound_ns) for message in seen]

    arrived = by_ack(lambda kept: _earlier(kept.arrived_ns, kept.written_ns))
    written, synced = by_ack(lambda kept: kept.written_ns), by_ack(lambda kept: kept.synced_ns)
    hardly_synced = _hardly_any("synced to disk", by_ack(lambda kept: kept.synced_untimed_ns), by_timer=synced)
    if untraced:
        promised = "synced to disk" if durability.local == "sync" else "not synced to disk"
        requirements = [Requirement(promised, "not shown", 0.0, untraced)]
    elif durability.local == "sync":
        requirements = [_on_enough("synced to disk", synced, copies)]
    elif durability.variant is not None and durability.variant.in_memory:
        hardly_written = _hardly_any("written to a file", written)
        requirements = [_on_enough("in memory", arrived, copies), hardly_written, hardly_synced]
    else:
        requirements = [_on_enough("written to the page cache", written, copies), hardly_synced]
    requirements.append(_all_seen(len(sent), len(acknowledged), len(seen)))
    return Judgement(
        verdict=max((each.verdict for each in requirements), key=_WORST_LAST.index),
        requirements=tuple(requirements),
        messages=len(sent),
        acknowledged=len(acknowledged),
        unseen=len(acknowledged) - len(seen),
        copies=copies,
        clock_bound_ns=clock_bound_ns,
        arrived=_histogram(arrived, len(nodes)),
        written=_histogram(written, len(nodes)),
        synced=_histogram(synced, len(nodes)),
    )


def _by_ack(message: Sent, nodes: Sequence[NodeTimeline], step: Callable[[Kept], int | None], bound_ns: int) -> _Nodes:
    times = [at_ns for node in nodes if (at_ns := step(node.of(message.sequence))) is not None]
    acked_ns = message.acked_ns or 0
    return _Nodes(
        sum(at_ns + bound_ns <= acked_ns for at_ns in times), sum(at_ns - bound_ns <= acked_ns for at_ns in times)
    )


def _on_enough(state: str, messages: Sequence[_Nodes], copies: int) -> Requirement:
    """Every message in that state on at least so many nodes."""
    kept = sum(each.certainly >= copies for each in messages)
    broken = sum(each.possibly < copies for each in messages)
    where = f"on at least {copies} node{'s' if copies > 1 else ''}"
    share = kept / len(messages) if messages else 0.0
    verdict: Verdict = "disproved" if broken else "proven" if messages and kept == len(messages) else "not shown"
    sentence = f"{kept} of {len(messages)} messages were {state} {where} before their acknowledgement came."
    if verdict == "not shown" and messages:
        sentence += f" For {len(messages) - kept} the clocks are not close enough to tell."
    return Requirement(f"{state} {where}", verdict, share, sentence)


def _hardly_any(state: str, messages: Sequence[_Nodes], by_timer: Sequence[_Nodes] = ()) -> Requirement:
    """Hardly any message in that state on any node. `by_timer`: the same messages, with what a timer may have done."""
    certainly, possibly = sum(each.certainly > 0 for each in messages), sum(each.possibly > 0 for each in messages)
    timed = sum(each.possibly > 0 for each in by_timer) - possibly if by_timer else 0
    share = possibly / len(messages) if messages else 0.0
    verdict: Verdict = "not shown"
    if messages and certainly / len(messages) >= HARDLY_ANY:
        verdict = "disproved"
    elif messages and share < HARDLY_ANY and timed / len(messages) < TOO_MANY_TIMED:
        verdict = "proven"
    sentence = f"{possibly} of {len(messages)} were {state} anywhere before it."
    if timed:
        sentence = f"{sentence[:-1]}, and {timed} by what may be a timer."
    return Requirement(f"not {state} (below {HARDLY_ANY:.0%})", verdict, share, sentence)


def _all_seen(sent: int, acknowledged: int, seen: int) -> Requirement:
    """Whether the evidence is whole: every message was acknowledged, and traced on at least one node."""
    share = seen / sent if sent else 0.0
    if sent and seen == sent:
        return Requirement("every message traced", "proven", share, "")
    missed = (
        [f"{sent - acknowledged} of {sent} messages were not acknowledged"] if acknowledged < sent or not sent else []
    )
    if seen < acknowledged:
        missed.append(f"{acknowledged - seen} acknowledged messages were seen on no node")
    return Requirement("every message traced", "not shown", share, f"{', and '.join(missed)}.")


def _earlier(one_ns: int | None, other_ns: int | None) -> int | None:
    """What is in a file has been in memory before."""
    return min((each for each in (one_ns, other_ns) if each is not None), default=None)


def _histogram(messages: Sequence[_Nodes], nodes: int) -> tuple[int, ...]:
    counts = [each.certainly for each in messages]
    return tuple(counts.count(number) for number in range(nodes + 1))
