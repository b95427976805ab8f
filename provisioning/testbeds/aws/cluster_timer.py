"""The end of a report's cluster, seen to from outside: a schedule that terminates it when the testbed expires.

A host ends itself, and the stack has a schedule for each (infra/timer.py). A cluster is started by a command, later, so its schedule
is made with it, in the stack's own group: it goes with the group when the stack is destroyed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3

if TYPE_CHECKING:
    from mypy_boto3_scheduler import EventBridgeSchedulerClient

TERMINATE = "arn:aws:scheduler:::aws-sdk:emr:terminateJobFlows"


@dataclass(frozen=True)
class ClusterTimer:
    """The stack's schedule group, the role that ends things in it, and when: UTC, as the stack's config has it."""

    group: str
    role: str
    expires: str


def arm(opened: boto3.session.Session, timer: ClusterTimer, cluster: str) -> None:
    """Makes the schedule, which removes itself once it has run. Raises what AWS answers."""
    scheduler: EventBridgeSchedulerClient = opened.client("scheduler")
    scheduler.create_schedule(
        Name=f"end-{cluster}",
        GroupName=timer.group,
        Description=f"samebox: ends {cluster}",
        ScheduleExpression=f"at({timer.expires.removesuffix('Z')})",
        ScheduleExpressionTimezone="UTC",
        FlexibleTimeWindow={"Mode": "OFF"},
        ActionAfterCompletion="DELETE",
        Target={"Arn": TERMINATE, "RoleArn": timer.role, "Input": json.dumps({"JobFlowIds": [cluster]})},
    )
