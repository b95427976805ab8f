"""Where this checkout keeps things: the state of its testbeds and its results. Paths only."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
# where state and results go; a test, or a user with a larger disk elsewhere, says so by SAMEBOX_HOME
HOME = Path(os.environ.get("SAMEBOX_HOME") or CHECKOUT).resolve()
STATE = HOME / ".samebox"
TESTBED_STATE = STATE / "testbed"
VETTING_STATE = STATE / "vetting.json"
STACKS_STATE = STATE / "stacks"  # a folder for each Pulumi stack: its lock, its vetting
BACKGROUND_STATE = STATE / "background"  # a folder for each stack with a campaign in the background of this machine
SCRATCH = STATE / "scratch"
RESULTS = HOME / "results"
PROOFS = RESULTS / "durability-proof"  # a folder for each `samebox prove-durability`
