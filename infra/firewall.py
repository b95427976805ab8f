"""A security group that lets nothing in and nothing out until it is told what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_aws as aws


class Firewall:
    """One security group and its rules, each rule a resource of its own. `port` None means every protocol and port."""

    def __init__(
        self,
        name: str,
        description: str,
        *,
        vpc_id: pulumi.Input[str],
        tags: Mapping[str, str],
        opts: pulumi.ResourceOptions,
    ) -> None:
        self._name, self._opts = name, opts
        self._tags = {**tags, "Name": name}
        self.group = aws.ec2.SecurityGroup(
            name,
            vpc_id=vpc_id,
            description=description,
            revoke_rules_on_delete=True,  # groups that name one another can't be deleted before their rules
            tags=self._tags,
            opts=opts,
        )

    def let_in(
        self, what: str, *, port: int | None, cidr: str | None = None, group: aws.ec2.SecurityGroup | None = None
    ) -> None:
        """Lets connections in from a network or from a group's members; `what` names the rule."""
        aws.vpc.SecurityGroupIngressRule(
            f"{self._name}-in-{what}", cidr_ipv4=cidr, opts=self._opts, **self._rule(f"in-{what}", port, group)
        )

    def let_out(
        self,
        what: str,
        *,
        port: int | None,
        prefix_list: pulumi.Input[str] | None = None,
        group: aws.ec2.SecurityGroup | None = None,
    ) -> None:
        """Lets connections out to an AWS service's addresses or to a group's members; `what` names the rule."""
        aws.vpc.SecurityGroupEgressRule(
            f"{self._name}-out-{what}",
            prefix_list_id=prefix_list,
            opts=self._opts,
            **self._rule(f"out-{what}", port, group),
        )

    def _rule(self, name: str, port: int | None, group: aws.ec2.SecurityGroup | None) -> dict[str, Any]:
        return {
            "security_group_id": self.group.id,
            "ip_protocol": "-1" if port is None else "tcp",
            "from_port": port,
            "to_port": port,
            "referenced_security_group_id": group.id if group else None,
            "tags": {**self._tags, "Name": f"{self._name}-{name}"},
        }
