"""The judgement on synthetic timelines: honest ones, lying ones, and evidence that isn't enough."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.proof.judge import Judgement, judge
from bench.proof.timeline import Kept, NodeTimeline, Sent
from systems.registry import DURABILITY

MESSAGES, EVERY_NS, ACKED_AFTER_NS = 200, 1_000_000, 500_000
IN_MEMORY, WRITTEN = Kept(100), Kept(100, 200)
SYNCED, SYNCED_TOO_LATE = Kept(100, 200, 300, 300), Kept(100, 200, ACKED_AFTER_NS + 1, ACKED_AFTER_NS + 1)
SYNCED_BY_TIMER = Kept(100, 200, 300)
NEVER_SEEN = Kept()


def shifted(kept: Kept, by_ns: int) -> Kept:
    """The same, later."""
    times = (kept.arrived_ns, kept.written_ns, kept.synced_ns, kept.synced_untimed_ns)
    return Kept(*(None if at_ns is None else at_ns + by_ns for at_ns in times))


def judged(
    level: str, nodes: Sequence[Kept], *, but: Sequence[Kept] = (), others: int = 0, bound_ns: int = 0, failed: int = 0,
    untraced: str = "",
) -> Judgement:  # fmt: skip
    """Every message as `nodes` have it (times after its sending), but the first `others`, which are as in `but`."""
    timelines = []
    for number, usual in enumerate(nodes):
        each = {at: shifted(but[number] if at < others else usual, at * EVERY_NS) for at in range(MESSAGES)}
        seen = {at: kept for at, kept in each.items() if kept != NEVER_SEEN}
        timelines.append(NodeTimeline(f"broker-{number + 1}", seen, (), 0))
    sent = [
        Sent(
            at, at * EVERY_NS, None if at < failed else at * EVERY_NS + ACKED_AFTER_NS, "lost" if at < failed else None
        )
        for at in range(MESSAGES)
    ]
    return judge(DURABILITY[level], sent, timelines, clock_bound_ns=bound_ns, replicas=len(nodes), untraced=untraced)


@pytest.mark.parametrize(
    ("level", "nodes"),
    [
        ("1", [SYNCED, SYNCED, WRITTEN]),
        ("2", [WRITTEN, WRITTEN, NEVER_SEEN]),
        ("2-bypass", [IN_MEMORY, IN_MEMORY, NEVER_SEEN]),
        ("3", [SYNCED, NEVER_SEEN, NEVER_SEEN]),
        ("4", [WRITTEN, NEVER_SEEN, NEVER_SEEN]),
        ("4-bypass", [IN_MEMORY, NEVER_SEEN, NEVER_SEEN]),
    ],
)
def test_what_a_level_promises_is_enough(level: str, nodes: Sequence[Kept]) -> None:
    """Just what the level says, and no more, proves it."""
    judgement = judged(level, nodes)
    assert judgement.verdict == "proven", judgement.sentence
    assert judgement.acknowledged == MESSAGES


@pytest.mark.parametrize(
    ("level", "nodes", "said"),
    [
        ("1", [SYNCED_TOO_LATE] * 3, "0 of 200 messages were synced to disk on at least 2 nodes"),
        ("1", [SYNCED, WRITTEN, WRITTEN], "0 of 200 messages were synced to disk on at least 2 nodes"),
        ("1", [WRITTEN] * 3, "0 of 200 messages were synced"),
        ("2", [WRITTEN, IN_MEMORY, IN_MEMORY], "0 of 200 messages were written to the page cache on at least 2 nodes"),
        ("2", [SYNCED, WRITTEN, WRITTEN], "200 of 200 were synced to disk anywhere"),
        ("2-bypass", [IN_MEMORY, NEVER_SEEN, NEVER_SEEN], "0 of 200 messages were in memory on at least 2 nodes"),
        ("2-bypass", [WRITTEN, WRITTEN, NEVER_SEEN], "200 of 200 were written to a file anywhere"),
        ("3", [SYNCED_TOO_LATE, SYNCED_TOO_LATE, SYNCED_TOO_LATE], "on at least 1 node before"),
        ("4", [IN_MEMORY] * 3, "written to the page cache on at least 1 node"),
    ],
)
def test_a_level_that_lies_is_disproved(level: str, nodes: Sequence[Kept], said: str) -> None:
    """Synced after the acknowledgement, on too few nodes, not at all; or synced though the level says it isn't."""
    judgement = judged(level, nodes)
    assert judgement.verdict == "disproved"
    assert said in judgement.sentence


