"""The thresholds of vetting as frozen data, read from provisioning/vetting/thresholds.toml or an operator's copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from provisioning.document import parse_document
from provisioning.errors import InvalidInput
from provisioning.vetting.scatter import Scatter

DEFAULT_THRESHOLDS = Path(__file__).with_name("thresholds.toml")
THRESHOLDS_SCHEMA = 2
LEAST_REPEATS = 3
LEAST_FSYNCS = 1000

MetricName = Literal[
    "write_bytes_per_s", "read_bytes_per_s", "fsync_p50_ns", "fsync_p99_ns", "records_bytes_per_s", "cpu_bytes_per_s"
]
Rate = Annotated[float, Field(gt=0, lt=0.5)]


@dataclass(frozen=True)
class PresetRule:
    """(a) Direct write below this share of the instance type's preset rejects."""

    reject_below_share: Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True)
class FleetRule:
    """(b) Worse than the median of the others by more than chance: bounds follow from the rates (scatter.py).

    `false_rejections`, `false_warnings`: the share of healthy fleets that lose a disk, or are warned, by `reject_metrics`, of
    which `scatter` is assumed. `warn_metrics` only warn; theirs is `tail_scatter`. Fewer than `min_disks` reject none.
    """

    false_rejections: Rate
    false_warnings: Rate
    min_disks: Annotated[int, Field(ge=3)]
    scatter: Scatter
    tail_scatter: Scatter
    reject_metrics: tuple[MetricName, ...]
    warn_metrics: tuple[MetricName, ...]


@dataclass(frozen=True)
class FsyncRule:
    """(c) Flush latency p99 of the median repeat."""

    reject_p99_ms: float
    warn_p99_ms_solid_state: float


@dataclass(frozen=True)
class StallRule:
    """(c) The tail of the flushes: a flush longer than `stall_ms` is a stall. Rates are per minute of flushing."""

    stall_ms: float
    reject_stalls_per_min: float
    reject_p99_9_ms: float
    warn_p99_9_ms_solid_state: float
    reject_max_ms: float


@dataclass(frozen=True)
class RepeatsRule:
    """(d) Coefficient of variation over the repeats."""

    warn_variation: float
    reject_variation: float
    metrics: tuple[MetricName, ...]


@dataclass(frozen=True)
class FlushRule:
    """(e) A flush faster than this may not be one."""

    warn_p50_below_us: float


@dataclass(frozen=True)
class IdleRule:
    """A host busier than this before a probe wasn't idle."""

    warn_busy_share: float


@dataclass(frozen=True)
class NetworkRule:
    """A client-broker pair worse than the median pair by this share warns."""

    warn_worse_share: float
    min_pairs: int


@dataclass(frozen=True)
class AgainRule:
    """Short probes in the middle of a campaign: their profile, and how much worse than at the first one warns."""

    profile: str
    warn_worse_share: Annotated[float, Field(gt=0, lt=1)]
    metrics: tuple[MetricName, ...]


@dataclass(frozen=True)
class ProbeRule:
    """What a probe that could not be taken means."""

    verdict: Literal["warn", "reject"]


@dataclass(frozen=True)
class Profile:
    """How much is probed. `slowest_bytes_per_s` only sets deadlines; a `caveat` says what such probes don't tell."""

    repeats: int
    spread_s: float
    throughput_bytes: int
    fsync_count: int
    idle_s: float
    records_bytes: int
    cpu_s: float
    network_s: float
    network_round_trips: int
    slowest_bytes_per_s: int
    caveat: str = ""

    def __post_init__(self) -> None:
        if self.repeats < LEAST_REPEATS:
            raise ValueError(f"repeats is {self.repeats}: a variation needs at least {LEAST_REPEATS}")
        if self.fsync_count < LEAST_FSYNCS:
            raise ValueError(f"fsync_count is {self.fsync_count}: its p99 needs at least {LEAST_FSYNCS} samples")
        if min(self.throughput_bytes, self.records_bytes, self.network_round_trips, self.slowest_bytes_per_s) <= 0:
            raise ValueError("sizes, counts and rates of a profile must be above zero")
        if min(self.idle_s, self.cpu_s, self.network_s) <= 0 or self.spread_s < 0:
            raise ValueError("durations of a profile must be above zero (spread_s may be zero)")


@dataclass(frozen=True)
class InstanceType:
    """How to probe an instance type, and its preset where there is one: by dd as it is run here, with its `source`."""

    profile: str
    write_bytes_per_s: float | None = None
    source: str = ""

    def __post_init__(self) -> None:
        if self.write_bytes_per_s is not None and not self.source:
            raise ValueError("a preset (write_bytes_per_s) needs a source: who measured it, with which command")


@dataclass(frozen=True)
class Thresholds:
    """Everything that vetting decides by. `instances` must have a `default`."""

    schema: int
    preset_rule: PresetRule
    fleet_rule: FleetRule
    fsync_rule: FsyncRule
    stall_rule: StallRule
    repeats_rule: RepeatsRule
    flush_rule: FlushRule
    idle_rule: IdleRule
    network_rule: NetworkRule
    probe_rule: ProbeRule
    again_rule: AgainRule
    profiles: Mapping[str, Profile]
    instances: Mapping[str, InstanceType]

    def profile_of(self, instance_type: str) -> Profile:
        """The profile for an instance type; unlisted types use the default's."""
        return self.profiles[self.instances.get(instance_type, self.instances["default"]).profile]

    def probing_by(self, profile: str, *, where: str) -> Thresholds:
        """The same, with one profile for every instance type; an empty name leaves each type its own.

        Raises InvalidInput, which begins with `where` (file and key), for a profile that isn't there.
        """
        if not profile:
            return self
        if profile not in self.profiles:
            raise InvalidInput(
                f"{where} = {profile!r}: no such profile of probes. Valid: {', '.join(sorted(self.profiles))}.",
                next_step="Set one of them, or leave it out: each instance type then has its own.",
            )
        return replace(self, instances={name: replace(each, profile=profile) for name, each in self.instances.items()})

    def preset_of(self, instance_type: str) -> float | None:
        """What one disk of the type should write in bytes/s; None = nobody knows."""
        listed = self.instances.get(instance_type)
        return listed.write_bytes_per_s if listed else None


def load_thresholds(path: Path = DEFAULT_THRESHOLDS) -> Thresholds:
    """Reads a thresholds file. Raises InvalidInput naming file and key."""
    thresholds = parse_document(Thresholds, path, schema=THRESHOLDS_SCHEMA)
    if "default" not in thresholds.instances:
        raise InvalidInput(
            f"{path}: key 'instances.default' is missing: it holds the profile of unlisted instance types."
        )
    named = {"again_rule": thresholds.again_rule.profile}
    named |= {f"instances.{name}": instance.profile for name, instance in thresholds.instances.items()}
    for key, profile in named.items():
        if profile not in thresholds.profiles:
            raise InvalidInput(
                f"{path}: key '{key}.profile' = {profile!r}: no such profile."
                f" Valid: {', '.join(sorted(thresholds.profiles))}."
            )
    return thresholds
