"""Thresholds of a rehearsal: small probes, and nothing rejected but what no disk does."""

from __future__ import annotations

from dataclasses import asdict

from provisioning.vetting import load_thresholds, rehearsed
from provisioning.vetting.rehearsed import PROBES, WRITE_BYTES_PER_S

KIT = load_thresholds()
PLAYED = rehearsed(KIT)


def test_every_type_is_probed_alike_and_small() -> None:
    """The longest probe of the kit is 64 GiB: here no type reads or writes more than 64 MiB at once."""
    for name in [*KIT.instances, "a type that nobody listed"]:
        assert PLAYED.profile_of(name) == PROBES
    assert max(PROBES.throughput_bytes, PROBES.records_bytes) <= 64 * 2**20
    assert {PLAYED.preset_of(name) for name in KIT.instances} == {WRITE_BYTES_PER_S}
    assert PLAYED.again_rule.profile in PLAYED.profiles


def test_no_bound_is_tighter() -> None:
    """What the kit lets pass, a rehearsal lets pass."""
    for rule in ("fsync_rule", "stall_rule", "repeats_rule", "idle_rule", "network_rule"):
        kit, played = asdict(getattr(KIT, rule)), asdict(getattr(PLAYED, rule))
        for key, bound in kit.items():
            if isinstance(bound, float):
                assert played[key] >= bound, f"{rule}.{key}"
    assert PLAYED.fleet_rule.scatter.between > KIT.fleet_rule.scatter.between
