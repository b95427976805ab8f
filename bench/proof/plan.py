"""What a durability proof deploys and sends, as a campaign of one small workload: systems, levels and refusals are a campaign's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.campaign.campaign import CAMPAIGN_SCHEMA, Campaign, empty_cells, order_of
from bench.campaign.system_settings import all_profiles
from contract.workload import Workload
from provisioning.errors import InvalidInput
from systems.profile import VENDOR_DEFAULT
from systems.registry import DURABILITY, SYSTEMS
from systems.settings import Settings

MESSAGE_BYTES = 1024
WORKLOAD = "one-by-one"


def levels_to_prove() -> tuple[str, ...]:
    """Every durability that some system has and that promises anything."""
    return tuple(
        name
        for name, durability in DURABILITY.items()
        if durability.replication != "none" and any(name in system.levels for system in SYSTEMS.values())
    )


def proof_campaign(
    systems: Sequence[str],
    levels: Sequence[str],
    messages: int,
    *,
    system_profile: str = VENDOR_DEFAULT,
    settings: Mapping[str, Settings] | None = None,
) -> Campaign:
    """The campaign: one partition, so that one file of a node has all messages; one in flight, alone in its batch.

    No systems or levels means all. `settings` are as a campaign's. Raises InvalidInput naming option and valid choices.
    """
    _refuse_unknown("--systems", systems, tuple(SYSTEMS))
    _refuse_unknown("--durability", levels, levels_to_prove())
    _refuse_unknown("--system-profile", [system_profile], all_profiles())
    workload = Workload(
        name=WORKLOAD,
        rate_per_s=100_000_000,
        expected_rate_per_s=messages,
        message_bytes=MESSAGE_BYTES,
        measure_s=1,
        warmup_s=0,
        pacing="closed-loop",
        partitions=1,
        consumers=0,
        batching=False,
        batch_delay_ms=0,
        in_flight=1,
    )
    campaign = Campaign(
        schema=CAMPAIGN_SCHEMA,
        name="durability-proof",
        question="Is a durability level what it says?",
        seed=0,
        systems=tuple(systems or SYSTEMS),
        blocks=1,
        durability=tuple(levels or levels_to_prove()),
        workloads=(workload,),
        order="fixed",
        system_profile=system_profile,
        settings=settings or {},
    )
    if not order_of(campaign):
        reasons = "; ".join(f"{cell.system}, level {cell.durability}: {cell.reason}" for cell in empty_cells(campaign))
        raise InvalidInput(f"nothing to prove: {reasons}.")
    return campaign


def _refuse_unknown(option: str, names: Sequence[str], valid: Sequence[str]) -> None:
    for name in names:
        if name not in valid:
            note = " promises nothing." if name in DURABILITY and option == "--durability" else " is unknown."
            raise InvalidInput(f"{option}: {name!r}{note} Valid choices: {', '.join(valid)}.")
    for name in sorted({name for name in names if names.count(name) > 1}):
        raise InvalidInput(f"{option}: {name} is listed twice.")
