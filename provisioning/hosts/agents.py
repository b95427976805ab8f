"""Hands a small program to a host's python3 and reads its answer. The programs (`*_agent.py`) are never installed on the host."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from provisioning.hosts.host import Host

ANSWER_TIMEOUT_S = 30.0
# Programs of the standard library alone: nothing that is installed or set on a host changes them, or makes them start more slowly.
PYTHON = "python3 -IS"


def command(request: Mapping[str, Any]) -> str:
    """The command line that has an agent answer `request`; the agent itself comes over standard input."""
    return f"{PYTHON} - {shlex.quote(json.dumps(request))}"


def ask(host: Host, agent: bytes, request: Mapping[str, Any], *, timeout_s: float = ANSWER_TIMEOUT_S) -> Any:
    """An agent's answer to one request on one host."""
    return json.loads(host.run(command(request), timeout_s=timeout_s, stdin=agent).stdout)
