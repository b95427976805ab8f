"""What all deployments share: which topics a plan has, which faults a system takes."""

from __future__ import annotations

import dataclasses

import pytest

from provisioning.errors import DeploymentError
from systems.deployment import Plan, Topic
from systems.registry import DURABILITY
from tests.toy.system import TOY

PLAN = Plan(DURABILITY["1"], (Topic("a", 2), Topic("b", 1)), {}, {})


def test_a_partition_is_found_by_its_numbers() -> None:
    """Both from 0."""
    assert [PLAN.topic_at(*at).name for at in ((0, 0), (0, 1), (1, 0))] == ["a", "a", "b"]


@pytest.mark.parametrize(("topic", "partition"), [(2, 0), (0, 2), (1, 1), (-1, 0), (0, -1)])
def test_a_partition_that_there_is_not_is_refused_with_those_that_there_are(topic: int, partition: int) -> None:
    """Beyond the last, or before the first."""
    with pytest.raises(DeploymentError, match=f"no partition {topic}/{partition}") as refusal:
        PLAN.topic_at(topic, partition)
    assert "topics: 2, their partitions: 2, 1" in refusal.value.next_step


@pytest.mark.parametrize(
    ("do", "role", "why"),
    [
        ("kill", "leader", None),
        ("replace", "leader", "its only copy"),
        ("replace", "follower", None),
        ("kill", "coordinator", "has none"),
        ("freeze", "leader", "sleeps anyway"),
    ],
)
def test_a_fault_is_refused_by_what_is_done_to_whom_or_both(do: str, role: str, why: str | None) -> None:
    """And by nothing else."""
    reasons = {"replace leader": "its only copy", "coordinator": "has none", "freeze": "sleeps anyway"}
    assert dataclasses.replace(TOY, cannot_fault=reasons).why_no_fault(do, role) == why
