"""How large the driver and the executors of the report are, from what the cluster's machines have for them.

In cluster mode YARN holds the driver too: it is placed first, and what it leaves decides the executors. Without sizes of ours EMR
makes an executor about as large as a node, which beside the driver fits on no cluster of one node: the step would wait for ever.

What the job needs is taken from docs/scale.md: a JVM with 1 GiB of heap was enough for 200 million rows with two tasks at a time,
and took 0.9 GiB beside its heap; a Python worker, one for each task, took 0.33 GiB; the driver's Python 0.35 GiB. What is needed
grows on the driver with the files and the seconds of a campaign, and on an executor with its tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from provisioning.document import parse_document
from provisioning.errors import InvalidInput

NODES_FILE = Path(__file__).with_name("emr_nodes.toml")
NODES_SCHEMA = 1
STEP_MIB = 32  # yarn.scheduler.minimum-allocation-mb on EMR: a container is as many of these as it takes

# The driver gets a third of a node, within these bounds; four sevenths of it are heap, the rest its Python and the JVM's own.
DRIVER_SHARE = 1 / 3
DRIVER_LEAST_MIB, DRIVER_MOST_MIB = 3_072, 14_336
DRIVER_HEAP_SHARE = 4 / 7
DRIVER_CORES = 1

# An executor beside its heap: the JVM's own, and a Python worker for each task. More heap than the last would double its pointers.
JVM_BESIDE_HEAP_MIB = 1_024
PYTHON_WORKER_MIB = 512
HEAP_OF_A_TASK_MIB = 512
LEAST_HEAP_MIB, MOST_HEAP_MIB = 1_024, 30_720
MOST_CORES = 8
# an executor more compiles, collects and fetches by itself: assumed, so that few large ones are taken
JVM_COSTS_VCPUS = 0.5


@dataclass(frozen=True)
class Node:
    """One machine of a cluster, as YARN has it to give away."""

    vcpus: Annotated[int, Field(ge=1)]
    yarn_memory_mib: Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class _NodesFile:
    """The file's keys."""

    schema: int
    source: str
    published: date
    nodes: Mapping[str, Node]


@cache
def load_nodes(path: Path = NODES_FILE) -> Mapping[str, Node]:
    """Instance type -> what it has for containers. Raises InvalidInput naming file and key."""
    return parse_document(_NodesFile, path, schema=NODES_SCHEMA).nodes


@dataclass(frozen=True)
class Container:
    """What one Spark process asks YARN for: its JVM's heap, what comes beside it (Python most of all), and vCPUs."""

    heap_mib: int
    beside_heap_mib: int
    cores: int

    @property
    def memory_mib(self) -> int:
        """All of it, which is what YARN holds the process to."""
        return self.heap_mib + self.beside_heap_mib


@dataclass(frozen=True)
class SparkSizes:
    """The driver and so many executors, all alike."""

    driver: Container
    executor: Container
    executors: int

    @property
    def memory_mib(self) -> int:
        """What all containers ask for."""
        return self.driver.memory_mib + self.executors * self.executor.memory_mib

    @property
    def settings(self) -> dict[str, str]:
        """As spark-submit takes them. A fixed number of executors: the cluster is there for this job alone."""
        settings = {
            "spark.dynamicAllocation.enabled": "false",
            "spark.executor.instances": str(self.executors),
            "spark.yarn.heterogeneousExecutors.enabled": "false",  # EMR's own: these sizes would be the least, not the sizes
        }
        for name, container in (("driver", self.driver), ("executor", self.executor)):
            settings[f"spark.{name}.cores"] = str(container.cores)
            settings[f"spark.{name}.memory"] = f"{container.heap_mib}m"
            settings[f"spark.{name}.memoryOverhead"] = f"{container.beside_heap_mib}m"
        return settings

    def __str__(self) -> str:
        each = f"{self.executor.memory_mib:,} MiB and {self.executor.cores} vCPUs"
        return f"driver {self.driver.memory_mib:,} MiB, executors {self.executors} x {each}"


def spark_sizes(node: Node, workers: int) -> SparkSizes | None:
    """Sizes for a cluster of so many `workers` (its primary isn't one), one of which holds the driver; None if nothing fits.

    Of all sizes it is the one whose tasks have most vCPUs, less what so many JVMs cost; of two such the larger executors.
    """
    driver = _driver(node)
    found = [sizes for cores in range(1, MOST_CORES + 1) if (sizes := _with_cores(cores, node, workers, driver))]

    def worth(sizes: SparkSizes) -> tuple[float, int]:
        return sizes.executors * (sizes.executor.cores - JVM_COSTS_VCPUS), sizes.executor.cores

    return max(found, key=worth, default=None)


def sizes_on(instance_type: str, core_instances: int, *, where: str, next_step: str) -> SparkSizes:
    """Sizes for a cluster of these machines; without core instances its primary does the work.

    Raises InvalidInput naming the types on which driver and executor have room.
    """
    nodes, workers = load_nodes(), max(1, core_instances)
    known = instance_type in nodes
    sizes = spark_sizes(nodes[instance_type], workers) if known else None
    if sizes is None:
        valid = ", ".join(name for name, node in nodes.items() if spark_sizes(node, workers))
        why = "there is too little of it" if known else "how much there is isn't known here"
        raise InvalidInput(
            f"{where} {instance_type}: the report's driver and executors need memory, and {why}. Valid ones: {valid}.",
            next_step=next_step,
        )
    return sizes


def _driver(node: Node) -> Container:
    memory_mib = _whole_steps(max(DRIVER_LEAST_MIB, min(DRIVER_MOST_MIB, node.yarn_memory_mib * DRIVER_SHARE)))
    heap_mib = _whole_steps(memory_mib * DRIVER_HEAP_SHARE)
    return Container(heap_mib, memory_mib - heap_mib, DRIVER_CORES)


def _with_cores(cores: int, node: Node, workers: int, driver: Container) -> SparkSizes | None:
    """As many executors of so many cores as the vCPUs allow, with the memory that then is there for each; None if it is too little."""
    beside_driver, elsewhere = (node.vcpus - driver.cores) // cores, node.vcpus // cores
    rooms = [(node.yarn_memory_mib - driver.memory_mib, beside_driver)]
    rooms += [(node.yarn_memory_mib, elsewhere)] * (workers - 1)
    memory_mib = min((memory_mib // executors for memory_mib, executors in rooms if executors), default=0)
    beside_heap_mib = JVM_BESIDE_HEAP_MIB + cores * PYTHON_WORKER_MIB
    heap_mib = _whole_steps(min(memory_mib - beside_heap_mib, MOST_HEAP_MIB))
    if heap_mib < max(LEAST_HEAP_MIB, cores * HEAP_OF_A_TASK_MIB):
        return None
    executors = sum(executors for _, executors in rooms)
    return SparkSizes(driver, Container(heap_mib, beside_heap_mib, cores), executors)


def _whole_steps(mib: float) -> int:
    return int(mib // STEP_MIB) * STEP_MIB
