"""What a transient EMR cluster needs to find: roles, a private subnet's security groups, the pinned release.

The cluster itself is no resource here: one that ends when its step is done would be made again by the next `pulumi up --refresh`.
"""

from __future__ import annotations

from typing import Any

import pulumi
import pulumi_aws as aws

from infra.firewall import Firewall
from infra.network import HTTPS_PORT, Network
from infra.preflight import EMR_TAG
from infra.roles import READ_WRITE_AND_DELETE, allow, in_bucket, instance_profile, read_results_buckets, role
from infra.settings import Settings

RELEASE = "emr-7.13.0"  # Spark 3.5.6 and Python 3.11, which the report job is tested with
SERVICE_POLICY = "arn:aws:iam::aws:policy/service-role/AmazonEMRServicePolicy_v2"
TO_SERVICE_PORT, TO_CLUSTER_PORT = 9443, 8443  # between a private cluster and the EMR service


class Emr(pulumi.ComponentResource):
    """Least-privilege roles and security groups for the report's cluster. It costs nothing while no cluster runs."""

    def __init__(
        self, name: str, settings: Settings, network: Network, bucket: aws.s3.Bucket, opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__("samebox:infra:Emr", name, None, opts)
        self._name, self._settings, self._network = name, settings, network
        self._tags = {**settings.tags, **EMR_TAG}
        self._own = pulumi.ResourceOptions(parent=self)
        machine_role = role(
            f"{name}-machine",
            service="ec2.amazonaws.com",
            # Spark moves what it has written into place; the records may lie in the bucket of an earlier stack
            statements=[*in_bucket(bucket, READ_WRITE_AND_DELETE), *read_results_buckets()],
            tags=self._tags,
            opts=self._own,
        )
        self._profile = instance_profile(f"{name}-machine", machine_role, tags=self._tags, opts=self._own)
        self._service_role = self._role_of_the_service(machine_role)
        self._primary, self._core, self._service = self._firewalls()
        self.register_outputs({"description": self.description})

    @property
    def description(self) -> dict[str, Any]:
        """The stack output `emr`."""
        return {
            "service_role": self._service_role.arn,
            "instance_profile": self._profile.name,
            "subnet": self._network.report_subnet_id,
            "master_security_group": self._primary.group.id,
            "slave_security_group": self._core.group.id,
            "service_access_security_group": self._service.group.id,
            "release": RELEASE,
            "instance_type": self._settings.report_instance_type,
            "instances": self._settings.report_instances,
        }

    def _role_of_the_service(self, machine_role: aws.iam.Role) -> aws.iam.Role:
        to_ec2 = {"StringLike": {"iam:PassedToService": "ec2.amazonaws.com*"}}
        made = role(
            f"{self._name}-service",
            service="elasticmapreduce.amazonaws.com",
            statements=[allow(["iam:PassRole"], machine_role.arn, to_ec2)],
            tags=self._tags,
            opts=self._own,
        )
        aws.iam.RolePolicyAttachment(f"{self._name}-service", role=made.name, policy_arn=SERVICE_POLICY, opts=self._own)
        return made

    def _firewalls(self) -> tuple[Firewall, Firewall, Firewall]:
        """Primary and core machines, and the EMR service's own interfaces in the subnet."""
        vpc_id = self._network.vpc_id
        primary, core, service = (
            Firewall(f"{self._name}-{part}", f"samebox report, {part}", vpc_id=vpc_id, tags=self._tags, opts=self._own)
            for part in ("primary", "core", "service")
        )
        for machines in (primary, core):
            for name, other in (("primary", primary), ("core", core)):
                machines.let_in(name, port=None, group=other.group)
                machines.let_out(name, port=None, group=other.group)
            machines.let_in("service", port=TO_CLUSTER_PORT, group=service.group)
            machines.let_out("s3", port=HTTPS_PORT, prefix_list=self._network.s3_prefix_list_id)
        primary.let_out("service", port=TO_SERVICE_PORT, group=service.group)
        service.let_in("primary", port=TO_SERVICE_PORT, group=primary.group)
        service.let_out("primary", port=TO_CLUSTER_PORT, group=primary.group)
        service.let_out("core", port=TO_CLUSTER_PORT, group=core.group)
        return primary, core, service
