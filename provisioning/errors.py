"""The error tree of samebox. An error says what failed, where, with which evidence, and what to do next.

SameboxError                 base: what an operator can act on; the command line prints it and exits 1
├── InvalidInput             a file, option or name given by the operator is wrong; nothing was started
├── MissingRequirement       this machine lacks something (a program, disk space, a free address)
├── HostError                something failed on one host
│   ├── HostUnreachable      no SSH connection (refused, timed out, wrong host key, cut off)
│   ├── CommandFailed        a command exited non-zero
│   └── CommandTimedOut      a command overran its deadline and was ended
├── HostsFailed              the same action failed on one or more of several hosts (host name -> error)
├── DeploymentError          a system could not be installed, configured, started or stopped
│   └── UnsupportedDurability   the system can't give the durability level asked for
├── ResetError               the testbed could not be brought back to a clean state
└── StackFailed              a Pulumi stack could not be looked at or changed (provisioning/testbeds/aws/failures.py)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class SameboxError(Exception):
    """What failed, in one sentence, and optionally what to type or change next.

    >>> try: ...
    ... except SameboxError as error: print(error, error.next_step)
    """

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step


class InvalidInput(SameboxError):
    """A file, option or name given by the operator is wrong; raised before anything is started."""


class MissingRequirement(SameboxError):
    """This machine lacks something that the command needs."""


class HostError(SameboxError):
    """Something failed on one host."""

    def __init__(self, host: str, message: str, *, next_step: str = "") -> None:
        super().__init__(f"{host}: {message}", next_step=next_step)
        self.host = host


class HostUnreachable(HostError):
    """No SSH connection to the host, or it was cut off."""


@dataclass(frozen=True)
class Completed:
    """A finished remote command: what it printed and its exit status."""

    command: str
    stdout: str
    stderr: str
    exit_status: int


class CommandFailed(HostError):
    """A remote command exited non-zero; carries everything needed to understand it without a rerun."""

    def __init__(self, host: str, completed: Completed) -> None:
        tail = (completed.stderr.strip() or completed.stdout.strip())[-800:]
        super().__init__(host, f"exit {completed.exit_status} from: {completed.command[:400]}\n{tail}".rstrip())
        self.completed = completed


class CommandTimedOut(HostError):
    """A remote command overran its deadline."""

    def __init__(self, host: str, command: str, timeout_s: float) -> None:
        super().__init__(host, f"no answer within {timeout_s:g} s from: {command[:400]}")
        self.command = command


class HostsFailed(SameboxError):
    """The same action failed on some hosts; `errors` maps host name to its error."""

    def __init__(self, action: str, errors: Mapping[str, BaseException]) -> None:
        lines = [f"{action} failed on {', '.join(sorted(errors))}:"]
        lines += [f"  {str(error) or type(error).__name__}" for _, error in sorted(errors.items())]
        steps = {e.next_step for e in errors.values() if isinstance(e, SameboxError) and e.next_step}
        super().__init__("\n".join(lines), next_step="; ".join(sorted(steps)))
        self.errors = dict(errors)


class DeploymentError(SameboxError):
    """A system could not be installed, configured, started or stopped."""


class UnsupportedDurability(DeploymentError):
    """The system can't give the durability level asked for; the cell stays empty."""


class ResetError(SameboxError):
    """The testbed could not be brought back to a clean state; a trial must not start on it."""
