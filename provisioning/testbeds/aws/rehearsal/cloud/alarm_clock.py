"""EventBridge schedules that fire: what moto only keeps is carried out when its time comes, as the role that it names.

One-time schedules, at(...), of calls of AWS (aws-sdk targets): the only kind that samebox makes. The role's own policies decide,
with its trust in the scheduler; what they don't allow isn't done, and stands in the cloud's log alone, as on AWS.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import boto3
from botocore import xform_name
from botocore.exceptions import ClientError
from moto.iam.models import iam_backends
from moto.scheduler.models import scheduler_backends

from provisioning.testbeds.aws.rehearsal.cloud.known import KnownThings
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import MACHINE
from provisioning.testbeds.aws.rehearsal.iam.asks import denied_ask
from provisioning.testbeds.aws.rehearsal.iam.calls import Call
from provisioning.testbeds.aws.rehearsal.iam.policy import read_policy
from provisioning.testbeds.aws.rehearsal.iam.reference import ACCOUNT, REGION

LOOK_EVERY_S = 0.2
TARGET = re.compile(r"arn:aws:scheduler:::aws-sdk:(\w+):(\w+)")
SCHEDULER = "scheduler.amazonaws.com"


class AlarmClock:
    """Looks at the schedules of one region until it is stopped."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._over = threading.Event()
        self._fired: set[tuple[str, str]] = set()
        self._thread = threading.Thread(target=self._run, name="alarm-clock", daemon=True)

    def start(self) -> None:
        """From now on schedules fire."""
        self._thread.start()

    def stop(self) -> None:
        """None fires any more."""
        self._over.set()
        self._thread.join()

    def now(self) -> datetime:
        """What it shows."""
        return datetime.now(UTC)

    def _run(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            now = self.now()
            for group, schedule in _schedules():
                moment = (schedule.arn, schedule.schedule_expression)
                if moment not in self._fired and schedule.state == "ENABLED" and _is_due(schedule, now):
                    self._fired.add(moment)
                    self._fire(schedule)
                    if schedule.action_after_completion == "DELETE":
                        group.schedules.pop(schedule.name, None)

    def _fire(self, schedule: Any) -> None:
        target = TARGET.fullmatch(schedule.target["Arn"])
        if target is None:
            _log(f"{schedule.name}: {schedule.target['Arn']} is no call of AWS that is carried out here")
            return
        service, operation = target[1], target[2][0].upper() + target[2][1:]
        given = json.loads(schedule.target.get("Input") or "{}")
        keys = {"aws_access_key_id": MACHINE, "aws_secret_access_key": "testing", "endpoint_url": self._endpoint}
        make: Any = boto3.client
        client = make(service, REGION, **keys)
        # by the name that the service's requests are signed for
        call = Call(client.meta.service_model.signing_name, operation, given)
        refused = _refused(schedule, call)
        if refused:
            _log(f"{schedule.name}: {refused}")
            return
        try:
            getattr(client, xform_name(operation))(**given)
        except ClientError as error:  # what it was to end has gone already
            _log(f"{schedule.name}: {error}")


def _schedules() -> Iterator[tuple[Any, Any]]:
    for group in list(scheduler_backends[ACCOUNT][REGION].schedule_groups.values()):
        for schedule in list(group.schedules.values()):
            yield group, schedule


def _is_due(schedule: Any, now: datetime) -> bool:
    once = re.fullmatch(r"at\((.+)\)", schedule.schedule_expression)
    if once is None:
        return False
    zone = ZoneInfo(schedule.schedule_expression_timezone)
    return datetime.fromisoformat(once[1]).replace(tzinfo=zone) <= now


def _refused(schedule: Any, call: Call) -> str:
    """Why the schedule's role may not make a call; empty if it may."""
    name = schedule.target["RoleArn"].rpartition("/")[2]
    role = next((each for each in iam_backends[ACCOUNT]["aws"].roles.values() if each.name == name), None)
    if role is None:
        return f"there is no role {name}"
    if not _trusts(json.loads(role.assume_role_policy_document), schedule):
        return f"role {name} doesn't let {SCHEDULER} take it for this group"
    ask = denied_ask(call, KnownThings(REGION), [read_policy(text) for text in role.policies.values()], REGION)
    return f"role {name} may not {ask}" if ask else ""


def _trusts(document: dict[str, Any], schedule: Any) -> bool:
    """Whether a trust policy has a statement for the scheduler, and for the schedule's group where it names one."""
    group = schedule.arn.replace(":schedule/", ":schedule-group/").rpartition("/")[0]
    for statement in document.get("Statement", ()):
        wanted = statement.get("Condition", {}).get("StringEquals", {}).get("aws:SourceArn", group)
        if statement.get("Principal", {}).get("Service") == SCHEDULER and wanted == group:
            return True
    return False


def _log(line: str) -> None:
    print(f"schedule {line}", file=sys.stderr, flush=True)
