"""How long a stack's hosts may live: refused if too short for a plan, extended everywhere at once. Hosts forgotten cost money.

Two timers end a host, and neither needs the operator's machine: systemd on the host (armed by its user data) and EventBridge
Scheduler outside it (armed by the Pulumi program). Extending moves both: the outside one by `pulumi up`, then each host's own over
SSH, read back. The earlier of the two ends a host, so an extension that fails half-way never makes one immortal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from provisioning.errors import HostError, InvalidInput
from provisioning.hosts.host import Host, on_all
from provisioning.hosts.inventory import Inventory
from provisioning.hosts.ssh import connect
from provisioning.testbeds.aws.events import Change
from provisioning.testbeds.aws.stack import Follow, Stack

LONGEST_AHEAD = timedelta(days=7)
# what the report's end, a look at it and the teardown take: no plan may end with the hosts
MARGIN_S = 600.0
TIMER = "samebox-expires.timer"
# both put on the host by its user data; sudo's own path may lack the folder
EXPIRE_AT = "$(command -v samebox-expire-at || echo /usr/local/sbin/samebox-expire-at)"
ARM_TIMEOUT_S = 60.0
SYSTEMD_TIME = "%a %Y-%m-%d %H:%M:%S UTC"

Connect = Callable[[Inventory], Sequence[Host]]


@dataclass(frozen=True)
class Extended:
    """What an extension came to: when everything ends now, and the hosts whose own timer was read back with that time."""

    expires: str
    hosts: tuple[str, ...]


def utc(text: str, *, where: str) -> datetime:
    """A UTC time in ISO 8601. Raises InvalidInput naming `where` it stands."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.utcoffset() != timedelta(0):
        raise InvalidInput(f"{where} = {text!r}: not a UTC time in ISO 8601, such as 2026-11-21T20:00:00Z.")
    return parsed.astimezone(UTC)


def utc_text(time: datetime) -> str:
    """As the stack's config has it: 2026-11-21T20:00:00Z."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def require_time(expires: str | None, needed_s: float, now: datetime) -> None:
    """Refuses a plan that the hosts wouldn't outlive, with a margin for report and teardown. No `expires`, no limit.

    Raises InvalidInput saying how many hours to extend by.
    """
    if expires is None:
        return
    left_s = (utc(expires, where="the testbed's 'expires'") - now).total_seconds()
    if left_s >= needed_s + MARGIN_S:
        return
    if left_s <= 0:
        raise InvalidInput(
            f"the hosts' time to live ended at {expires}.", next_step="`samebox sweep` shows what is still there."
        )
    short_h = (needed_s + MARGIN_S - left_s) / 3600
    raise InvalidInput(
        f"the hosts end at {expires}, in {left_s / 3600:.1f} h; the plan takes about {needed_s / 3600:.1f} h, and "
        f"{MARGIN_S / 60:.0f} minutes are reserved for report and teardown.",
        next_step=f"`samebox extend {_round_up(short_h):g} --stack STACK`, or a smaller plan.",
    )


def _round_up(hours: float) -> float:
    """To the next half hour."""
    return -(-hours * 2 // 1) / 2


def later(expires: str, hours: float, now: datetime) -> datetime:
    """`hours` after `expires`, or after now where that has passed. Raises InvalidInput beyond the longest time ahead."""
    current = utc(expires, where="samebox:expires")
    new = max(current, now) + timedelta(hours=hours)
    if new > now + LONGEST_AHEAD:
        most_h = max(0.0, (now + LONGEST_AHEAD - max(current, now)).total_seconds() / 3600)
        raise InvalidInput(
            f"{hours:g} hours more would let the hosts live until {utc_text(new)}, more than {LONGEST_AHEAD.days} days ahead: "
            f"forgotten hosts cost money. At most {most_h:.1f} hours can be added now.",
            next_step="Extend by less, and again later.",
        )
    if new <= now:
        raise InvalidInput(
            f"the time to live ended at {expires}; adding 0 hours doesn't change that.",
            next_step="`samebox sweep` says whether the hosts are still there; then extend by more than 0.",
        )
    return new


def extend(stack: Stack, hours: float, now: datetime, on_line: Follow, *, connect: Connect = connect) -> Extended:
    """Moves the end of all of a stack's hosts by `hours`; 0 arms every timer anew with the time that is set.

    Raises InvalidInput before anything is changed, ChangeFailed with the config set back, HostsFailed for hosts that keep their
    old time.
    """
    inventory = stack.inventory()
    if inventory is None or not inventory.hosts:
        raise InvalidInput(
            f"nothing is up in stack {stack.name}, so there is nothing to extend.",
            next_step=f"`pulumi config set samebox:expires TIME --stack {stack.name}` sets it before `pulumi up`.",
        )
    (before,) = stack.required("expires", example="2026-11-21T20:00:00Z")
    new = later(before, hours, now)
    expires = utc_text(new)
    stack.set_config("expires", expires)
    try:
        on_line("looking at what would change")
        _require_harmless(stack.preview(lambda _: None), stack.name)
        stack.up(on_line)
    except BaseException:
        stack.set_config("expires", before)
        raise
    hosts = connect(inventory)
    try:
        on_line(f"arming {len(hosts)} hosts' own timers")
        again = f"samebox extend 0 --stack {stack.name}"
        on_all(f"arming the hosts' own timers to {expires}", hosts, lambda host: arm(host, new, again=again))
    finally:
        for host in hosts:
            host.close()
    return Extended(expires, tuple(host.name for host in hosts))


def _require_harmless(plan: Sequence[Change], stack: str) -> None:
    """Extending changes tags and the outside timer. Anything else is somebody's other business, and not done by the way."""
    others = [f"{change.operation} {change.host or change.name}" for change in plan if change.operation != "update"]
    if others:
        raise InvalidInput(
            f"extending would also {', '.join(others)}: the stack differs from its program and config.",
            next_step=f"`pulumi preview --diff --stack {stack}` shows why; apply that with `pulumi up --stack {stack}`, then extend.",
        )


def arm_command(expires: str) -> str:
    """Moves a host's own timer. A machine that was never given one has no such program, and is left alone."""
    return f'program="{EXPIRE_AT}"; if [ "$(id -u)" = 0 ]; then "$program" {expires}; else sudo -n "$program" {expires}; fi'


READ_BACK = (
    f"systemctl is-active {TIMER}; TZ=UTC LC_ALL=C systemctl show --property=NextElapseUSecRealtime --value {TIMER}"
)


def arm(host: Host, end: datetime, *, again: str) -> None:
    """Arms one host's own timer and reads it back. Raises HostError if it isn't armed to that very time; `again` tries again."""
    try:
        host.run(arm_command(utc_text(end)), timeout_s=ARM_TIMEOUT_S)
    except HostError as error:
        raise HostError(
            host.name, f"its own timer wasn't moved: {error}", next_step=f"`{again}` tries again."
        ) from None
    answer = host.run(READ_BACK, timeout_s=ARM_TIMEOUT_S, check=False).stdout.split("\n")
    wanted = end.astimezone(UTC).strftime(SYSTEMD_TIME)
    if answer[:2] != ["active", wanted]:
        shown = " ".join(line for line in answer if line) or "nothing"
        raise HostError(
            host.name,
            f"its own timer should end it at {wanted}, but {TIMER} says: {shown}.",
            next_step=f"`{again}` tries again.",
        )
