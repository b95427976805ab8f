"""One Spark step on an EMR cluster: start it once, find it again, follow it to its end.

EMR gives no token that would make a submission idempotent. Here the name does: it tells the content (a digest), clusters and
steps are listed first, and one of this name that is on its way is followed instead of starting another.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from provisioning.errors import InvalidInput, SameboxError
from provisioning.testbeds.aws.emr_sizes import SparkSizes, sizes_on
from provisioning.testbeds.aws.emr_target import RELEASE, ClusterTimer, EmrTarget
from provisioning.testbeds.aws.session import explained
from provisioning.testbeds.aws.spark_step import SparkStep, cluster_request

if TYPE_CHECKING:
    from mypy_boto3_emr import EMRClient
    from mypy_boto3_scheduler import EventBridgeSchedulerClient

TERMINATE = "arn:aws:scheduler:::aws-sdk:emr:terminateJobFlows"
POLL_EVERY_S = 10.0
_LISTED_AFTER_TRIES = 6
_ALIVE: list[Any] = ["STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING"]
_ON_ITS_WAY: list[Any] = ["PENDING", "RUNNING"]
_ENDED = ("TERMINATED", "TERMINATED_WITH_ERRORS")
_ENDING = ("TERMINATING", *_ENDED)
_NOT_OVER = ("PENDING", "RUNNING", "CANCEL_PENDING")


class Progress(Protocol):
    """Where a long wait tells how it goes."""

    def detail(self, text: str) -> None:
        """What is going on right now; replaces the previous detail."""

    def notice(self, text: str) -> None:
        """A line worth keeping."""


@dataclass(frozen=True)
class Running:
    """A step on a cluster. `transient`: the cluster was started for it and ends with it."""

    cluster: str
    step: str
    transient: bool


@dataclass(frozen=True)
class Ended:
    """How a step came out: whether it ran at all, whether to its end, and in AWS's words why not."""

    ran: bool
    completed: bool
    reason: str
    log_uri: str


