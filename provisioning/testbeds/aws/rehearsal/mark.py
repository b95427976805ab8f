"""Whether a command is part of a rehearsal: one word in its environment, which `samebox rehearse` puts there."""

from __future__ import annotations

import os

VARIABLE = "SAMEBOX_REHEARSAL"
KIND = (
    "rehearsal"  # the kind of testbed that a stack then is: bench/campaign/testbeds/rehearsal.toml has what holds on it
)
NOTICE = "rehearsal: this machine stands in for AWS. Prices are what AWS would charge; nothing is charged."


def rehearsing() -> bool:
    """Whether what this process takes for AWS is this machine."""
    return bool(os.environ.get(VARIABLE))
