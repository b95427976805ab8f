"""How long the hosts of `samebox campaign aws` may live, and what is set in the stack's config for one run."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from bench.progress import Step, clock_text
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws.stack import Stack
from provisioning.testbeds.aws.time_to_live import LONGEST_AHEAD, utc_text

# A campaign that takes twice as long as estimated still ends before its hosts do.
SLACK = 2.0
MARGIN = timedelta(minutes=30)
SHORTEST_LIFE = timedelta(hours=2)
HOST_KEY_SEED_BYTES = 32


def require_nothing_up(stack: Stack) -> None:
    """Makes the stack if it doesn't exist. Raises InvalidInput if it holds something: what others stood up isn't taken down."""
    count = stack.resource_count()
    if count is None:
        stack.init()
    elif count:
        raise InvalidInput(
            f"stack {stack.name} holds {count} resources already, and `samebox campaign aws` takes down what it stood up.",
            next_step=f"Use what is up: `samebox run CAMPAIGN --stack {stack.name}`. "
            f"Or take it down first: `pulumi destroy --stack {stack.name}`.",
        )


def configure(stack: Stack, campaign: str, steps: Sequence[Step], now: datetime, *, waiting_s: float = 0.0) -> str:
    """Sets what belongs to this one run in the stack's config, and returns when its hosts end. Raises InvalidInput if too late."""
    life = life_of(steps, waiting_s=waiting_s)
    configured = stack.config()
    if "campaign" not in configured:
        stack.set_config("campaign", campaign)
    if "hostKeySeed" not in configured:
        stack.set_secret("hostKeySeed", secrets.token_hex(HOST_KEY_SEED_BYTES))
    expires = utc_text(now + life)
    stack.set_config("created", utc_text(now))
    stack.set_config("expires", expires)
    return expires


def life_of(steps: Sequence[Step], *, waiting_s: float = 0.0) -> timedelta:
    """How long the hosts may live: `waiting_s` for capacity, then twice the plan and half an hour.

    Raises InvalidInput for a plan that no host may outlive.
    """
    seconds = sum(step.estimate_s for step in steps)
    life = max(SHORTEST_LIFE, timedelta(seconds=SLACK * seconds) + MARGIN) + timedelta(seconds=waiting_s)
    if life > LONGEST_AHEAD:
        raise InvalidInput(
            f"the campaign takes about {clock_text(seconds)}; with slack its hosts would have to live longer than the "
            f"limit of {LONGEST_AHEAD.days} days.",
            next_step="Split it into campaigns of fewer blocks, or stand the hosts up with `pulumi up` and extend their life "
            "with `samebox extend` while it runs.",
        )
    return life
