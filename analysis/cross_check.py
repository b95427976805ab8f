"""Our figures beside those of the systems' own load tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.checks import Check, validity_of
from analysis.evidence import Evidence
from analysis.metrics import Measurement
from analysis.words import EXCLUDED

# A native trial has no rows and no workers: these are the checks that need neither.
CHECKS = ("settings", "cold-caches", "steal", "hosts-kept", "same-boot", "brokers-kept", "replicas")
_SUFFIX = "-native"
# our metric -> the tool's figure
_FIGURES: Mapping[str, str] = {
    "throughput_achieved": "rate_per_s",
    "publish_latency_p50": "publish_p50_ms",
    "publish_latency_p95": "publish_p95_ms",
    "publish_latency_p99": "publish_p99_ms",
    "publish_latency_p99.9": "publish_p999_ms",
    "publish_latency_max": "publish_max_ms",
}
_LATENCY = "publish_latency"


@dataclass(frozen=True)
class Figure:
    """One metric by both; None = not known. `difference`: the tool's over ours, less 1; None also where a trial isn't sound.

    `within_resolution`: they differ by less than the tool can tell.
    """

    metric: str
    unit: str
    ours: float | None
    tools: float | None
    difference: float | None
    within_resolution: bool


@dataclass(frozen=True)
class CrossCheck:
    """A trial and its native trial. `read`: what the tool's consumers read, by subscription; `stored`: by the broker's count."""

    trial: str
    native: str
    system: str
    workload: str
    durability: str
    block: int
    validity: str
    native_validity: str
    abort: str | None
    figures: tuple[Figure, ...]
    read: Mapping[str, int]
    stored: int | None
    commands: tuple[str, ...]


def cross_checks(
    trials: Sequence[Evidence], natives: Sequence[Evidence], checks: Sequence[Check], measured: Sequence[Measurement]
) -> list[CrossCheck]:
    """Every native trial with the trial that it checks, in the order they ran."""
    names = {evidence.trial.name for evidence in trials}
    return [
        _cross_check(native, ours, checks, measured)
        for native in natives
        if (ours := native.trial.name.removesuffix(_SUFFIX)) in names
    ]


def _cross_check(native: Evidence, ours: str, checks: Sequence[Check], measured: Sequence[Measurement]) -> CrossCheck:
    document = native.trial.document
    observations = document["observations"]
    processes = observations.get("native") or []
    validities = validity_of(checks, ours), validity_of(checks, native.trial.name)
    printed = next((each["figures"] for each in processes if each["role"] == "producer"), None) or {}
    values = {m.metric: m for m in measured if m.trial == ours}
    return CrossCheck(
        trial=ours,
        native=native.trial.name,
        system=native.trial.called,
        workload=str(native.trial.workload["name"]),
        durability=str(native.trial.durability["name"]),
        block=native.trial.block,
        validity=validities[0],
        native_validity=validities[1],
        abort=document["abort"]["reason"] if document["abort"] else None,
        figures=tuple(_figures(values, printed, sound=not set(validities) & set(EXCLUDED))),
        read={each["subscription"]: each["figures"]["messages"] for each in processes if _has_read(each)},
        stored=observations.get("messages_stored"),
        commands=tuple(each["command"] for each in processes),
    )


def _has_read(process: Mapping[str, Any]) -> bool:
    return process["role"] == "consumer" and process["figures"] is not None


def _figures(values: Mapping[str, Measurement], printed: Mapping[str, Any], *, sound: bool) -> Iterator[Figure]:
    for metric, key in _FIGURES.items():
        ours, tools = values.get(metric), printed.get(key)
        is_latency = metric.startswith(_LATENCY)
        unit = "ms" if is_latency else "msg/s"
        value = ours.value if ours else None
        if value is None or tools is None or not sound or value <= 0:
            yield Figure(metric, unit, value, tools, None, within_resolution=False)
            continue
        within = is_latency and abs(tools - value) < printed["resolution_ms"]
        yield Figure(metric, unit, value, tools, tools / value - 1, within_resolution=within)
