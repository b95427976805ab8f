"""Timers for the provider double: EventBridge schedules and their groups. What fires is alarm_clock.py's business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws, Created, Kind, tag_list
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties


def _create_group(aws: Aws, inputs: Properties) -> Created:
    made = aws.scheduler.create_schedule_group(Name=inputs["name"], Tags=tag_list(aws.tags(inputs)))
    return Created(inputs["name"], {"arn": made["ScheduleGroupArn"], "state": "ACTIVE"})


def _retag_group(aws: Aws, _: str, state: Properties, tags: Mapping[str, str]) -> None:
    removed = set(state.get("tagsAll") or {}) - set(tags)
    if removed:
        aws.scheduler.untag_resource(ResourceArn=state["arn"], TagKeys=sorted(removed))
    aws.scheduler.tag_resource(ResourceArn=state["arn"], Tags=tag_list(tags))


def _request(inputs: Properties) -> dict[str, Any]:
    window, target = inputs["flexibleTimeWindow"], inputs["target"]
    request = {
        "Name": inputs["name"],
        "GroupName": inputs.get("groupName") or "default",
        "ScheduleExpression": inputs["scheduleExpression"],
        "ScheduleExpressionTimezone": inputs.get("scheduleExpressionTimezone") or "UTC",
        "ActionAfterCompletion": inputs.get("actionAfterCompletion") or "NONE",
        "State": inputs.get("state") or "ENABLED",
        "Description": inputs.get("description") or "",
        "FlexibleTimeWindow": {
            "Mode": window["mode"],
            **(
                {"MaximumWindowInMinutes": window["maximumWindowInMinutes"]}
                if "maximumWindowInMinutes" in window
                else {}
            ),
        },
        "Target": {"Arn": target["arn"], "RoleArn": target["roleArn"]},
    }
    if target.get("input") is not None:
        request["Target"]["Input"] = target["input"]
    return request


def _create_schedule(aws: Aws, inputs: Properties) -> Created:
    request = _request(inputs)
    made = aws.scheduler.create_schedule(**request)
    return Created(f"{request['GroupName']}/{request['Name']}", {"arn": made["ScheduleArn"]})


def _split(schedule: str) -> dict[str, str]:
    group, name = schedule.split("/")
    return {"GroupName": group, "Name": name}


KINDS: Mapping[str, Kind] = {
    "aws:scheduler/scheduleGroup:ScheduleGroup": Kind(
        _create_group,
        lambda aws, name, _: aws.scheduler.get_schedule_group(Name=name),
        lambda aws, name, _: aws.scheduler.delete_schedule_group(Name=name),
        retag=_retag_group,
        auto_named="name",
    ),
    "aws:scheduler/schedule:Schedule": Kind(
        _create_schedule,
        lambda aws, schedule, _: aws.scheduler.get_schedule(**_split(schedule)),
        lambda aws, schedule, _: aws.scheduler.delete_schedule(**_split(schedule)),
        update=lambda aws, _, inputs: aws.scheduler.update_schedule(**_request(inputs)),
        in_place=frozenset(
            {
                "scheduleExpression",
                "scheduleExpressionTimezone",
                "actionAfterCompletion",
                "state",
                "description",
                "flexibleTimeWindow.mode",
                "flexibleTimeWindow.maximumWindowInMinutes",
                "target.arn",
                "target.roleArn",
                "target.input",
            }
        ),
        auto_named="name",
    ),
}
