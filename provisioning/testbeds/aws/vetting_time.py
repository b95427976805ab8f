"""How long the hosts of a stack take to be prepared and vetted, from what their probes write and read.

Machines are probed at the same time, the disks of one machine one after another, so that the slowest machine decides; then every pair
of client and broker, one after another. A replaced host takes as much again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from provisioning.document import parse_document
from provisioning.hosts.inventory import Role
from provisioning.testbeds.aws.shape import Hosts, Shape
from provisioning.vetting.thresholds import Profile, Thresholds

DISKS_FILE = Path(__file__).with_name("instance_disks.toml")
DISKS_SCHEMA = 1
MIB = 2**20

# Assumed, on the safe side.
PREPARE_S = 180.0  # the end of the first boot, packages, settings read back over new connections
FLUSH_S = 0.0005  # a flush of a small write
ROUND_TRIP_S = 0.0002  # within a placement group
PAIR_S = 3.0  # a server and a client started over SSH
SLOWEST_KEPT = 0.85  # of a disk's rate: what is slower than that is rejected, by the fleet or by its preset
# dd has a queue of one, so that each MiB also waits for the disk: 0.06 ms by the one published dd (327 MB/s on an i3en.2xlarge, of
# which many requests at once get 333)
BLOCK_S = 0.0001

Rate = Annotated[int, Field(gt=0)]


@dataclass(frozen=True)
class Disks:
    """The disks that a host's data is on: how many, and the bytes a second of each."""

    count: Annotated[int, Field(ge=1)]
    read_bytes_per_s: Rate
    write_bytes_per_s: Rate


@dataclass(frozen=True)
class _DisksFile:
    """The file's keys."""

    schema: int
    source: str
    looked_up: date
    disks: Mapping[str, Disks]


@cache
def load_disks(path: Path = DISKS_FILE) -> Mapping[str, Disks]:
    """Instance type -> its own disks. Raises InvalidInput naming file and key."""
    return parse_document(_DisksFile, path, schema=DISKS_SCHEMA).disks


def thresholds_of(shape: Shape, thresholds: Thresholds) -> Thresholds:
    """Those by which a stack's hosts are vetted. Raises InvalidInput for probes that nobody has described."""
    return thresholds.probing_by(shape.probes, where="key samebox:probes of the stack's config")


def vetting_s(shape: Shape, thresholds: Thresholds) -> float:
    """The seconds that preparing and vetting take if no host is replaced. Raises InvalidInput for probes that nobody has described."""
    thresholds = thresholds_of(shape, thresholds)
    roles = shape.by_role()
    profiles = {role: thresholds.profile_of(hosts.instance_type) for role, hosts in roles.items()}
    round_s = max(_round_s(role, hosts, profiles[role]) for role, hosts in roles.items())
    repeats = max(profile.repeats for profile in profiles.values())
    spread_s = max(profile.spread_s for profile in profiles.values())
    pairs_s = 0.0
    if client := profiles.get("client"):
        pairs = shape.clients.count * shape.brokers.count
        pairs_s = pairs * (PAIR_S + client.network_s + client.network_round_trips * ROUND_TRIP_S)
    return PREPARE_S + repeats * round_s + (repeats - 1) * spread_s + pairs_s


def dd_s(size_bytes: int, bytes_per_s: float) -> float:
    """How long dd takes over so many bytes, a MiB at a time, on a disk of that rate."""
    return size_bytes / bytes_per_s + size_bytes / MIB * BLOCK_S


def _round_s(role: Role, hosts: Hosts, profile: Profile) -> float:
    """One round of probes on one machine of a role."""
    if role == "client":
        return profile.idle_s + profile.cpu_s + profile.records_bytes / (hosts.root_throughput_mib_per_s * MIB)
    disks = _disks(role, hosts, profile)
    size_bytes = profile.throughput_bytes
    sequential_s = dd_s(size_bytes, disks.write_bytes_per_s) + dd_s(size_bytes, disks.read_bytes_per_s)
    return profile.idle_s + disks.count * (sequential_s / SLOWEST_KEPT + profile.fsync_count * FLUSH_S)


def _disks(role: Role, hosts: Hosts, profile: Profile) -> Disks:
    """The type's own; a metadata host without any keeps its data on the root volume. Of any other the slowest allowed is assumed."""
    if own := load_disks().get(hosts.instance_type):
        return own
    rate = hosts.root_throughput_mib_per_s * MIB if role == "metadata" else profile.slowest_bytes_per_s
    return Disks(1, rate, rate)
