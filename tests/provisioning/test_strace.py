"""Attaching strace over scripted hosts: what is said where it is missing or not permitted, and that everything is let go of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from provisioning.errors import Completed, HostsFailed, MissingRequirement
from provisioning.hosts.host import RemoteProcess, ScriptedHost
from provisioning.hosts.inventory import HostRecord, SshAddress
from provisioning.hosts.strace import require_strace, traced

ATTACHED, DETACHED = '{"attached": 57}', '{"bytes": 4096}'


def record(name: str) -> HostRecord:
    """A broker host."""
    return HostRecord(name, "broker", SshAddress("127.0.0.1", 22, "b", ""), "127.0.0.1", "/r", (), "", "", 1)


@dataclass
class Agent:
    """The agent's process: answers line by line."""

    answers: list[str]
    told: list[str] = field(default_factory=list)
    closed: bool = False

    def send_line(self, line: str) -> None:
        self.told.append(line)

    def lines(self) -> Iterator[str]:
        yield from self.answers

    def wait(self, *, timeout_s: float) -> Completed:
        del timeout_s
        return Completed("", "", "python3: command not found", 127)

    def close(self) -> None:
        self.closed = True


@dataclass
class TracedHost(ScriptedHost):
    """A host on which one agent can be started."""

    agent: Agent = field(default_factory=lambda: Agent([ATTACHED, DETACHED]))
    spawned: str = ""

    def spawn(self, command: str) -> RemoteProcess:
        self.spawned = command
        return self.agent


def host(name: str, *answers: str) -> TracedHost:
    """A broker host whose agent answers so."""
    return TracedHost(record(name), {"mkdir -p /r/strace": ""}, agent=Agent(list(answers or (ATTACHED, DETACHED))))


def test_all_are_attached_before_and_detached_after() -> None:
    """Inside, every host's process is traced; afterwards each was told to let go, answered, and was closed."""
    hosts = [host("broker-1"), host("broker-2")]
    with traced([(hosts[0], 11), (hosts[1], 12)], ["fsync", "write"], "x.strace") as outputs:
        assert [(each.host.name, each.output) for each in outputs] == [
            ("broker-1", "/r/strace/x.strace"),
            ("broker-2", "/r/strace/x.strace"),
        ]
        assert all(each.agent.told == [] for each in hosts)
    assert all(each.agent.told == ["let go"] and each.agent.closed for each in hosts)
    assert "trace=fsync,write" in hosts[0].spawned
    assert "12 /r/strace/x.strace" in hosts[1].spawned


def test_not_permitted_says_what_would_permit_it() -> None:
    """strace's own words, the knob to turn, and no host left traced."""
    fine, refused = host("broker-1"), host("broker-2", '{"error": "refused", "said": "Operation not permitted"}')
    with (
        pytest.raises(HostsFailed, match=r"broker-2: can't be traced: Operation not permitted") as caught,
        traced([(fine, 1), (refused, 2)], ["fsync"], "x"),
    ):
        pass
    assert "kernel.yama.ptrace_scope=0" in caught.value.next_step
    assert fine.agent.closed
    assert refused.agent.closed


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"error": "missing", "said": "no strace on the PATH"}', "no strace on the PATH"),
        ("Traceback", "unexpected answer of the strace agent: 'Traceback'. python3: command not found"),
    ],
)
def test_an_agent_that_can_not_work_is_an_error(answer: str, said: str) -> None:
    """Without strace, without Python."""
    broken = host("broker-1", answer)
    with pytest.raises(HostsFailed, match=said), traced([(broken, 1)], ["fsync"], "x"):
        pass


def test_a_process_that_ended_under_trace_is_an_error() -> None:
    """What a broker did that died in the middle is no evidence of what it would have done."""
    died = host("broker-1", ATTACHED, '{"error": "ended", "said": "the process ended"}')
    with (
        pytest.raises(HostsFailed, match="broker-1: can't be traced: the process ended"),
        traced([(died, 1)], ["fsync"], "x"),
    ):
        pass


def test_strace_is_asked_for_before_anything_starts() -> None:
    """Every host without it is named, with what to type."""
    look = "command -v strace"
    hosts = [
        ScriptedHost(record("broker-1"), {look: "/usr/bin/strace\n"}),
        ScriptedHost(record("broker-2"), {look: Completed(look, "", "", 127)}),
    ]
    with pytest.raises(MissingRequirement, match=r"strace is missing on broker-2\.") as caught:
        require_strace(hosts)
    assert "samebox prepare" in caught.value.next_step
    require_strace(hosts[:1])
