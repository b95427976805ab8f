"""The testbed on AWS through the real engine: what it reads, what it refuses, what it leaves when something goes wrong half-way.

Its hosts are no hosts here (tests/infra/test_campaign_aws.py has those); whoever asks one whether it is ready hears yes.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bench.checkout import CHECKOUT
from provisioning.errors import InvalidInput, SameboxError
from provisioning.hosts.host import ScriptedHost
from provisioning.hosts.inventory import Inventory
from provisioning.testbeds.aws.capacity import PAUSE_S, CapacityWait
from provisioning.testbeds.aws.failures import StackFailed
from provisioning.testbeds.aws.rehearsal.cloud.things import client, instances
from provisioning.testbeds.aws.stack import ChangeInterrupted, Stack
from provisioning.testbeds.aws.sweep import Sweep
from provisioning.testbeds.aws.testbed import AwsTestbed, ready_command
from tests.cloud.faults import Faults
from tests.infra.project import NewProject, Project, moment
from tests.infra.test_gate import policy

pytestmark = [pytest.mark.integration, pytest.mark.infra]
WAIT_S = 300.0


def connect(inventory: Inventory) -> Sequence[ScriptedHost]:
    """Hosts that are ready."""
    return [ScriptedHost(host, {ready_command(host): "", "true": ""}) for host in inventory.hosts]


class Lab:
    """A stack of its own from the smoke preset, and the testbed that it is."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.said: list[str] = []
        self.stack = Stack(project.preset, project.folder)
        self.testbed = AwsTestbed(self.stack, on_line=self.said.append, connect=connect)

    def generations(self) -> dict[str, int]:
        """Host -> generation, by the stack's outputs."""
        return {host.name: host.generation for host in self.project.inventory().hosts}


