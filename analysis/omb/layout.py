"""The fields of a result file of OpenMessaging Benchmark: what each is called there and here, and its unit.

Read in the source of its TestResult.java and WorkloadGenerator.java, upstream (commit 85599891) and forks. Generations, told by keys:

- g0 (2017 to 2020): workload, driver, windows, publish and (from December 2017 on) end-to-end latency
- g1 (2020-08): and messageSize, topics, partitions, producersPerTopic, consumersPerTopic
- g2 (2022-04): and publishDelayLatency, in microseconds where all others are in milliseconds
- g3 (2022-09): and publishErrorRate
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

ORIGIN = "openmessaging-benchmark"
OWN_ORIGIN = "samebox"  # of a file that export-omb wrote
WINDOW_S = 10.0  # a sleep of ten seconds, and the time that asking the workers takes

# end of a key -> statistic; every generation has these eight
STATISTICS: Mapping[str, str] = {
    "Avg": "mean",
    "50pct": "p50",
    "75pct": "p75",
    "95pct": "p95",
    "99pct": "p99",
    "999pct": "p99.9",
    "9999pct": "p99.99",
    "Max": "max",
}
MINIMUM = ("Min", "min")  # a fork's ninth
# statistic -> percentile, of those that are one
PERCENTILES: Mapping[str, float] = {"p50": 50.0, "p75": 75.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9, "p99.99": 99.99}
# what only the quantile map tells
FROM_MAP: Mapping[str, float] = {"p90": 90.0, "p99.999": 99.999}


@dataclass(frozen=True)
class Family:
    """One latency: `stem` begins its windows' keys, `aggregate` those of the whole run; times `to_ms` it is in milliseconds."""

    metric: str
    stem: str
    to_ms: float = 1.0
    required: bool = False

    @property
    def aggregate(self) -> str:
        return f"aggregated{self.stem[0].upper()}{self.stem[1:]}"

    @property
    def quantiles(self) -> str:
        """The key of the quantile map: percentile as text -> value."""
        return f"{self.aggregate}Quantiles"


PUBLISH = Family("publish_latency", "publishLatency", required=True)
END_TO_END = Family("omb_end_to_end_latency", "endToEndLatency")
PUBLISH_DELAY = Family("send_delay", "publishDelayLatency", to_ms=1e-3)
FAMILIES = (PUBLISH, END_TO_END, PUBLISH_DELAY)

# window lists beside the latencies: key -> (metric, unit)
PUBLISH_RATE, CONSUME_RATE, BACKLOG, ERROR_RATE = "publishRate", "consumeRate", "backlog", "publishErrorRate"
SERIES: Mapping[str, tuple[str, str]] = {
    PUBLISH_RATE: ("throughput_achieved", "msg/s"),
    CONSUME_RATE: ("throughput_received", "msg/s"),
    BACKLOG: ("omb_backlog", "messages"),
    ERROR_RATE: ("omb_publish_error_rate", "errors/s"),
}
REQUIRED_SERIES = (PUBLISH_RATE, CONSUME_RATE)

# scalar key -> what it says here. consumersPerTopic is filled from the workload's consumerPerSubscription
SCALARS: Mapping[str, str] = {
    "messageSize": "message_bytes",
    "topics": "topics",
    "partitions": "partitions_per_topic",
    "producersPerTopic": "producers_per_topic",
    "consumersPerTopic": "consumers_per_subscription",
}

# how each metric is defined there, where that isn't as in docs/metrics.md; it stands beside every value
NOTES: Mapping[str, str] = {
    PUBLISH.metric: "from the start of the send call (samebox: from its return)",
    END_TO_END.metric: "from the message's time stamp, not from its intended time",
    PUBLISH_DELAY.metric: "to the start of the send call (samebox: to its return)",
}


def generation(keys: frozenset[str]) -> str:
    """g0 to g3, by the keys that a file has."""
    if ERROR_RATE in keys:
        return "g3"
    if f"{PUBLISH_DELAY.stem}Avg" in keys:
        return "g2"
    return "g1" if "messageSize" in keys else "g0"


def known_keys() -> frozenset[str]:
    """Every key of the newest upstream generation; others are a fork's own."""
    ends = tuple(STATISTICS)
    latencies = {f"{stem}{end}" for family in FAMILIES for stem in (family.stem, family.aggregate) for end in ends}
    return frozenset({"workload", "driver", *SERIES, *SCALARS, *latencies, *(family.quantiles for family in FAMILIES)})


_AA, _NO_RATE = " (A/A)", "no fixed rate"
_LABEL = re.compile(
    r"(?P<system>[a-z0-9]+) level (?P<durability>[a-z0-9-]+), block (?P<block>\d+)(?P<aa> \(A/A\))?, "
    r"(?:(?P<rate>\d+(?:\.\d+)?) per s|no fixed rate), (?P<subscriptions>\d+) subscriptions?, by samebox"
)


@dataclass(frozen=True)
class OwnLabel:
    """What the driver's name in an export of samebox says, the one free text of the format; `rate_per_s` None: it wasn't fixed
    beforehand.

        pulsar level 2-bypass, block 3, 200000 per s, 10 subscriptions, by samebox
    """

    system: str
    durability: str
    block: int
    is_aa: bool
    rate_per_s: float | None
    subscriptions: int

    def __str__(self) -> str:
        rate = _NO_RATE if self.rate_per_s is None else f"{self.rate_per_s:.15g} per s"
        plural = "" if self.subscriptions == 1 else "s"
        block = f"block {self.block}{_AA if self.is_aa else ''}"
        return f"{self.system} level {self.durability}, {block}, {rate}, {self.subscriptions} subscription{plural}, by samebox"


def own_label(driver: str) -> OwnLabel | None:
    """What the driver's name of an export says; None for another file's."""
    said = _LABEL.fullmatch(driver)
    if said is None:
        return None
    return OwnLabel(
        system=said["system"],
        durability=said["durability"],
        block=int(said["block"]),
        is_aa=said["aa"] is not None,
        rate_per_s=None if said["rate"] is None else float(said["rate"]),
        subscriptions=int(said["subscriptions"]),
    )
