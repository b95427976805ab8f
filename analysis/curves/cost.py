"""What a contestant's messages cost at the rate that one can live with: dollars of hosts, and CPU time.

The rate is the highest that kept the goal, without a goal the knee. Dollars are the hosts' price an hour over what they carry in an
hour at that rate: the fewer messages a host carries within the goal, the dearer each of them is. CPU time is what was used for a
message at the highest rung up to that rate, of the system's processes and of the clients' apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.bounded import Bounded, exactly
from analysis.certainty.interval import Interval, interval_document
from analysis.client_cpu import client_cores
from analysis.curves.curve import Curve, Point
from analysis.curves.over_blocks import OverBlocks, over_blocks
from analysis.evidence import Evidence
from analysis.words import RATE

MILLION = 1e6
GIB = 2.0**30
AT_GOAL, AT_KNEE = "goal", "knee"
_S_PER_HOUR = 3600.0
Prices = Mapping[str, float]  # host -> US dollars an hour


@dataclass(frozen=True)
class Dollars:
    """Of so many messages at a rate: its median over blocks and the ends of its interval, turned into money."""

    median: Bounded
    interval: Interval | None

    def to_json(self) -> dict[str, Any]:
        """As report.json has it."""
        return {"median": self.median.to_json(), "interval": interval_document(self.interval)}


@dataclass(frozen=True)
class Cost:
    """At which rate (AT_GOAL or AT_KNEE), and what it costs there.

    `hour`: dollars of the hosts that the system's processes run on; `clients_hour`: of the client hosts, which is in no sum; None =
    nobody charges for them. `million`, `gib`: dollars per million messages and per GiB of payload. `brokers_core_s`,
    `clients_core_s`: CPU seconds per million messages.
    """

    at: str
    rate: OverBlocks
    hour: float | None
    clients_hour: float | None
    million: Dollars | None
    gib: Dollars | None
    brokers_core_s: OverBlocks | None
    clients_core_s: OverBlocks | None

    @property
    def sorted_as(self) -> tuple[bool, float]:
        """The dearest last: by dollars, else by the brokers' CPU time; what isn't known after all others."""
        if self.million is not None:
            told = self.million.median
        elif self.brokers_core_s is not None:
            told = self.brokers_core_s.median
        else:
            return True, math.inf
        return False, told.high if told.value is None else told.value


def cost_of(curve: Curve, prices: Prices) -> Cost | None:
    """The cost on one curve; None where no rung kept the goal, or there is no goal and no knee was found."""
    at, rate = (AT_KNEE, curve.knee) if curve.goal_p99_ms is None else (AT_GOAL, curve.at_goal)
    if rate is None or rate.median.low <= 0:
        return None
    hour, clients_hour = _per_hour(curve, prices)
    million, gib = (
        None if hour is None else _dollars(rate, hour * messages / _S_PER_HOUR)
        for messages in (MILLION, GIB / curve.message_bytes)
    )
    up_to = {block: known.low if known.value is None else known.value for block, known in rate.blocks.items()}
    brokers_core_s, clients_core_s = (_core_s(curve, up_to, cores) for cores in (_broker_cores, client_cores))
    return Cost(at, rate, hour, clients_hour, million, gib, brokers_core_s, clients_core_s)


def _per_hour(curve: Curve, prices: Prices) -> tuple[float | None, float | None]:
    """Of the hosts with processes of the system, and of the client hosts."""
    trials = [point.evidence for rung in curve.rungs for point in rung.points]
    serving = {use.host for each in trials for use in each.daemons}
    clients = {host["name"] for each in trials for host in each.trial.document["hosts"] if host["role"] == "client"}
    if not serving or not serving <= prices.keys():
        return None, None
    return sum(prices[host] for host in sorted(serving)), sum(prices.get(host, 0.0) for host in sorted(clients))


def _dollars(rate: OverBlocks, per_message_rate: float) -> Dollars:
    """`per_message_rate`: dollars times messages per second."""
    interval = rate.interval
    if interval is not None:
        low = 0.0 if math.isinf(interval.high) else per_message_rate / interval.high
        high = per_message_rate / interval.low if interval.low > 0 else math.inf
        interval = Interval(low, high, interval.attained)
    return Dollars(exactly(per_message_rate).over(rate.median), interval)


def _core_s(curve: Curve, up_to: Mapping[int, float], cores: Callable[[Evidence], float | None]) -> OverBlocks | None:
    """CPU seconds per million messages in each block, at its highest rung that was kept up to a rate."""
    highest: dict[int, Point] = {}
    for rung in curve.rungs:
        highest |= {p.block: p for p in rung.points if p.kept and rung.rate_per_s <= up_to.get(p.block, 0.0)}
    return over_blocks((block, _per_million(point, cores)) for block, point in sorted(highest.items()))


def _per_million(point: Point, cores: Callable[[Evidence], float | None]) -> Bounded | None:
    rate, used = point.known.get(RATE), cores(point.evidence)
    return None if rate is None or not rate.value or used is None else exactly(used / rate.value * MILLION)


def _broker_cores(evidence: Evidence) -> float | None:
    """Cores used by all processes of the system in the measure phase; None if one wasn't seen."""
    used = [use.cores for use in evidence.daemons]
    known = [cores for cores in used if cores is not None]
    return sum(known) if known and len(known) == len(used) else None
