"""Where this checkout keeps things: the state of its local testbed and its results. Paths only."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
# where state and results go; a test, or a user with a larger disk elsewhere, says so by SAMEBOX_HOME
HOME = Path(os.environ.get("SAMEBOX_HOME") or CHECKOUT).resolve()
STATE = HOME / ".samebox"
TESTBED_STATE = STATE / "testbed"
VETTING_STATE = STATE / "vetting.json"
SCRATCH = STATE / "scratch"
RESULTS = HOME / "results"


def cache_dir() -> Path:
    """The user's cache for samebox: software resolved once, shared by all checkouts."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "samebox"