def test_one_message_that_broke_its_promise_disproves_it() -> None:
    """A promise is about every message."""
    judgement = judged("1", [SYNCED] * 3, but=[SYNCED, WRITTEN, WRITTEN], others=1)
    assert judgement.verdict == "disproved"
    assert judgement.synced == (0, 1, 0, 199)


@pytest.mark.parametrize(("others", "verdict"), [(1, "proven"), (2, "disproved")])
def test_a_stray_sync_is_no_promise(others: int, verdict: str) -> None:
    """Below one percent, a sync that fell in between doesn't make the level another one; from there on it does."""
    assert judged("2", [WRITTEN] * 3, but=[SYNCED, WRITTEN, WRITTEN], others=others).verdict == verdict


@pytest.mark.parametrize(("others", "verdict"), [(19, "proven"), (20, "not shown")])
def test_a_timer_s_syncs_are_nobody_s_promise(others: int, verdict: str) -> None:
    """What is synced once a second meets some messages in time; so many that they could be waiting for it show nothing."""
    judgement = judged("2", [WRITTEN] * 3, but=[SYNCED_BY_TIMER, WRITTEN, WRITTEN], others=others)
    assert judgement.verdict == verdict
    assert (
        f"0 of 200 were synced to disk anywhere before it, and {others} by what may be a timer." in judgement.sentence
    )
    assert judgement.synced == (MESSAGES - others, others, 0, 0)


def test_a_timer_s_sync_is_a_sync() -> None:
    """For a level that promises one, it doesn't matter why it came."""
    assert judged("1", [SYNCED_BY_TIMER] * 3).verdict == "proven"


def test_what_hangs_on_the_clocks_is_not_shown() -> None:
    """Synced before the acknowledgement, but by less than the clocks' bound: neither proven nor disproved."""
    assert judged("1", [SYNCED] * 3, bound_ns=ACKED_AFTER_NS - 300).verdict == "proven"
    unclear = judged("1", [SYNCED] * 3, bound_ns=ACKED_AFTER_NS - 299)
    assert unclear.verdict == "not shown"
    assert "For 200 the clocks are not close enough to tell" in unclear.sentence
    assert judged("1", [SYNCED_TOO_LATE] * 3, bound_ns=1).verdict == "not shown"


def test_a_sync_possibly_in_time_counts_against_a_level_without() -> None:
    """For "hardly any" the clocks' bound counts the other way round."""
    assert judged("2", [SYNCED_TOO_LATE] * 3).verdict == "proven"
    assert judged("2", [SYNCED_TOO_LATE] * 3, bound_ns=1).verdict == "not shown"


def test_a_message_seen_nowhere_is_no_evidence() -> None:
    """The trace missed it: that neither proves nor disproves."""
    judgement = judged("1", [SYNCED] * 3, but=[NEVER_SEEN] * 3, others=3)
    assert (judgement.verdict, judgement.unseen) == ("not shown", 3)
    assert "3 acknowledged messages were seen on no node" in judgement.sentence
    assert judged("2", [NEVER_SEEN] * 3).verdict == "not shown"


def test_unacknowledged_messages_leave_it_open() -> None:
    """What was never acknowledged was never promised anything."""
    judgement = judged("1", [SYNCED] * 3, failed=4)
    assert (judgement.verdict, judgement.acknowledged) == ("not shown", MESSAGES - 4)
    assert "4 of 200 messages were not acknowledged" in judgement.sentence


def test_nothing_sent_shows_nothing() -> None:
    """No messages, no proof."""
    assert judge(DURABILITY["1"], [], [], clock_bound_ns=0, replicas=3).verdict == "not shown"


def test_a_quorum_of_five_is_three() -> None:
    """More than half of the replicas."""
    assert judged("1", [SYNCED, SYNCED, WRITTEN, WRITTEN, WRITTEN]).verdict == "disproved"
    assert judged("1", [SYNCED, SYNCED, SYNCED, WRITTEN, WRITTEN]).verdict == "proven"


@pytest.mark.parametrize("level", ["1", "2", "4"])
@pytest.mark.parametrize("nodes", [[SYNCED] * 3, [IN_MEMORY] * 3, [NEVER_SEEN] * 3])
def test_what_a_trace_cannot_show_is_neither_proven_nor_disproved(level: str, nodes: Sequence[Kept]) -> None:
    """Whatever was seen; the system's reason is told."""
    judgement = judged(level, nodes, untraced="It syncs all the time.")
    assert judgement.verdict == "not shown"
    assert judgement.sentence.startswith("It syncs all the time.")
