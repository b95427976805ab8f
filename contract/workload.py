"""A workload: what is sent and read, as the campaign file says it and as workers and load tools get it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

from contract.constraints import Checked, Pattern, Range
from contract.fault import Fault
from contract.message import HEADER_BYTES

Pacing = Literal["open-loop", "search", "closed-loop", "ladder"]
Warmup = Literal["fixed", "until-steady"]
Arrivals = Literal["constant", "poisson"]
Partitioning = Literal["sticky", "round-robin"]
Keys = Literal["none", "round-robin", "random"]
Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]
COMPRESSIONS: tuple[Compression, ...] = get_args(Compression)
# where a search begins when the file doesn't say what it expects: low enough for most systems, five doublings below its bound
_SEARCH_BEGINS_AT = 1 / 32
_MOST_POOL_BYTES = 256 * 2**20
MOST_RUNGS = 50
# the least that a warm-up until steady must be allowed to take: in less there is nothing to tell a steady system by
LEAST_BOUND_S = 20.0
_OF_FAULTS = ("faults", "goal_ms")


def _rate_feeds_producers(producers: int, before: Mapping[str, Any]) -> None:
    rate, topics = before.get("rate_per_s"), before.get("topics")
    lowest = min(
        [each for each in (rate, before.get("lowest_rate_per_s"), *before.get("rates_per_s", ())) if each], default=None
    )
    if lowest is not None and producers > lowest:
        key = "rate_per_s" if lowest == rate else "the lowest rung"
        raise ValueError(f"{key} = {lowest} is less than one message a second for each of {producers} producers")
    if topics is not None and producers % topics:
        raise ValueError(f"{producers} producers can't be shared evenly by {topics} topics")


def _consumers_divide(subscriptions: int, before: Mapping[str, Any]) -> None:
    consumers, topics = before.get("consumers"), before.get("topics")
    if consumers is None or topics is None:
        return  # one of them is wrong itself and has its own message
    if consumers % (subscriptions * topics):
        shared_by = f"{subscriptions} subscriptions" + (f" of each of {topics} topics" if topics > 1 else "")
        raise ValueError(f"consumers = {consumers} can't be shared evenly by {shared_by}")


def _batch_holds_a_message(batch_bytes: int, before: Mapping[str, Any]) -> None:
    message_bytes = before.get("message_bytes")
    if message_bytes is not None and batch_bytes < message_bytes:
        raise ValueError(f"a batch must hold at least one message of message_bytes = {message_bytes}")


def _pool_fits(pool: int | None, before: Mapping[str, Any]) -> None:
    held_bytes = (pool or 0) * before.get("message_bytes", 0)
    if held_bytes > _MOST_POOL_BYTES:
        raise ValueError(f"each producer would hold {held_bytes:,} bytes of bodies, more than {_MOST_POOL_BYTES:,}")


def _keys_choose(keys: Keys, before: Mapping[str, Any]) -> None:
    if keys != "none" and before.get("partitioning") == "round-robin":
        raise ValueError("keys choose the partition: remove keys or partitioning = 'round-robin'")


def _expected_below(expected: int | None, before: Mapping[str, Any]) -> None:
    if expected is None:
        return
    if before.get("pacing") in ("open-loop", "ladder"):
        raise ValueError(
            "an open loop sends at rate_per_s; only pacing = 'search' and 'closed-loop' have an expected rate"
        )
    if expected > before.get("rate_per_s", expected):
        raise ValueError("it exceeds rate_per_s, which is the upper bound")


def _searches(steps: int | None, before: Mapping[str, Any]) -> None:
    if steps is not None and before.get("pacing", "search") != "search":
        raise ValueError("only pacing = 'search' has steps")


def _of_a_ladder(value: float | None, before: Mapping[str, Any]) -> None:
    if value is not None and before.get("pacing", "ladder") != "ladder":
        raise ValueError("only pacing = 'ladder' has it")


def _ascend(rates: tuple[int, ...], before: Mapping[str, Any]) -> None:
    if not rates:
        return
    if before.get("pacing", "ladder") != "ladder":
        raise ValueError("only pacing = 'ladder' has several rates; any other has one rate_per_s")
    if len(rates) < 2 or list(rates) != sorted(set(rates)):
        raise ValueError("give two rates or more, each once, in ascending order")
    if rates[-1] != before.get("rate_per_s", rates[-1]):
        raise ValueError(f"the highest must be rate_per_s = {before['rate_per_s']}")


def _below_the_highest(lowest: int | None, before: Mapping[str, Any]) -> None:
    _of_a_ladder(lowest, before)
    if lowest is not None and lowest >= before.get("rate_per_s", math.inf):
        raise ValueError("it must be less than rate_per_s, the highest rung")


def _are_rungs(rungs: int | None, before: Mapping[str, Any]) -> None:
    """Either the rates are given, or how many are spread between two."""
    _of_a_ladder(rungs, before)
    if before.get("pacing") != "ladder" or not {"rate_per_s", "rates_per_s", "lowest_rate_per_s"} <= before.keys():
        return  # one of them is wrong itself and has its own message
    rates, lowest, highest = before["rates_per_s"], before["lowest_rate_per_s"], before["rate_per_s"]
    if rates and (rungs or lowest):
        raise ValueError("give either rates_per_s, or lowest_rate_per_s and rungs")
    if not rates and not (rungs and lowest):
        raise ValueError(
            "a ladder needs rates_per_s = [RATE, ...], or lowest_rate_per_s and rungs: so many rates from it to rate_per_s"
        )
    if rungs and len(set(_spread(lowest, highest, rungs))) < rungs:
        raise ValueError(f"there aren't so many different rates between {lowest} and {highest}")


def _not_given(ladder: str | None, _before: Mapping[str, Any]) -> None:
    if ladder is not None:
        raise ValueError("it is filled in for each rung: leave it out")


def _backlog_fits(backlog: Backlog | None, before: Mapping[str, Any]) -> None:
    if backlog is None:
        return
    if before.get("pacing") != "open-loop":
        raise ValueError("a backlog needs pacing = 'open-loop': it is built at a known rate")
    topics = before.get("topics")
    if topics is not None and backlog.consumers % (backlog.subscriptions * topics):
        raise ValueError(
            f"backlog.consumers = {backlog.consumers} can't be shared evenly by its subscriptions and topics"
        )


def _can_be_steady(warmup: Warmup, before: Mapping[str, Any]) -> None:
    if warmup == "fixed":
        return
    if before.get("pacing", "open-loop") != "open-loop" or before.get("backlog") is not None:
        raise ValueError(
            "only a rate that is offered throughout gets steady: it needs pacing = 'open-loop' and no backlog"
        )
    if before.get("warmup_s", LEAST_BOUND_S) < LEAST_BOUND_S:
        raise ValueError(f"warmup_s is the longest that it may take: set it to {LEAST_BOUND_S:g} or more")


def _can_be_disturbed(faults: tuple[Fault, ...], before: Mapping[str, Any]) -> None:
    if not faults:
        return
    if before.get("pacing", "open-loop") != "open-loop" or before.get("backlog") is not None:
        raise ValueError("what a fault costs shows at a constant rate: it needs pacing = 'open-loop' and no backlog")
    if before.get("warmup", "fixed") != "fixed":
        raise ValueError("at_s is counted from a known instant: it needs warmup = 'fixed'")
    measure_s, clear_s = before.get("measure_s", math.inf), -math.inf
    for at, fault in enumerate(faults):
        if fault.at_s < clear_s:
            raise ValueError(
                f"fault {at} begins at {fault.at_s:g} s, before the one before it has ended at {clear_s:g} s"
            )
        clear_s = fault.at_s + (fault.for_s or 0.0)
        if clear_s >= measure_s:
            raise ValueError(f"fault {at} ends at {clear_s:g} s, but the measurement at measure_s = {measure_s:g}")
        if (
            max(
                fault.partition[0] - before.get("topics", math.inf),
                fault.partition[1] - before.get("partitions", math.inf),
            )
            >= 0
        ):
            raise ValueError(f"fault {at}: there is no topic and partition {fault.target.partition(':')[2]}")


def _of_faults(goal_ms: float | None, before: Mapping[str, Any]) -> None:
    if goal_ms is not None and not before.get("faults", True):
        raise ValueError("only a workload with faults has it")


@dataclass(frozen=True)
class Backlog:
    """What is left unread first, and who reads it then. Its phases: build, drain, tail (`measure_s` long).

    `size_bytes`: of the messages sent before the consumers of the backlog begin, one copy. `consumers` of
    `subscriptions` of their own, beside the workload's, which read from the start. It counts as drained
    once `drained_share` of it has been read (0 = at once); `catch_up_s` bounds the drain.
    """

    size_bytes: Annotated[int, Range(1)]
    consumers: Annotated[int, Range(1, 1_000)] = 1
    subscriptions: Annotated[int, Range(1, 100)] = 1
    catch_up_s: Annotated[float, Range(1, 7 * 86_400)] = 3_600.0
    drained_share: Annotated[float, Range(0, 1)] = 1.0


@dataclass(frozen=True)
class Workload:
    """`rate_per_s` is that of all producers together; each producer has its own `in_flight` window of unacknowledged messages.

    `pacing` says what the rate is: an open loop offers it, whatever becomes of it; a search looks for the highest rate up to
    it that the system sustains, and measures there; a closed loop sends whenever a producer's window has room, at most at it
    (with a window of one: a strictly ordered stream; with a large one: overdriven); a ladder is run as one open loop per rung, up to
    it: those of `rates_per_s`, or `rungs` spread from `lowest_rate_per_s`. `goal_p99_ms`: of the response latency, what a ladder is
    asked for. `ladder`: whose rung an open loop is. `expected_rate_per_s`: a search begins up to an
    octave below it (best below what it will find: a step that narrowly fails is tried again), and disk space is planned for it where
    the rate is only a bound. `search_steps`: after how many a search takes the best so far (not given: 28, or 16 short ones).

    Partitions are each topic's; producers and consumers are shared evenly by the topics, consumers by the subscriptions of
    each. `batch_delay_ms` is how long a client waits to fill a batch (0 = no waiting); without `batching` every message goes
    alone. Sticky partitioning keeps to one partition for a batch and then moves on; round-robin moves on with every message;
    with keys (of a pool of 10,000) the key's hash chooses. `payload_pool` is how many different bodies a producer sends in turn
    (1 = always the same; not given = as many as fit 4 MiB). The seconds are those of the schedule; `drain_s` bounds how long
    late sends, acknowledgements and consumers may take after it. A `warmup` until steady ends as soon as latency is, after `warmup_s`
    at the latest. `faults`: what is done to the brokers meanwhile, one after the other; `goal_ms`: what is answered later is late for
    a user (None: 100 ms).
    """

    # as all of an operator's file; and a default may not suit the fields that are given
    __pydantic_config__: ClassVar[Mapping[str, Any]] = {
        "extra": "forbid",
        "allow_inf_nan": False,
        "validate_default": True,
    }

    name: Annotated[str, Pattern(r"^[a-z0-9][a-z0-9-]{0,63}$")]
    rate_per_s: Annotated[int, Range(1, 100_000_000)]
    message_bytes: Annotated[int, Range(HEADER_BYTES, 1_000_000)]
    measure_s: Annotated[float, Range(1, 7 * 86_400)]
    pacing: Pacing = "open-loop"
    expected_rate_per_s: Annotated[int | None, Range(1), Checked(_expected_below)] = None
    search_steps: Annotated[int | None, Range(1, 100), Checked(_searches)] = None
    rates_per_s: Annotated[tuple[Annotated[int, Range(1, 100_000_000)], ...], Checked(_ascend)] = ()
    lowest_rate_per_s: Annotated[int | None, Range(1, 100_000_000), Checked(_below_the_highest)] = None
    rungs: Annotated[int | None, Range(2, MOST_RUNGS), Checked(_are_rungs)] = None
    goal_p99_ms: Annotated[float | None, Range(0.001, 3_600_000), Checked(_of_a_ladder)] = None
    ladder: Annotated[str | None, Checked(_not_given)] = None
    topics: Annotated[int, Range(1, 1_000)] = 1
    partitions: Annotated[int, Range(1, 10_000)] = 6
    producers: Annotated[int, Range(1, 1_000), Checked(_rate_feeds_producers)] = 1
    consumers: Annotated[int, Range(0, 1_000)] = 1
    subscriptions: Annotated[int, Range(1, 100), Checked(_consumers_divide)] = 1
    backlog: Annotated[Backlog | None, Checked(_backlog_fits)] = None
    arrivals: Arrivals = "constant"
    partitioning: Partitioning = "sticky"
    keys: Annotated[Keys, Checked(_keys_choose)] = "none"
    batching: bool = True
    batch_delay_ms: Annotated[int, Range(0, 1_000)] = 1
    batch_bytes: Annotated[int, Range(1, 16_777_216), Checked(_batch_holds_a_message)] = 131_072
    in_flight: Annotated[int, Range(1, 1_000_000)] = 5_000
    compression: Compression = "none"
    compressible_share: Annotated[float, Range(0, 1)] = 0.5
    payload_pool: Annotated[int | None, Range(1, 100_000), Checked(_pool_fits)] = None
    warmup_s: Annotated[float, Range(0, 86_400)] = 10.0
    warmup: Annotated[Warmup, Checked(_can_be_steady)] = "fixed"
    drain_s: Annotated[float, Range(1, 86_400)] = 30.0
    faults: Annotated[tuple[Fault, ...], Checked(_can_be_disturbed)] = ()
    goal_ms: Annotated[float | None, Range(0.001, 3_600_000), Checked(_of_faults)] = None

    @property
    def planned_rate_per_s(self) -> int:
        """Messages likely to be sent in a second: the offered rate, or the expected one where the rate is only an upper bound."""
        if self.pacing in ("open-loop", "ladder"):
            return self.rate_per_s
        return self.expected_rate_per_s or max(self.producers, round(self.rate_per_s * _SEARCH_BEGINS_AT))

    @property
    def rung_rates_per_s(self) -> tuple[int, ...]:
        """The rates of a ladder, ascending; of any other pacing its one rate."""
        if self.rates_per_s:
            return self.rates_per_s
        if self.lowest_rate_per_s is None or self.rungs is None:
            return (self.rate_per_s,)
        return tuple(dict.fromkeys(_spread(self.lowest_rate_per_s, self.rate_per_s, self.rungs)))

    @property
    def workers(self) -> int:
        """How many producers and consumers there are, each a process."""
        return self.producers + self.consumers + (self.backlog.consumers if self.backlog else 0)

    @property
    def build_s(self) -> float:
        """How long the producers need to leave the backlog behind; 0 without one."""
        return self.backlog.size_bytes / (self.rate_per_s * self.message_bytes) if self.backlog else 0.0


def document_of(workload: Workload) -> dict[str, Any]:
    """As plans and records have it; the keys of faults only where there are some."""
    document = asdict(workload)
    return document if workload.faults else {key: value for key, value in document.items() if key not in _OF_FAULTS}


def table_of(workload: Workload) -> dict[str, Any]:
    """As a campaign file has it: TOML has no null, so that what isn't given isn't there."""
    return dict(_without_nulls(document_of(workload)))


def workload_of(document: Mapping[str, Any]) -> Workload:
    """Reads what `document_of` or `dataclasses.asdict` made of one, unchecked. Raises TypeError for keys of another version."""
    backlog, rates_per_s = document.get("backlog"), tuple(document.get("rates_per_s", ()))
    faults = tuple(Fault(**each) for each in document.get("faults", ()))
    own = {"backlog": Backlog(**backlog) if backlog else None, "rates_per_s": rates_per_s, "faults": faults}
    return Workload(**{**document, **own})


def _spread(lowest: int, highest: int, count: int) -> list[int]:
    """So many rates, each the same factor above the one before, as far as three figures tell; the ends are as given."""
    factors = (highest / lowest) ** (1 / (count - 1))
    between = [round(float(f"{lowest * factors**step:.3g}")) for step in range(1, count - 1)]
    return [lowest, *(min(max(rate, lowest), highest) for rate in between), highest]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list | tuple) else value
