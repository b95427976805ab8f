"""Time to live: plans that hosts wouldn't outlive are refused, and extending moves every timer or says which it didn't."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from provisioning.errors import Completed, HostsFailed, HostUnreachable, InvalidInput
from provisioning.hosts.host import Host, ScriptedHost
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.pulumi_command import Answer, ScriptedPulumi
from provisioning.testbeds.aws.stack import ChangeFailed, Stack
from provisioning.testbeds.aws.time_to_live import (
    LONGEST_AHEAD,
    MARGIN_S,
    READ_BACK,
    Extended,
    arm_command,
    extend,
    later,
    require_time,
    utc_text,
)
from tests.aws import engine
from tests.campaign.command import samebox

NOW = datetime(2026, 11, 21, 16, 0, tzinfo=UTC)
EXPIRES = "2026-11-21T20:00:00Z"  # the inventory's
NEW = "2026-11-21T22:00:00Z"
OUTPUT = "stack output --non-interactive --stack sn --json"
CONFIG = "config --non-interactive --stack sn --json"
PREVIEW = "preview --non-interactive --stack sn --json"
UP = "up --non-interactive --stack sn --yes --skip-preview --json"
CONFIGURED = '{"samebox:expires": {"value": "' + EXPIRES + '", "secret": false}}'
TIMER = "aws:scheduler/schedule:Schedule"
PLAN = engine.lines(engine.began("update", "end-broker-1", TIMER))
DONE = engine.lines(engine.began("update", "end-broker-1", TIMER), engine.done("update", "end-broker-1", TIMER))
ARMED = "active\nSat 2026-11-21 22:00:00 UTC\n"


def config_set(expires: str) -> tuple[str, str]:
    """The command that sets the config, and its empty answer."""
    return f"config set --non-interactive --stack sn --path --plaintext -- expires {expires}", ""


class Hosts:
    """Connects to scripted hosts, which all answer alike but for those in `others`."""

    def __init__(self, expires: str = NEW, read_back: str = ARMED, **others: str) -> None:
        self.expires, self.read_back, self.others = expires, read_back, others
        self.connected: list[ScriptedHost] = []

    def __call__(self, inventory: Inventory) -> Sequence[Host]:
        for record in inventory.hosts:
            shown = self.others.get(record.name.replace("-", "_"), self.read_back)
            answers: dict[str, str | Completed | Exception | list[str | Completed | Exception]] = {
                arm_command(self.expires): f"this host ends at {self.expires}\n",
                READ_BACK: shown,
            }
            self.connected.append(ScriptedHost(record, answers))
        return self.connected


def scripted(*script: tuple[str, str | Answer]) -> tuple[Stack, ScriptedPulumi]:
    """Stack sn over a scripted pulumi, and that."""
    pulumi = ScriptedPulumi(list(script))
    return Stack("sn", Path(), command=pulumi), pulumi


def silent(_: str) -> None:
    """Takes a line of progress."""


# --- a plan against the time left ------------------------------------------------------------------------------------------------


def test_a_plan_that_fits_is_let_through() -> None:
    """Up to the margin; hosts without an end have time for everything."""
    require_time(EXPIRES, 4 * 3600 - MARGIN_S, NOW)
    require_time(None, 1e9, NOW)


def test_a_plan_longer_than_the_hosts_live_is_refused() -> None:
    """It says how much is left, how much is needed, and by how much to extend, in half hours that are enough."""
    with pytest.raises(
        InvalidInput, match=r"end at 2026-11-21T20:00:00Z, in 4\.0 h; the plan takes about 4\.0 h"
    ) as caught:
        require_time(EXPIRES, 4 * 3600, NOW)
    assert "samebox extend 0.5 " in caught.value.next_step
    with pytest.raises(InvalidInput) as caught:
        require_time(EXPIRES, 6.5 * 3600, NOW)
    assert "samebox extend 3 " in caught.value.next_step
    require_time(utc_text(later(EXPIRES, 3, NOW)), 6.5 * 3600, NOW)


def test_hosts_whose_time_is_over_are_told() -> None:
    """Nothing to extend there: the sweep says what is left."""
    with pytest.raises(InvalidInput, match="time to live ended at") as caught:
        require_time(EXPIRES, 1, NOW + timedelta(hours=5))
    assert "samebox sweep" in caught.value.next_step


@pytest.mark.parametrize("text", ["tomorrow", "2026-11-21T20:00:00", "2026-11-21T20:00:00+01:00", ""])
def test_only_utc_is_a_time(text: str) -> None:
    """A time without its zone would be somebody's local one."""
    with pytest.raises(InvalidInput, match=r"not a UTC time in ISO 8601, such as"):
        require_time(text, 1, NOW)


# --- the new end -----------------------------------------------------------------------------------------------------------------


def test_hours_are_added_to_the_end() -> None:
    """To the end that is set; to now where that has passed, so that late hosts get their hours."""
    assert utc_text(later(EXPIRES, 1.5, NOW)) == "2026-11-21T21:30:00Z"
    assert utc_text(later(EXPIRES, 0, NOW)) == EXPIRES
    assert utc_text(later(EXPIRES, 2, NOW + timedelta(hours=10))) == "2026-11-22T04:00:00Z"


def test_no_host_lives_longer_than_a_week_from_now() -> None:
    """The refusal says how much can be added."""
    longest_h = LONGEST_AHEAD.total_seconds() / 3600 - 4
    assert later(EXPIRES, longest_h, NOW) == NOW + LONGEST_AHEAD
    with pytest.raises(InvalidInput, match=r"more than 7 days ahead.*At most 164\.0 hours"):
        later(EXPIRES, longest_h + 0.1, NOW)