class Emr:
    """EMR in one region. Every failure of a call is a SameboxError."""

    def __init__(self, opened: boto3.session.Session, *, poll_every_s: float = POLL_EVERY_S) -> None:
        self._opened = opened
        self._emr: EMRClient = opened.client("emr")
        self._poll_every_s = poll_every_s

    def find(self, name: str, given_cluster: str | None) -> Running | None:
        """The step of this name that is waiting or running, on a cluster of its own or on the given one."""
        with _explained("list EMR clusters"):
            pages = self._emr.get_paginator("list_clusters").paginate(ClusterStates=_ALIVE)
            own = [found["Id"] for page in pages for found in page["Clusters"] if found["Name"] == name]
            for cluster in [*own, *([given_cluster] if given_cluster else [])]:
                steps = self._emr.get_paginator("list_steps").paginate(ClusterId=cluster, StepStates=_ON_ITS_WAY)
                for step in (one for page in steps for one in page["Steps"]):
                    if step["Name"] == name:
                        return Running(cluster, step["Id"], transient=cluster in own)
        return None

    def start(self, target: EmrTarget, step: SparkStep, log_uri: str) -> Running:
        """A cluster for this step alone, which ends when the step does, and with the testbed if that never happens."""
        request = cluster_request(target, step, log_uri)
        with _explained("start an EMR cluster"):
            cluster = self._emr.run_job_flow(**request)["JobFlowId"]
            if target.timer is not None:
                self._arm(target.timer, cluster)
            for _ in range(_LISTED_AFTER_TRIES):  # a new cluster's steps may take a moment to be listed
                for found in self._emr.list_steps(ClusterId=cluster)["Steps"]:
                    return Running(cluster, found["Id"], transient=True)
                time.sleep(self._poll_every_s)
        raise SameboxError(
            f"{cluster} was started, but lists no step.", next_step="Run the same command again to find it."
        )

    def _arm(self, timer: ClusterTimer, cluster: str) -> None:
        """A cluster that nothing would end at last is ended at once."""
        try:
            arm(self._opened, timer, cluster)
        except (ClientError, BotoCoreError):
            self._emr.terminate_job_flows(JobFlowIds=[cluster])
            raise

    def add(self, cluster: str, step: SparkStep) -> Running:
        """One more step on a cluster that is there, which it leaves as it is."""
        with _explained(f"add a step to {cluster}"):
            added = self._emr.add_job_flow_steps(JobFlowId=cluster, Steps=[step.request(on_failure="CONTINUE")])
        return Running(cluster, added["StepIds"][0], transient=False)

    def require_usable(self, cluster: str) -> None:
        """Raises InvalidInput unless the given cluster is alive and runs what the job is tested with."""
        with _explained(f"look at {cluster}"):
            found = self._emr.describe_cluster(ClusterId=cluster)["Cluster"]
        state = found["Status"]["State"]
        if state not in _ALIVE:
            raise InvalidInput(
                f"{cluster} is {state.lower()}.", next_step="Leave out --cluster: one is started and ended."
            )
        if found.get("ReleaseLabel") != RELEASE:
            raise InvalidInput(
                f"{cluster} runs {found.get('ReleaseLabel')}; the report is tested with {RELEASE} and nothing else.",
                next_step="Leave out --cluster: one of that release is started and ended.",
            )

    def sizes_on(self, cluster: str) -> SparkSizes:
        """Of driver and executors on the given cluster: its core instances, or its primary if it has none. Raises InvalidInput."""
        with _explained(f"list the instance groups of {cluster}"):
            pages = self._emr.get_paginator("list_instance_groups").paginate(ClusterId=cluster)
            groups = {group["InstanceGroupType"]: group for page in pages for group in page["InstanceGroups"]}
        group = groups.get("CORE") or groups["MASTER"]
        instances = group["RunningInstanceCount"] if "CORE" in groups else 0
        return sizes_on(
            group["InstanceType"],
            instances,
            where=f"{cluster} is made of",
            next_step="Leave out --cluster: one is started and ended.",
        )

    def follow(self, running: Running, progress: Progress) -> Ended:
        """Waits until the step has ended, telling every change and how long it has been."""
        seen = ""
        while True:
            cluster, step = self._look(running)
            state, cluster_state = step["State"], cluster["Status"]["State"]
            text = f"{running.cluster} is {_said(cluster_state)}, the step {_said(state)}"
            elapsed = _elapsed_text(step.get("Timeline", {}).get("CreationDateTime"))
            if text != seen:
                progress.notice(f"{text} ({elapsed})")
                seen = text
            progress.detail(f"{text} ({elapsed})")
            if _has_ended(state, cluster_state, running):
                # of the two, the one that was asked first was asked before the end, and its words may be older
                cluster, step = self._look(running)
                completed = step["State"] == "COMPLETED"
                ran = completed or step["State"] == "FAILED"
                return Ended(ran, completed, _reason(step, cluster["Status"]), cluster.get("LogUri", ""))
            time.sleep(self._poll_every_s)

    def _look(self, running: Running) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The cluster and the status of its step, as EMR describes them one after the other."""
        with _explained(f"look at {running.cluster}"):
            cluster = self._emr.describe_cluster(ClusterId=running.cluster)["Cluster"]
            step = self._emr.describe_step(ClusterId=running.cluster, StepId=running.step)["Step"]["Status"]
        return cluster, step

    def await_end(self, cluster: str, timeout_s: float, progress: Progress) -> None:
        """Sees the cluster end; ends it if it hasn't begun to by itself in time."""
        deadline_s = time.monotonic() + timeout_s
        while True:
            with _explained(f"look at {cluster}"):
                state = self._emr.describe_cluster(ClusterId=cluster)["Cluster"]["Status"]["State"]
            if state in _ENDING:
                return
            if time.monotonic() > deadline_s:
                progress.notice(f"{cluster} is still {_said(state)} after its step: ending it")
                with _explained(f"end {cluster}"):
                    self._emr.terminate_job_flows(JobFlowIds=[cluster])
                return
            progress.detail(f"{cluster} is {_said(state)}: waiting for its end")
            time.sleep(self._poll_every_s)


def arm(opened: boto3.session.Session, timer: ClusterTimer, cluster: str) -> None:
    """Schedules the cluster's end, in the stack's own group, which is destroyed with the stack. Raises what AWS answers.

    The stack has a schedule for each of its hosts (infra/timer.py); a cluster is started later, so its schedule is made with it.
    """
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


def _has_ended(step: str, cluster: str, running: Running) -> bool:
    """Whether nothing more comes. Why a step was cancelled only its cluster says, and one that ends with it as soon as it ends."""
    if cluster in _ENDED:
        return True
    if step == "CANCELLED":
        return cluster in _ENDING or not running.transient
    return step not in _NOT_OVER


def _reason(step: Mapping[str, Any], cluster: Mapping[str, Any]) -> str:
    """AWS's own words, the most telling first; empty if it had none."""
    words = [
        step.get("FailureDetails", {}).get("Message"),
        step.get("StateChangeReason", {}).get("Message"),
        cluster.get("StateChangeReason", {}).get("Message"),
    ]
    return "; ".join(dict.fromkeys(word for word in words if word))


def _said(state: str) -> str:
    return state.lower().replace("_", " ")


def _elapsed_text(since: datetime | None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> str:
    whole = max(0, int((now() - since).total_seconds())) if since else 0
    return f"{whole // 60}:{whole % 60:02d} since it was submitted"


_explained = partial(
    explained,
    refused="Is the stack up, and do your credentials allow elasticmapreduce:* and iam:PassRole on its roles?",
    cut_off="What has been started keeps running: the same command finds it again.",
)
