"""Thresholds for a rehearsal, by one rule: what is probed is small, and only what no disk of today would do is rejected.

Its hosts share one machine's disks and cores, so their figures say nothing of AWS and scatter as they like. Whatever the thresholds
are of, kit's or operator's, a rehearsal goes through the same probes and the same judgements.
"""

from __future__ import annotations

from dataclasses import replace

from provisioning.vetting.scatter import Scatter
from provisioning.vetting.thresholds import Profile, Thresholds

PROBES = Profile(
    repeats=3,
    spread_s=1.0,
    throughput_bytes=16 * 2**20,
    fsync_count=1_000,
    idle_s=0.5,
    records_bytes=32 * 2**20,
    cpu_s=0.5,
    network_s=0.5,
    network_round_trips=500,
    slowest_bytes_per_s=2_000_000,
)
# a tenth of what the slowest hard disk writes in one stream
WRITE_BYTES_PER_S = 20_000_000.0
SOURCE = "a rehearsal: any disk of today writes so much"
SCATTER = Scatter(between=0.7, within=0.7)
LATENCY_FACTOR = 10
STALLS_FACTOR = 1_000
NEVER = 1e6


def rehearsed(thresholds: Thresholds) -> Thresholds:
    """These thresholds for hosts that share one machine."""
    fsync, stall = thresholds.fsync_rule, thresholds.stall_rule
    return replace(
        thresholds,
        profiles=dict.fromkeys(thresholds.profiles, PROBES),
        instances={
            name: replace(each, write_bytes_per_s=WRITE_BYTES_PER_S, source=SOURCE)
            for name, each in thresholds.instances.items()
        },
        fleet_rule=replace(thresholds.fleet_rule, scatter=SCATTER, tail_scatter=SCATTER),
        fsync_rule=replace(
            fsync,
            reject_p99_ms=fsync.reject_p99_ms * LATENCY_FACTOR,
            warn_p99_ms_solid_state=fsync.warn_p99_ms_solid_state * LATENCY_FACTOR,
        ),
        stall_rule=replace(
            stall,
            reject_stalls_per_min=stall.reject_stalls_per_min * STALLS_FACTOR,
            reject_p99_9_ms=stall.reject_p99_9_ms * LATENCY_FACTOR,
            warn_p99_9_ms_solid_state=stall.warn_p99_9_ms_solid_state * LATENCY_FACTOR,
            reject_max_ms=stall.reject_max_ms * LATENCY_FACTOR,
        ),
        repeats_rule=replace(thresholds.repeats_rule, warn_variation=NEVER, reject_variation=NEVER),
        idle_rule=replace(thresholds.idle_rule, warn_busy_share=1.0),
        network_rule=replace(thresholds.network_rule, warn_worse_share=NEVER),
    )
