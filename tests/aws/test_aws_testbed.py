"""The testbed on AWS over a scripted pulumi and scripted hosts: up, replacing exactly the rejected hosts, down."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from provisioning.errors import Completed, HostsFailed, HostUnreachable, InvalidInput, SameboxError
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.pulumi_command import Answer, ScriptedPulumi
from provisioning.testbeds.aws.stack import ChangeInterrupted, Follow, Stack
from provisioning.testbeds.aws.testbed import FIRST_BOOT_FAILED, NOT_YET, RETRY_S, AwsTestbed, ready_command
from provisioning.testbeds.testbed import Testbed
from tests.aws import engine
from tests.aws.test_stack import CAPACITY, OUTPUT, PREVIEW, UP

LIST = "stack ls --non-interactive --json"
BEFORE = engine.inventory()
REPLACED = engine.inventory(broker_2=2)


def set_generation(name: str, generation: int) -> tuple[str, str]:
    """Asking for it, and its answer."""
    return f"config set --non-interactive --stack sn --path --plaintext -- generations.{name} {generation}", ""


def plan_of(*names: str) -> tuple[str, str]:
    """A preview that replaces these hosts."""
    return PREVIEW, engine.lines(*(engine.began("create-replacement", name, host=name) for name in names))


@dataclass
class Lab:
    """Testbed of stack sn; `answers` are what each host says when asked whether it is ready, one after the other."""

    script: list[tuple[str, str | Answer]]
    answers: dict[str, list[str | Completed | Exception]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    waited_s: float = 0.0
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pulumi = ScriptedPulumi(self.script)
        self.testbed = AwsTestbed(
            Stack("sn", Path(), command=self.pulumi),
            on_line=self.said.append,
            end_clusters=self.end_clusters,
            connect=self.connect,
            sleep=self.sleep,
            now_s=lambda: self.waited_s,
        )

    def end_clusters(self, stack: Stack, on_line: Follow) -> None:
        """Of stack sn: says after which of pulumi's commands they were ended."""
        assert stack.name == "sn"
        on_line(f"clusters ended after {len(self.pulumi.asked)} commands")

    def sleep(self, seconds: float) -> None:
        """Time passes for the testbed only."""
        self.waited_s += seconds

    def connect(self, inventory: Inventory) -> Sequence[ScriptedHost]:
        """Hosts that are ready unless `answers` says otherwise."""
        return [
            Listening(host, {ready_command(host): self.answers.get(host.name, [""]), "true": ""}, lab=self)
            for host in inventory.hosts
        ]


@dataclass
class Listening(ScriptedHost):
    """A scripted host that tells the lab by name and generation that it was asked."""

    lab: Lab = field(default_factory=lambda: Lab([]))

    def run(
        self, command: str, *, timeout_s: float = 60.0, check: bool = True, stdin: bytes | None = None
    ) -> Completed:
        self.lab.asked.append(self.record.instance_id)
        return super().run(command, timeout_s=timeout_s, check=check, stdin=stdin)


def test_it_is_a_testbed() -> None:
    """Type checkers and readers may rely on it."""
    testbed: Testbed = Lab([]).testbed
    assert testbed


def test_up_brings_the_stack_up_and_waits_for_every_host() -> None:
    """A stack without resources isn't refreshed first, one with some is; each host is asked whether it is ready."""
    lab = Lab([(LIST, "[]"), (UP, engine.lines()), (OUTPUT, engine.outputs(BEFORE))])
    assert lab.testbed.up() == BEFORE
    assert sorted(lab.asked) == sorted(host.instance_id for host in BEFORE.hosts)
    again = Lab(
        [
            (LIST, '[{"name": "sn", "resourceCount": 28}]'),
            (f"{UP} --refresh", engine.lines()),
            (OUTPUT, engine.outputs(BEFORE)),
        ]
    )
    assert again.testbed.up() == BEFORE


def test_only_the_named_host_is_replaced() -> None:
    """Its generation is raised, the plan is looked at, then it is done; only the new machine is waited for."""
    lab = Lab(
        [
            (OUTPUT, engine.outputs(BEFORE)),
            set_generation("broker-2", 2),
            plan_of("broker-2"),
            (UP, engine.lines(*engine.replacement("broker-2"))),
            (OUTPUT, engine.outputs(REPLACED)),
        ]
    )
    assert lab.testbed.replace(["broker-2"]) == REPLACED
    assert lab.asked == ["i-broker-2-2"]
    assert "created the successor of broker-2 (ec2 Instance)" in lab.said
    lab.pulumi.require_done()


