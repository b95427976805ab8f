"""How a campaign is shrunk to a smaller testbed: by a rule per dimension, given in its file and repeated in its report."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from contract.workload import LEAST_BOUND_S, Backlog, Workload

Factor = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True)
class Scale:
    """Each dimension is multiplied by its factor and then kept above its `least_...`, unless it was below that already.

    `rate` is for open loops, and each rung of ladders; `bound` for the rate of searches and closed loops, which is only a
    bound, and for what they expect. `duration` is for warm-up, measurement, and the bounds on draining and catching up;
    `producers` for those of one topic. `search_steps`, `blocks` and `aa_blocks` are no factors: no search takes more, and no
    more are run. Sizes, subscriptions and consumers stay, and so do `in_flight` and `batch_bytes`: they belong to the clients. So
    does the measurement of a workload with faults.
    """

    rate: Factor = 1.0
    bound: Factor = 1.0
    backlog: Factor = 1.0
    duration: Factor = 1.0
    topics: Factor = 1.0
    partitions: Factor = 1.0
    producers: Factor = 1.0
    search_steps: Annotated[int | None, Field(ge=1, le=100)] = None
    blocks: Annotated[int | None, Field(ge=1)] = None
    aa_blocks: Annotated[int | None, Field(ge=0)] = None
    least_rate_per_s: Annotated[int, Field(ge=1)] = 100
    least_bound_per_s: Annotated[int, Field(ge=1)] = 1_000
    least_backlog_bytes: Annotated[int, Field(ge=1)] = 16 * 2**20
    least_measure_s: Annotated[float, Field(ge=1)] = 10.0
    least_warmup_s: Annotated[float, Field(ge=0)] = 5.0
    least_drain_s: Annotated[float, Field(ge=1)] = 30.0
    least_catch_up_s: Annotated[float, Field(ge=1)] = 300.0
    least_topics: Annotated[int, Field(ge=1)] = 10
    least_partitions: Annotated[int, Field(ge=1)] = 100
    least_producers: Annotated[int, Field(ge=1)] = 2

    def of(self, workload: Workload) -> Workload:
        """The workload, shrunk."""
        topics = round(_at_least(workload.topics, self.topics, self.least_topics))
        producers = topics * round(
            _at_least(workload.producers // workload.topics, self.producers, self.least_producers)
        )
        rate_per_s = max(producers, self._rate_per_s(workload))
        expected, lowest = workload.expected_rate_per_s, workload.lowest_rate_per_s
        if expected is not None:
            expected = max(1, round(expected * rate_per_s / workload.rate_per_s))
        # faults, and how long a system takes to recover, are no shorter on a smaller testbed
        measured = 1.0 if workload.faults else self.duration
        disturbed = max((fault.partition[1] + 1 for fault in workload.faults), default=1)
        partitions = round(_at_least(workload.partitions, self.partitions, self.least_partitions))
        return dataclasses.replace(
            workload,
            rate_per_s=rate_per_s,
            expected_rate_per_s=expected,
            lowest_rate_per_s=lowest and max(producers, self._offered(lowest)),
            rates_per_s=tuple(dict.fromkeys(max(producers, self._offered(each)) for each in workload.rates_per_s)),
            search_steps=self._search_steps(workload),
            backlog=self._backlog(workload.backlog, workload.topics, topics),
            measure_s=_at_least(workload.measure_s, measured, self.least_measure_s),
            warmup_s=_at_least(workload.warmup_s, self.duration, self._least_warmup_s(workload)),
            drain_s=_at_least(workload.drain_s, self.duration, self.least_drain_s),
            topics=topics,
            partitions=max(partitions, disturbed),
            producers=producers,
            consumers=workload.consumers // workload.topics * topics,
        )

    def _least_warmup_s(self, workload: Workload) -> float:
        return self.least_warmup_s if workload.warmup == "fixed" else max(self.least_warmup_s, LEAST_BOUND_S)

    def _rate_per_s(self, workload: Workload) -> int:
        if workload.pacing in ("open-loop", "ladder"):
            return self._offered(workload.rate_per_s)
        return round(_at_least(workload.rate_per_s, self.bound, self.least_bound_per_s))

    def _offered(self, rate_per_s: int) -> int:
        return round(_at_least(rate_per_s, self.rate, self.least_rate_per_s))

    def _search_steps(self, workload: Workload) -> int | None:
        if workload.pacing != "search" or self.search_steps is None:
            return workload.search_steps
        return min(self.search_steps, workload.search_steps or self.search_steps)

    def _backlog(self, backlog: Backlog | None, topics_before: int, topics: int) -> Backlog | None:
        if backlog is None:
            return None
        return dataclasses.replace(
            backlog,
            size_bytes=round(_at_least(backlog.size_bytes, self.backlog, self.least_backlog_bytes)),
            consumers=backlog.consumers // topics_before * topics,
            catch_up_s=_at_least(backlog.catch_up_s, self.duration, self.least_catch_up_s),
        )

    def sentences(self) -> tuple[str, ...]:
        """The rules that change anything, as the report says them."""
        rules = (
            ("offered rate", self.rate, f"{self.least_rate_per_s:,} msg/s"),
            ("bound of searches and closed loops", self.bound, f"{self.least_bound_per_s:,} msg/s"),
            ("backlog", self.backlog, f"{self.least_backlog_bytes / 2**20:,.0f} MiB"),
            ("warm-up and measurement", self.duration, f"{self.least_warmup_s:g} s and {self.least_measure_s:g} s"),
            (
                "time to drain and to catch up",
                self.duration,
                f"{self.least_drain_s:g} s and {self.least_catch_up_s:g} s",
            ),
            ("topics", self.topics, f"{self.least_topics:,}"),
            ("partitions", self.partitions, f"{self.least_partitions:,}"),
            ("producers of a topic", self.producers, f"{self.least_producers:,}"),
        )
        factors = tuple(
            f"{name} x {Decimal(str(factor)):f}, not below {least}" for name, factor, least in rules if factor < 1
        )
        most = {"steps of a search": self.search_steps, "blocks": self.blocks, "A/A blocks": self.aa_blocks}
        return (*factors, *(f"{name}: at most {count}" for name, count in most.items() if count is not None))


def _at_least(value: float, factor: float, least: float) -> float:
    return value if value <= least else max(value * factor, least)
