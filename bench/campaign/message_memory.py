"""Whether systems that keep their messages in memory can hold those of each trial: an estimate from what the campaign's file says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.campaign.estimate import messages
from bench.campaign.order import TrialSpec
from provisioning.errors import MissingRequirement
from systems.deployment import Plan
from systems.registry import SYSTEMS


def check_message_memory(trials: Sequence[TrialSpec], plans: Mapping[str, Plan]) -> None:
    """Raises MissingRequirement for the first trial whose messages don't fit. `plans`: by trial."""
    for trial in trials:
        memory, workload = SYSTEMS[trial.system].message_memory, trial.workload
        if memory is None:
            continue
        fitting, wanted = memory.messages(plans[trial.trial], workload.message_bytes), messages(workload)
        if wanted > fitting:
            raise MissingRequirement(
                f"not enough memory: {trial.trial} sends about {wanted:,.0f} messages of {workload.message_bytes:,} bytes, all of "
                f"which {trial.system} keeps in memory; it refuses more than about {round(fitting, -4):,}.",
                next_step=f"Raise settings.{trial.system}.{memory.setting} in the campaign file if the broker hosts have the memory, "
                f"run it at a smaller --scale, lower rate_per_s, message_bytes or measure_s, or leave {trial.system} out.",
            )