@pytest.fixture
def lab(new_project: NewProject, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """This process has the operator's environment."""
    project = new_project()
    for name in [name for name in os.environ if name.startswith(("PULUMI_", "AWS_"))]:
        monkeypatch.delenv(name)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    return Lab(project)


def test_from_nothing_to_nothing(lab: Lab) -> None:
    """Up, up again, config and outputs as they are, down, down again."""
    assert (lab.stack.resource_count(), lab.stack.inventory()) == (0, None)
    config = lab.stack.config()
    assert config["owner"] == "tester"
    assert config["brokers"]["count"] == 3
    assert config["hostKeySeed"] is None
    plan = lab.stack.preview(lambda _: None)
    assert {change.operation for change in plan} == {"create"}
    assert {change.host for change in plan} >= {None, "broker-1", "client-1", "metadata-1"}

    inventory = lab.testbed.up()
    assert inventory == lab.project.inventory()
    assert {host.instance_id for host in inventory.hosts} == set(instances(lab.project.cloud))
    assert "created broker-1 (ec2 Instance)" in lab.said
    assert lab.testbed.up() == inventory
    assert lab.testbed.inventory() == inventory

    lab.testbed.down()
    assert instances(lab.project.cloud) == {}
    assert (lab.stack.resource_count(), lab.stack.inventory()) == (0, None)
    lab.testbed.down()


def test_a_zone_without_room_is_waited_for_and_then_left(lab: Lab) -> None:
    """What was launched is named while it waits; then all of it goes, and the whole testbed stands in the next zone."""
    cloud, now_s = lab.project.cloud, 0.0

    def pause(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds
        cloud.inject(Faults(full_zones=("us-west-2a",)))

    cloud.inject(Faults(no_capacity=("client-1",)))
    testbed = AwsTestbed(
        lab.stack,
        on_line=lab.said.append,
        connect=connect,
        capacity_wait=CapacityWait(PAUSE_S, ("us-west-2a", "us-west-2b")),
        sleep=pause,
        now_s=lambda: now_s,
    )
    inventory = testbed.up()
    (waited,) = [line for line in lab.said if "trying again every 60 s, for another 1 min" in line]
    paid = waited.rpartition("paid already: ")[2].split(", ")
    assert paid and "client-1" not in paid and set(paid) <= {host.name for host in inventory.hosts}
    assert {host.instance_id for host in inventory.hosts} == set(instances(cloud))
    assert lab.stack.outputs()["availabilityZone"] == lab.stack.config()["availabilityZone"] == "us-west-2b"
    testbed.down()
    assert instances(cloud) == {}
    assert lab.stack.config()["availabilityZone"] == "any"


def test_a_clusters_network_goes_after_the_cluster(lab: Lab) -> None:
    """Pulumi knows no cluster and can't take away what one stands in; the testbed ends it first, and nothing is left."""
    lab.testbed.up()
    emr, where = client(lab.project.cloud, "emr"), lab.stack.outputs()["emr"]
    emr.run_job_flow(
        Name="report",
        ReleaseLabel=where["release"],
        Instances={
            "MasterInstanceType": where["instance_type"],
            "InstanceCount": 1,
            "KeepJobFlowAliveWhenNoSteps": True,
            "Ec2SubnetId": where["subnet"],
            "EmrManagedMasterSecurityGroup": where["master_security_group"],
            "EmrManagedSlaveSecurityGroup": where["slave_security_group"],
            "ServiceAccessSecurityGroup": where["service_access_security_group"],
        },
        JobFlowRole=where["instance_profile"],
        ServiceRole=where["service_role"],
        Tags=[{"Key": "project", "Value": "samebox"}, {"Key": "campaign", "Value": lab.stack.config()["campaign"]}],
    )
    deadline_s = time.monotonic() + WAIT_S
    while not emr.list_clusters(ClusterStates=["WAITING"])["Clusters"]:
        assert time.monotonic() < deadline_s
        time.sleep(0.1)
    with pytest.raises(StackFailed, match="DependencyViolation") as held:
        lab.stack.destroy(lambda _: None)
    assert held.value.kind == "in use"
    lab.testbed.down()
    assert lab.stack.resource_count() == 0


def test_the_operators_policy_is_enough_and_none_of_it_too_much(lab: Lab) -> None:
    """Held to it as by IAM, the testbed comes up, is extended and goes; without one statement AWS's refusal names the action."""
    cloud = lab.project.cloud
    cloud.hold_operator_to(policy(without="MakeTaggedRules"))
    with pytest.raises(StackFailed, match=r"ec2:AuthorizeSecurityGroup(In|E)gress") as refused:
        lab.testbed.up()
    assert refused.value.kind == "permission"
    cloud.hold_operator_to(policy())
    lab.testbed.up()
    lab.project.set("expires", moment(datetime.now(UTC) + timedelta(hours=9)))
    lab.testbed.up()
    lab.testbed.replace(["broker-2"])
    assert Sweep([cloud.region]).find().refused == ()
    cloud.hold_operator_to(policy(without="ChangeAndEndOnlyOurOwn"))
    with pytest.raises(StackFailed, match=r"not authorized to perform: (ec2|elasticmapreduce):"):
        lab.testbed.down()
    cloud.hold_operator_to(policy())
    lab.testbed.down()
    assert instances(cloud) == {}


def test_credentials_that_end_half_way_cost_nothing_but_a_sign_in(lab: Lab) -> None:
    """Standing up or taking away: said, the state is whole, and the same command goes on with new ones."""
    cloud, again = lab.project.cloud, Faults()
    lab.testbed.up()
    for change in (lambda: lab.testbed.replace(["broker-2"]), lab.testbed.down):
        cloud.inject(Faults(credentials_expired=True))
        with pytest.raises(SameboxError, match=r"[Ee]xpired") as ended:
            change()
        assert "aws sso login" in ended.value.next_step
        cloud.inject(again)
        assert all(instance in lab.project.state() for instance in instances(cloud))
        change()
    assert instances(cloud) == {}


def test_the_named_hosts_are_replaced_and_no_others(lab: Lab) -> None:
    """Two at once, then one of them again; the rest are the same machines."""
    first = {host.name: host.instance_id for host in lab.testbed.up().hosts}
    second = {host.name: host for host in lab.testbed.replace(["broker-2", "client-1"]).hosts}
    changed = {name for name, host in second.items() if host.instance_id != first[name]}
    assert changed == {"broker-2", "client-1"}
    assert {name: host.generation for name, host in second.items() if host.generation != 1} == {
        "broker-2": 2,
        "client-1": 2,
    }
    lab.testbed.replace(["broker-2"])
    assert lab.generations()["broker-2"] == 3
    assert lab.stack.preview(lambda _: None) == ()


def test_a_plan_that_would_touch_another_host_is_refused(lab: Lab) -> None:
    """Somebody raised another host's generation and didn't apply it: named, nothing done, nothing left in the config."""
    before = lab.testbed.up()
    lab.project.set("generations.client-1", 2)
    with pytest.raises(InvalidInput, match="would also touch client-1"):
        lab.testbed.replace(["broker-2"])
    assert lab.project.inventory() == before
    assert lab.stack.config()["generations"] == {"broker-2": 1, "client-1": 2}


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        (Faults(no_capacity=("broker-1",)), "AWS has no capacity for this machine"),
        (Faults(quota_exceeded=("broker-1",)), "your account's quota is too small"),
    ],
)
def test_a_machine_that_cannot_be_had_leaves_everything_in_order(lab: Lab, faults: Faults, words: str) -> None:
    """One of two replaced: the other keeps machine and generation, outputs and config agree; later it works."""
    before = {host.name: host.instance_id for host in lab.testbed.up().hosts}
    lab.project.cloud.inject(faults)
    with pytest.raises(SameboxError, match=words) as raised:
        lab.testbed.replace(["broker-1", "broker-3"])
    assert "Not replaced, and still up: broker-1. Replaced: broker-3." in str(raised.value)
    after = {host.name: host.instance_id for host in lab.project.inventory().hosts}
    assert {name for name in before if before[name] != after[name]} == {"broker-3"}
    assert set(after.values()) == set(instances(lab.project.cloud))
    assert lab.stack.preview(lambda _: None) == ()

    lab.project.cloud.inject(Faults())
    lab.testbed.replace(["broker-1"])
    assert lab.generations() == {**dict.fromkeys(before, 1), "broker-1": 2, "broker-3": 2}