def test_what_hosts_share_may_be_updated_but_not_taken_away() -> None:
    """Its own timer follows the host, a shared one may change; a network to be replaced stops everything."""
    timer = engine.began("update", "expiry", "aws:scheduler/schedule:Schedule")
    own_timer = engine.began("update", "end-broker-2", "aws:scheduler/schedule:Schedule")
    network = engine.began("replace", "subnet", "aws:ec2/subnet:Subnet")
    wanted = engine.began("create-replacement", "broker-2", host="broker-2")
    fine = Lab(
        [
            (OUTPUT, engine.outputs(BEFORE)),
            set_generation("broker-2", 2),
            (PREVIEW, engine.lines(timer, own_timer, wanted)),
            (UP, engine.lines(*engine.replacement("broker-2"))),
            (OUTPUT, engine.outputs(REPLACED)),
        ]
    )
    assert fine.testbed.replace(["broker-2"]) == REPLACED
    refused = Lab(
        [
            (OUTPUT, engine.outputs(BEFORE)),
            set_generation("broker-2", 2),
            (PREVIEW, engine.lines(network, wanted)),
            set_generation("broker-2", 1),
        ]
    )
    with pytest.raises(InvalidInput, match="would also touch replace subnet"):
        refused.testbed.replace(["broker-2"])
    refused.pulumi.require_done()


@pytest.mark.parametrize(
    ("event", "named"),
    [
        (engine.began("create-replacement", "broker-3", host="broker-3"), "broker-3"),
        (engine.began("update", "client-1", host="client-1"), "client-1"),
        # an untagged resource that is named after its host
        (engine.began("update", "end-client-1", "aws:scheduler/schedule:Schedule"), "client-1"),
    ],
)
def test_a_plan_that_touches_another_host_is_refused_by_name(event: dict[str, object], named: str) -> None:
    """Nothing is done, and the generation is set back."""
    wanted = engine.began("create-replacement", "broker-2", host="broker-2")
    lab = Lab(
        [
            (OUTPUT, engine.outputs(BEFORE)),
            set_generation("broker-2", 2),
            (PREVIEW, engine.lines(wanted, event)),
            set_generation("broker-2", 1),
        ]
    )
    with pytest.raises(InvalidInput, match=f"would also touch {named}") as raised:
        lab.testbed.replace(["broker-2"])
    assert "pulumi preview --diff --stack sn" in raised.value.next_step
    lab.pulumi.require_done()


def test_a_plan_that_replaces_nothing_is_refused() -> None:
    """A generation that the program doesn't heed would else be taken for a replacement."""
    lab = Lab(
        [
            (OUTPUT, engine.outputs(BEFORE)),
            set_generation("broker-2", 2),
            (PREVIEW, engine.lines()),
            set_generation("broker-2", 1),
        ]
    )
    with pytest.raises(InvalidInput, match="doesn't replace broker-2"):
        lab.testbed.replace(["broker-2"])
    lab.pulumi.require_done()


def test_without_capacity_the_rest_is_left_in_order() -> None:
    """One of two replaced: the other keeps machine and generation, the outputs are made true again, the reason is said."""
    wanted = ["broker-1", "broker-2"]
    failed = engine.lines(*engine.replacement("broker-1"), engine.error("broker-2", CAPACITY))
    lab = Lab(
        [
            (OUTPUT, engine.outputs(BEFORE)),
            set_generation("broker-1", 2),
            set_generation("broker-2", 2),
            plan_of(*wanted),
            (UP, Answer(failed, exit_status=1)),
            set_generation("broker-2", 1),
            (UP, engine.lines()),
        ]
    )
    with pytest.raises(SameboxError, match="AWS has no capacity for this machine") as raised:
        lab.testbed.replace(wanted)
    assert "Not replaced, and still up: broker-2. Replaced: broker-1." in str(raised.value)
    assert "Try again later" in raised.value.next_step
    lab.pulumi.require_done()


def test_an_interrupted_replacement_sets_back_what_was_not_done() -> None:
    """Ctrl-C passes on at once: no second `pulumi up` for someone who wants out."""
    lab = Lab(
        [
            (OUTPUT, engine.outputs(BEFORE)),
            set_generation("broker-1", 2),
            set_generation("broker-2", 2),
            plan_of("broker-1", "broker-2"),
            (UP, Answer(engine.lines(*engine.replacement("broker-1")), exit_status=1, interrupted=True)),
            set_generation("broker-2", 1),
        ]
    )
    with pytest.raises(ChangeInterrupted):
        lab.testbed.replace(["broker-1", "broker-2"])
    lab.pulumi.require_done()


