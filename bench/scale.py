"""How a campaign is shrunk to a smaller testbed: by rules per dimension that stand in its file, and in its report. Pure."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bench.workload import Workload

Factor = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True)
class Scale:
    """Each dimension is multiplied by its factor and then kept above its `least_...`, unless it was below that already.

    `duration` is for warm-up and measurement; `in_flight` and `batch_bytes` stay: they belong to the clients, not to the load.
    """

    rate: Factor = 1.0
    backlog: Factor = 1.0
    duration: Factor = 1.0
    partitions: Factor = 1.0
    least_rate_per_s: Annotated[int, Field(ge=1)] = 100
    least_backlog_bytes: Annotated[int, Field(ge=1)] = 16 * 2**20
    least_measure_s: Annotated[float, Field(ge=1)] = 10.0
    least_warmup_s: Annotated[float, Field(ge=0)] = 5.0
    least_partitions: Annotated[int, Field(ge=1)] = 100

    def of(self, workload: Workload) -> Workload:
        """The workload, shrunk."""
        rate_per_s = max(round(_at_least(workload.rate_per_s, self.rate, self.least_rate_per_s)), workload.producers)
        expected = workload.expected_rate_per_s
        backlog = workload.backlog
        if backlog is not None:
            size = round(_at_least(backlog.size_bytes, self.backlog, self.least_backlog_bytes))
            backlog = dataclasses.replace(backlog, size_bytes=size)
        return dataclasses.replace(
            workload,
            rate_per_s=rate_per_s,
            expected_rate_per_s=None
            if expected is None
            else max(1, round(expected * rate_per_s / workload.rate_per_s)),
            backlog=backlog,
            measure_s=_at_least(workload.measure_s, self.duration, self.least_measure_s),
            warmup_s=_at_least(workload.warmup_s, self.duration, self.least_warmup_s),
            partitions=round(_at_least(workload.partitions, self.partitions, self.least_partitions)),
        )

    def sentences(self) -> tuple[str, ...]:
        """The rules that change anything, as the report says them."""
        rules = (
            ("rate", self.rate, f"{self.least_rate_per_s:,} msg/s"),
            ("backlog", self.backlog, f"{self.least_backlog_bytes / 2**20:,.0f} MiB"),
            ("warm-up and measurement", self.duration, f"{self.least_warmup_s:g} s and {self.least_measure_s:g} s"),
            ("partitions", self.partitions, f"{self.least_partitions:,}"),
        )
        return tuple(f"{name} x {factor:g}, not below {least}" for name, factor, least in rules if factor < 1)


def _at_least(value: float, factor: float, least: float) -> float:
    return value if value <= least else max(value * factor, least)