def test_an_interrupt_lets_what_was_begun_finish(lab: Lab) -> None:
    """Ctrl-C while a machine is being launched: it is waited for and known, nothing is locked, and all of it goes away."""
    lab.project.cloud.inject(Faults(launch_delay_s={"broker-2": WAIT_S}))

    def interrupt() -> None:
        deadline = time.monotonic() + WAIT_S
        while not lab.project.cloud.launches_slowly("broker-2") and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(3.0)
        lab.project.cloud.inject(Faults())  # the launch goes on

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(ChangeInterrupted) as raised:
        lab.testbed.up()
    interrupting.join()
    state = lab.project.state()
    assert "broker-2" in {change.name for change in raised.value.finished}
    assert all(instance in state for instance in instances(lab.project.cloud))
    lab.testbed.down()
    assert instances(lab.project.cloud) == {}


def test_a_locked_stack_is_explained(lab: Lab) -> None:
    """Another pulumi is at work: said so, with what to do if it is dead."""
    lab.project.cloud.inject(Faults(launch_delay_s={"broker-2": WAIT_S}))
    with lab.project.start("up", "--yes", "--skip-preview", "--json") as other:
        deadline = time.monotonic() + WAIT_S
        while not lab.project.cloud.launches_slowly("broker-2"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(StackFailed, match="stack smoke is locked") as raised:
            lab.testbed.up()
        assert raised.value.kind == "lock"
        assert "pulumi cancel smoke" in raised.value.next_step
        lab.project.cloud.inject(Faults())
        other.communicate()


def test_bad_config_is_said_in_the_programs_own_words(lab: Lab) -> None:
    """All of it, and no traceback; a stack that nobody made is another matter."""
    lab.project.set("operatorCidr", "0.0.0.0/0")
    with pytest.raises(StackFailed, match="samebox:operatorCidr") as raised:
        lab.stack.preview(lambda _: None)
    assert raised.value.kind == "other"
    assert "Traceback" not in str(raised.value)
    with pytest.raises(StackFailed, match="there is no stack nobody"):
        Stack("nobody", lab.project.folder).inventory()


def test_a_stack_is_made_and_its_secrets_are_secret(lab: Lab) -> None:
    """Init, a plain value, a secret one: in the config file only the plain one can be read."""
    shop = Stack("sn2020", lab.project.folder)
    shop.config_file.write_bytes((CHECKOUT / "infra" / "presets" / "sn2020.yaml").read_bytes())
    assert shop.resource_count() is None
    assert shop.inventory() is None
    shop.init()
    shop.set_config("owner", "-somebody")
    shop.set_secret("hostKeySeed", "ab" * 32)
    assert shop.resource_count() == 0
    assert (shop.config()["owner"], shop.config()["hostKeySeed"]) == ("-somebody", None)
    text = Path(shop.config_file).read_text()
    assert "secure:" in text
    assert "abab" not in text