@pytest.mark.parametrize(
    ("after", "named"),
    [
        (BEFORE, "broker-2"),
        (engine.inventory(broker_2=3), "broker-2"),
        (engine.other_machine(REPLACED, "broker-3"), "broker-3"),
        (replace(REPLACED, hosts=REPLACED.hosts[:-1]), "client-1"),
    ],
)
def test_an_inventory_that_changed_otherwise_is_not_accepted(after: Inventory, named: str) -> None:
    """The host must be another machine, one generation on; no other may have changed or gone."""
    lab = Lab(
        [
            (OUTPUT, engine.outputs(BEFORE)),
            set_generation("broker-2", 2),
            plan_of("broker-2"),
            (UP, engine.lines(*engine.replacement("broker-2"))),
            (OUTPUT, engine.outputs(after)),
        ]
    )
    with pytest.raises(SameboxError, match=f"isn't as expected: {named}"):
        lab.testbed.replace(["broker-2"])


def test_wrong_names_and_an_empty_stack_are_refused() -> None:
    """Before anything is asked of pulumi but the outputs."""
    with pytest.raises(InvalidInput, match="no host is called broker-9; the hosts are broker-1"):
        Lab([(OUTPUT, engine.outputs(BEFORE))]).testbed.replace(["broker-9"])
    with pytest.raises(InvalidInput, match="nothing is up in stack sn") as raised:
        Lab([(OUTPUT, "{}")]).testbed.replace(["broker-1"])
    assert raised.value.next_step == "pulumi up --stack sn"


def test_a_booting_host_is_waited_for_until_it_answers() -> None:
    """Neither a refused connection nor disks not yet mounted are a failure before the deadline; then the last is said."""
    booting = HostUnreachable("broker-1", "connection refused")
    unmounted = Completed("", "", "", NOT_YET)
    script: list[tuple[str, str | Answer]] = [(LIST, "[]"), (UP, engine.lines()), (OUTPUT, engine.outputs(BEFORE))]
    lab = Lab(list(script), {"broker-1": [booting, unmounted, ""]})
    lab.testbed.up()
    assert lab.waited_s == 2 * RETRY_S
    never = Lab(list(script), {"broker-1": [booting] * 500})
    with pytest.raises(HostsFailed, match="not ready 15 minutes after its launch") as raised:
        never.testbed.up()
    assert "connection refused" in str(raised.value)
    assert "get-console-output --instance-id i-broker-1-1" in raised.value.next_step


def test_a_failed_first_boot_is_no_ready_host() -> None:
    """Cloud-init's own verdict counts: its disks may not be mounted."""
    broken = Completed("", "", "", FIRST_BOOT_FAILED)
    lab = Lab([(LIST, "[]"), (UP, engine.lines()), (OUTPUT, engine.outputs(BEFORE))], {"client-1": [broken]})
    with pytest.raises(HostsFailed, match="client-1: cloud-init reports that its first boot failed") as raised:
        lab.testbed.up()
    assert "cloud-init-output.log" in raised.value.next_step


def test_ready_means_booted_and_mounted(tmp_path: Path) -> None:
    """The command as a shell runs it: directories, then cloud-init's verdict where there is one."""
    record = replace(BEFORE.hosts[0], root=str(tmp_path))
    record = replace(record, data_dirs=(replace(record.data_dirs[0], path=str(tmp_path / "data 1")),))

    def ask() -> int:
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        return subprocess.run(["sh", "-c", ready_command(record)], env=environment, check=False).returncode

    assert ask() == NOT_YET
    (tmp_path / "data 1").mkdir()
    assert ask() == 0
    for verdict, expected in ((0, 0), (2, 0), (1, FIRST_BOOT_FAILED)):
        (tmp_path / "cloud-init").write_text(f"#!/bin/sh\nexit {verdict}\n")
        (tmp_path / "cloud-init").chmod(0o755)
        assert ask() == expected


def test_inventory_is_of_hosts_found_alive() -> None:
    """A host that doesn't answer makes it none, as on every testbed."""
    lab = Lab([(OUTPUT, engine.outputs(BEFORE)), (OUTPUT, engine.outputs(BEFORE)), (OUTPUT, json.dumps({}))])
    assert lab.testbed.inventory() == BEFORE
    lab.testbed._connect = lambda inventory: [
        ScriptedHost(host, {"true": HostUnreachable(host.name, "gone") if host.name == "broker-3" else ""})
        for host in inventory.hosts
    ]
    assert lab.testbed.inventory() is None
    assert lab.testbed.inventory() is None


def test_down_destroys_what_there_is() -> None:
    """Its clusters end before it does. A stack that holds nothing isn't asked to destroy it."""
    destroy = "destroy --non-interactive --stack sn --yes --skip-preview --json"
    lab = Lab([(LIST, '[{"name": "sn", "resourceCount": 28}]'), (destroy, engine.lines()), (LIST, "[]")])
    lab.testbed.down()
    lab.testbed.down()
    lab.pulumi.require_done()
    assert [line for line in lab.said if line.startswith("clusters")] == ["clusters ended after 1 commands"]