def test_no_hours_do_not_revive() -> None:
    """0 arms timers anew; for an end that has passed there is none to arm."""
    with pytest.raises(InvalidInput, match="adding 0 hours doesn't change that"):
        later(EXPIRES, 0, NOW + timedelta(hours=10))


# --- extending -------------------------------------------------------------------------------------------------------------------


def test_extending_moves_the_outside_timer_and_every_hosts_own() -> None:
    """Config, plan, up, then each host; each is read back."""
    stack, pulumi = scripted(
        (OUTPUT, engine.outputs(engine.inventory())),
        (CONFIG, CONFIGURED),
        config_set(NEW),
        (PREVIEW, PLAN),
        (UP, DONE),
    )
    hosts = Hosts()
    assert extend(stack, 2, NOW, silent, connect=hosts) == Extended(NEW, engine.HOSTS)
    pulumi.require_done()
    assert [host.asked for host in hosts.connected] == [[arm_command(NEW), READ_BACK]] * 4


def test_a_host_that_is_not_armed_is_named() -> None:
    """Inactive, or armed to another time: the operator learns which host keeps its old end, and how to try again."""
    stack, _ = scripted(
        (OUTPUT, engine.outputs(engine.inventory())), (CONFIG, CONFIGURED), config_set(NEW), (PREVIEW, PLAN), (UP, DONE)
    )
    hosts = Hosts(broker_2="inactive\n\n", client_1="active\nSat 2026-11-21 20:00:00 UTC\n")
    with pytest.raises(HostsFailed) as caught:
        extend(stack, 2, NOW, silent, connect=hosts)
    assert sorted(caught.value.errors) == ["broker-2", "client-1"]
    assert "samebox-expires.timer says: inactive" in str(caught.value)
    assert "says: active Sat 2026-11-21 20:00:00 UTC" in str(caught.value)
    assert "samebox extend 0 --stack sn" in caught.value.next_step


def test_a_host_that_does_not_answer_is_named() -> None:
    """The others are armed all the same."""
    stack, _ = scripted(
        (OUTPUT, engine.outputs(engine.inventory())), (CONFIG, CONFIGURED), config_set(NEW), (PREVIEW, PLAN), (UP, DONE)
    )
    hosts = Hosts()

    def connect(inventory: Inventory) -> Sequence[Host]:
        connected = hosts(inventory)
        hosts.connected[1].answers[arm_command(NEW)] = HostUnreachable("broker-2", "no route")
        return connected

    with pytest.raises(HostsFailed, match="broker-2: its own timer wasn't moved: broker-2: no route") as caught:
        extend(stack, 2, NOW, silent, connect=connect)
    assert list(caught.value.errors) == ["broker-2"]
    assert [len(host.asked) for host in hosts.connected] == [2, 1, 2, 2]


def test_a_failed_up_sets_the_config_back() -> None:
    """The same command can be typed again and adds the hours once; no host was touched."""
    failed = Answer(engine.lines(engine.error("end-broker-1", "AccessDenied")), exit_status=1)
    stack, pulumi = scripted(
        (OUTPUT, engine.outputs(engine.inventory())),
        (CONFIG, CONFIGURED),
        config_set(NEW),
        (PREVIEW, PLAN),
        (UP, failed),
        config_set(EXPIRES),
    )
    hosts = Hosts()
    with pytest.raises(ChangeFailed):
        extend(stack, 2, NOW, silent, connect=hosts)
    pulumi.require_done()
    assert hosts.connected == []


def test_extending_does_nothing_else_by_the_way() -> None:
    """Where `up` would replace a host, nothing is done, and the config is as before."""
    plan = engine.lines(engine.began("create-replacement", "broker-1", host="broker-1"))
    stack, pulumi = scripted(
        (OUTPUT, engine.outputs(engine.inventory())),
        (CONFIG, CONFIGURED),
        config_set(NEW),
        (PREVIEW, plan),
        config_set(EXPIRES),
    )
    with pytest.raises(InvalidInput, match="extending would also replace broker-1"):
        extend(stack, 2, NOW, silent, connect=Hosts())
    pulumi.require_done()


def test_what_can_not_be_extended_is_refused_before_anything_changes() -> None:
    """Nothing up; no end configured; too far ahead."""
    stack, pulumi = scripted((OUTPUT, engine.outputs(None)))
    with pytest.raises(InvalidInput, match="nothing is up in stack sn"):
        extend(stack, 2, NOW, silent, connect=Hosts())
    pulumi.require_done()
    stack, pulumi = scripted((OUTPUT, engine.outputs(engine.inventory())), (CONFIG, "{}"))
    with pytest.raises(InvalidInput, match="'samebox:expires' is missing"):
        extend(stack, 2, NOW, silent, connect=Hosts())
    pulumi.require_done()
    stack, pulumi = scripted((OUTPUT, engine.outputs(engine.inventory())), (CONFIG, CONFIGURED))
    with pytest.raises(InvalidInput, match="more than 7 days ahead"):
        extend(stack, 168, NOW, silent, connect=Hosts())
    pulumi.require_done()


# --- the command -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("2",), "Missing option '--stack'"),
        (("two", "--stack", "smoke"), "'two' is not a valid float"),
        (("--stack", "smoke", "--", "-1"), "-1.0 is not in the range 0<=x<=168"),
        (("169", "--stack", "smoke"), "169.0 is not in the range"),
        (("2", "--stack", "sn2023"), "makes it from a preset (smoke, sn2020, sn2022, tiny)"),
    ],
)
def test_mistakes_are_told_without_a_traceback(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    """Exit 1, one error, nothing asked of pulumi."""
    done = samebox(tmp_path, "extend", *arguments, PATH="/nowhere")
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr
