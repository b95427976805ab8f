"""Asks analysis something that takes a moment and no Spark: a module of it as a process, whose answer is what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from bench.checkout import CHECKOUT
from bench.report.here import ERROR, NEXT
from provisioning.errors import SameboxError


def ask(module: str, arguments: Sequence[str]) -> str:
    """What `python -m MODULE ARGUMENTS` prints. Raises SameboxError with its own error."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise _refusal(done.stderr)
    return done.stdout


def _refusal(said: str) -> SameboxError:
    """What the process wrote, as our own error: it ends with `error: ...`, and perhaps `next: ...`."""
    message, _, next_step = said.rpartition(ERROR)[2].partition(f"\n{NEXT}")
    return SameboxError(message.strip(), next_step=next_step.strip())
