"""What YARN and Spark do with the sizes that a job asks for: refuse a container larger than a node, start nothing where none has room.

A node has memory only: YARN's capacity scheduler counts no vCPUs unless it is told to. Where the real application would ask for its
executor again and again until the step's time is up, the double says Spark's warning and ends it at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from provisioning.testbeds.aws.emr_sizes import load_nodes

# EMR's defaults, as AWS's "EMR Best Practices Guides" (Spark, 5.1.5) and task configuration tell them
OVERHEAD_FACTORS, LEAST_OVERHEAD_MIB = {"driver": 0.1, "executor": 0.1875}, 384
LEAST_CONTAINER_MIB = 32
DRIVER_MEMORY = "2048m"
LEFT_BY_AN_EXECUTOR_MIB = (
    1024  # asked for no size, EMR fills a node: by 4,269M and 18.75 % on an m4.large, which has 6,144
)
MEBIBYTES = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}
NO_ROOM = (
    "WARN YarnScheduler: Initial job has not accepted any resources; check your cluster UI to ensure that workers are registered "
    "and have sufficient resources"
)
TOO_LARGE = (
    "MB) of this cluster! Please check the values of 'yarn.scheduler.maximum-allocation-mb' and/or "
    "'yarn.nodemanager.resource.memory-mb'."
)


class NoRoom(Exception):
    """What YARN's client or Spark's scheduler says of containers that can't be placed."""


class Group(Protocol):
    """An instance group as moto keeps it."""

    role: str
    instance_type: str
    num_instances: int


def nodes_of(groups: Sequence[Group], configurations: Sequence[Mapping[str, Any]]) -> list[int]:
    """The memory in MiB of every node that YARN may use, from a cluster's instance groups and configuration."""
    working = [group for group in groups if group.role in ("CORE", "TASK")] or groups
    set_mib = {
        key: int(value)
        for each in configurations
        if each["Classification"] == "yarn-site"
        for key, value in each["Properties"].items()
    }.get("yarn.nodemanager.resource.memory-mb")
    nodes = load_nodes()
    return [
        set_mib or nodes[group.instance_type].yarn_memory_mib for group in working for _ in range(group.num_instances)
    ]


def require_room(conf: Mapping[str, str], nodes_mib: Sequence[int]) -> None:
    """Raises NoRoom unless the driver and at least one executor can be placed on such nodes, the driver first."""
    largest = max(nodes_mib)
    driver = _memory(conf, "driver", DRIVER_MEMORY)
    if sum(driver) > largest:
        raise NoRoom(
            f"java.lang.IllegalArgumentException: Required AM memory ({driver[0]}+{driver[1]} MB) is above the max threshold "
            f"({largest} {TOO_LARGE}"
        )
    filling = int((largest - LEFT_BY_AN_EXECUTOR_MIB) / (1 + OVERHEAD_FACTORS["executor"]))
    executor = _memory(conf, "executor", f"{filling}m")
    if sum(executor) > largest:
        raise NoRoom(
            f"java.lang.IllegalArgumentException: Required executor memory ({executor[0]} MB), offHeap memory (0) MB, overhead "
            f"({executor[1]} MB), and PySpark memory (0 MB) is above the max threshold ({largest} {TOO_LARGE}"
        )
    free = sorted(nodes_mib)
    free[next(at for at, node in enumerate(free) if node >= _granted(driver))] -= _granted(driver)
    if max(free) < _granted(executor):
        raise NoRoom(
            f"{NO_ROOM} (an executor wants {_granted(executor)} MB; the nodes have {', '.join(map(str, free))} MB left)"
        )


def _memory(conf: Mapping[str, str], process: str, default: str) -> tuple[int, int]:
    """Heap and what comes beside it, in MiB."""
    heap = _mebibytes(conf.get(f"spark.{process}.memory", default))
    overhead = conf.get(f"spark.{process}.memoryOverhead")
    return heap, _mebibytes(overhead) if overhead else max(LEAST_OVERHEAD_MIB, int(heap * OVERHEAD_FACTORS[process]))


def _mebibytes(text: str) -> int:
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    if found is None:
        raise NoRoom(f"java.lang.NumberFormatException: {text!r} is no size")
    return int(int(found[1]) * MEBIBYTES[found[2] or "m"])


def _granted(memory_mib: tuple[int, int]) -> int:
    return -(-sum(memory_mib) // LEAST_CONTAINER_MIB) * LEAST_CONTAINER_MIB
