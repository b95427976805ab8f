"""The end of a testbed, seen to from outside: one schedule per host that terminates it when the testbed expires.

The hosts also end themselves (infra/user_data.py); this holds when a host hangs, or was never reached. It ends nothing but hosts of
this campaign, and clusters of its report, whose schedules are made with them (provisioning/testbeds/aws/emr.py).
One schedule per host, because a call that names several instances ends none of them if one has gone already.
"""

from __future__ import annotations

import pulumi
import pulumi_aws as aws

from infra.fleet import FleetHost
from infra.roles import allow, role
from infra.settings import Settings

TERMINATE = "arn:aws:scheduler:::aws-sdk:ec2:terminateInstances"


class Timer(pulumi.ComponentResource):
    """One-time schedules that remove themselves once they have run. A replaced host's schedule follows to the new instance."""

    def __init__(
        self, name: str, settings: Settings, hosts: tuple[FleetHost, ...], opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__("samebox:infra:Timer", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        group = aws.scheduler.ScheduleGroup(name, tags=dict(settings.tags), opts=own)
        of_this_campaign = {
            "StringEquals": {f"aws:ResourceTag/{key}": settings.tags[key] for key in ("project", "campaign")}
        }
        ending = role(
            name,
            service="scheduler.amazonaws.com",
            only_for={"StringEquals": {"aws:SourceArn": group.arn}},
            statements=[
                allow(["ec2:TerminateInstances"], f"arn:aws:ec2:{settings.region}:*:instance/*", of_this_campaign),
                allow(
                    ["elasticmapreduce:TerminateJobFlows"],
                    f"arn:aws:elasticmapreduce:{settings.region}:*:cluster/*",
                    of_this_campaign,
                ),
            ],
            tags=settings.tags,
            opts=own,
        )
        for host in hosts:
            aws.scheduler.Schedule(
                f"end-{host.name}",
                group_name=group.name,
                description=f"samebox: ends {host.name} of {settings.campaign}",
                schedule_expression=f"at({settings.expires.removesuffix('Z')})",
                schedule_expression_timezone="UTC",
                flexible_time_window={"mode": "OFF"},
                action_after_completion="DELETE",
                target={
                    "arn": TERMINATE,
                    "role_arn": ending.arn,
                    "input": pulumi.Output.json_dumps({"InstanceIds": [host.instance.id]}),
                },
                opts=own,
            )
        self.description = {"group": group.name, "role": ending.arn}
        self.register_outputs({"description": self.description})
