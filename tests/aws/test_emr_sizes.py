"""Driver and executors of the report have room on every cluster that a stack may ask for; what has none is refused by name."""

from __future__ import annotations

import re
from typing import Any

import boto3
import pytest
from moto import mock_aws

from bench.checkout import CHECKOUT
from infra.instance_types import INSTANCE_TYPES, REPORT_TYPES
from provisioning.errors import InvalidInput
from provisioning.testbeds.aws import emr_sizes
from provisioning.testbeds.aws.emr import Emr
from provisioning.testbeds.aws.emr_sizes import Node, SparkSizes, load_nodes, sizes_on, spark_sizes
from provisioning.testbeds.aws.emr_target import RELEASE
from provisioning.testbeds.aws.prices import load_prices
from provisioning.testbeds.aws.rehearsal.cloud.yarn import NoRoom, require_room
from provisioning.testbeds.aws.shape import load_shape, stack_file

REGION = "us-west-2"
MOST_INSTANCES = 64  # that settings take
BEFORE_IT_WAS_SIZED = {"spark.driver.memory": "4g", "spark.driver.memoryOverhead": "3g"}


def placed(sizes: SparkSizes, node: Node, workers: int) -> int:
    """How many executors find a place, memory and vCPUs both counted, with the driver on the first node."""

    def on(memory_mib: int, vcpus: int) -> int:
        return min(memory_mib // sizes.executor.memory_mib, vcpus // sizes.executor.cores)

    driver = sizes.driver
    beside_driver = on(node.yarn_memory_mib - driver.memory_mib, node.vcpus - driver.cores)
    return beside_driver + (workers - 1) * on(node.yarn_memory_mib, node.vcpus)


@pytest.mark.parametrize("instance_type", load_nodes())
def test_every_type_that_settings_take_has_room(instance_type: str) -> None:
    """In a cluster of any size all containers are placed, memory is never more than YARN has, and YARN's double starts them."""
    node = load_nodes()[instance_type]
    for instances in range(1, MOST_INSTANCES + 1):
        workers = max(1, instances - 1)
        sizes = sizes_on(instance_type, instances - 1, where="here", next_step="")
        assert placed(sizes, node, workers) == sizes.executors >= 1
        assert sizes.memory_mib <= workers * node.yarn_memory_mib
        assert sizes.executors * sizes.executor.cores + sizes.driver.cores <= workers * node.vcpus
        require_room(sizes.settings, [node.yarn_memory_mib] * workers)


@pytest.mark.parametrize("instance_type", load_nodes())
def test_every_task_has_what_the_job_was_seen_to_need(instance_type: str) -> None:
    """docs/scale.md: 512 MiB of heap and a Python worker for each, a JVM's own beside it; and never less than Spark's own overhead."""
    for workers in (1, 2, 3, 9, 63):
        sizes = spark_sizes(load_nodes()[instance_type], workers)
        assert sizes is not None
        executor, driver = sizes.executor, sizes.driver
        assert executor.heap_mib >= max(1024, 512 * executor.cores)
        assert executor.beside_heap_mib >= 1024 + 512 * executor.cores
        assert driver.heap_mib >= 1536 and driver.beside_heap_mib >= 1280
        for container in (driver, executor):
            assert container.beside_heap_mib >= max(384, 0.1 * container.heap_mib)
            assert container.heap_mib % 32 == container.beside_heap_mib % 32 == 0


def test_what_settings_take_is_known_and_has_a_price() -> None:
    """The rooms can't import each other: a type that is accepted has its node, with the same vCPUs, and is one that cost can price."""
    nodes, prices = load_nodes(), load_prices()
    assert nodes.keys() >= set(REPORT_TYPES)
    assert all(node.vcpus == INSTANCE_TYPES[name].vcpus for name, node in nodes.items())
    for region in prices.regions:
        assert all(prices.price("emr_hour", name, region) > 0 for name in REPORT_TYPES)


def test_nodes_are_types_of_the_pinned_release() -> None:
    """As EMR lists them (recorded in moto): each is there, with so many vCPUs and no less memory than YARN is told to give."""
    with mock_aws():
        client = boto3.client("emr", region_name=REGION, aws_access_key_id="testing", aws_secret_access_key="testing")
        found = client.list_supported_instance_types(ReleaseLabel=RELEASE)["SupportedInstanceTypes"]
    offered = {each["Type"]: each for each in found}
    for name, node in load_nodes().items():
        assert offered[name]["VCPU"] == node.vcpus
        assert 0.7 < node.yarn_memory_mib / (offered[name]["MemoryGB"] * 1024) < 1, name


@pytest.mark.parametrize("stack", ("tiny", "smoke", "sn2020", "sn2022"))
def test_every_preset_has_room(stack: str) -> None:
    """Its type is one that settings take, and YARN's double starts driver and executors on it."""
    shape = load_shape(stack_file(CHECKOUT, stack))
    assert shape.report_instance_type in REPORT_TYPES
    workers = shape.report_instances - 1
    sizes = sizes_on(shape.report_instance_type, workers, where=stack, next_step="")
    require_room(sizes.settings, [load_nodes()[shape.report_instance_type].yarn_memory_mib] * workers)


def test_without_sizes_for_executors_none_would_start_on_smoke() -> None:
    """A driver of 7 GiB and EMR's own executor don't fit beside each other on one m5.xlarge; on two of them they do."""
    with pytest.raises(NoRoom, match="Initial job has not accepted any resources"):
        require_room(BEFORE_IT_WAS_SIZED, [12_288])
    require_room(BEFORE_IT_WAS_SIZED, [12_288, 12_288])


@pytest.mark.parametrize(
    ("conf", "says"),
    [
        ({"spark.driver.memory": "12g"}, "Required AM memory (12288+1228 MB) is above the max threshold (12288 MB)"),
        (
            {"spark.executor.memory": "12289m", "spark.executor.memoryOverhead": "1g"},
            "Required executor memory (12289 MB)",
        ),
        ({"spark.driver.memory": "much"}, "'much' is no size"),
    ],
)
def test_the_double_refuses_what_no_node_can_hold(conf: dict[str, str], says: str) -> None:
    """In the words of Spark's client, whatever the number of nodes."""
    with pytest.raises(NoRoom, match=re.escape(says)):
        require_room(conf, [12_288] * 9)


def test_a_node_without_room_gives_no_sizes() -> None:
    """Too little memory beside the driver, or no vCPU for a task."""
    assert spark_sizes(Node(4, 4_096), 1) is None
    assert spark_sizes(Node(1, 40_960), 1) is None
    assert spark_sizes(Node(2, 6_144), 1) is not None


def test_a_type_without_room_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that nobody has noted, and one that is too small, with those that would do."""
    with pytest.raises(
        InvalidInput,
        match=r"here r5\.large: .*how much there is isn.t known here.* Valid ones: c5n\.xlarge, .*m5\.xlarge",
    ) as refused:
        sizes_on("r5.large", 3, where="here", next_step="do this")
    assert refused.value.next_step == "do this"
    monkeypatch.setattr(emr_sizes, "load_nodes", lambda: {"t.small": Node(2, 4_096), "t.large": Node(4, 12_288)})
    with pytest.raises(InvalidInput, match=r"here t\.small: .*too little of it\. Valid ones: t\.large\."):
        sizes_on("t.small", 1, where="here", next_step="")


@pytest.mark.parametrize(
    ("groups", "as_on"),
    [
        ([("MASTER", "m5.xlarge", 1), ("CORE", "m5.4xlarge", 3)], ("m5.4xlarge", 3)),
        ([("MASTER", "m5.2xlarge", 1)], ("m5.2xlarge", 0)),
        ([("MASTER", "m5.xlarge", 1), ("CORE", "r5.xlarge", 1)], None),
    ],
)
def test_a_given_cluster_is_sized_by_its_own_machines(
    monkeypatch: pytest.MonkeyPatch, groups: list[tuple[str, str, int]], as_on: tuple[str, int] | None
) -> None:
    """By those that work, not by what the stack says; made of others, it is refused."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        opened = boto3.session.Session(region_name=REGION)
        request: Any = {
            "Name": "ours",
            "ReleaseLabel": RELEASE,
            "Instances": {
                "KeepJobFlowAliveWhenNoSteps": True,
                "InstanceGroups": [
                    {"InstanceRole": role, "InstanceType": kind, "InstanceCount": count} for role, kind, count in groups
                ],
            },
        }
        cluster = opened.client("emr").run_job_flow(**request)["JobFlowId"]
        if as_on is None:
            with pytest.raises(InvalidInput, match=rf"{cluster} is made of r5\.xlarge: .*Valid ones: ") as refused:
                Emr(opened).sizes_on(cluster)
            assert "--cluster" in refused.value.next_step
        else:
            kind, cores = as_on
            assert Emr(opened).sizes_on(cluster) == sizes_on(kind, cores, where="", next_step="")
