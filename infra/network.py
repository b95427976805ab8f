"""The network of a testbed: one availability zone, SSH from the operator and S3, no way to anywhere else. It starts no host."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from infra.firewall import Firewall
from infra.settings import Settings
from infra.zone import Zone

VPC_CIDR = "10.20.0.0/16"
HOSTS_CIDR = "10.20.1.0/24"
REPORT_CIDR = "10.20.2.0/24"
SSH_PORT = 22
HTTPS_PORT = 443
EMR_TAG = {"for-use-with-amazon-emr-managed-policies": "true"}  # EMR's managed policy acts on nothing that lacks it


class Network(pulumi.ComponentResource):
    """The hosts' subnet, reached by SSH, and a private one for the report's cluster; both reach S3 through a gateway endpoint.

    Hosts have no way to the internet, by routing and by security group alike: the only route out leads to the operator.
    """

    def __init__(self, name: str, settings: Settings, zone: Zone, opts: pulumi.ResourceOptions) -> None:
        super().__init__("samebox:infra:Network", name, None, opts)
        self._name = name
        self._tags = dict(settings.tags)
        self._own = pulumi.ResourceOptions(parent=self)
        self.vpc = aws.ec2.Vpc(
            name,
            cidr_block=VPC_CIDR,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags=self._named(name),
            opts=self._own,
        )
        # a zone that was chosen stays: what another one offers later must not move what is up
        chosen = [] if zone.settled else ["availabilityZone"]
        self.hosts_subnet, hosts_table, hosts_association = self._subnet("hosts", HOSTS_CIDR, zone.name, {}, chosen)
        beside = self.hosts_subnet.availability_zone
        self.report_subnet, report_table, _ = self._subnet("report", REPORT_CIDR, beside, EMR_TAG, [])
        # what must outlive the hosts: a gateway can't be detached while public addresses are behind it
        self.ways_to_hosts = [hosts_association, self._route_to_operator(hosts_table, settings.operator_cidr)]
        self.s3 = aws.ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=self.vpc.id,
            service_name=f"com.amazonaws.{settings.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[hosts_table.id, report_table.id],
            tags=self._named(f"{name}-s3"),
            opts=self._own,
        )
        self.hosts_firewall = self._hosts_firewall(settings.operator_cidr)
        self.register_outputs({"vpc": self.vpc.id, "hostsSubnet": self.hosts_subnet.id})

    def _named(self, name: str) -> dict[str, str]:
        return {**self._tags, "Name": name}

    def _subnet(
        self, purpose: str, cidr: str, zone: pulumi.Input[str], more_tags: Mapping[str, str], kept: list[str]
    ) -> tuple[aws.ec2.Subnet, aws.ec2.RouteTable, aws.ec2.RouteTableAssociation]:
        name = f"{self._name}-{purpose}"
        subnet = aws.ec2.Subnet(
            name,
            vpc_id=self.vpc.id,
            cidr_block=cidr,
            availability_zone=zone,
            map_public_ip_on_launch=False,
            tags={**self._named(name), **more_tags},
            opts=pulumi.ResourceOptions.merge(self._own, pulumi.ResourceOptions(ignore_changes=kept)),
        )
        table = aws.ec2.RouteTable(name, vpc_id=self.vpc.id, tags=self._named(name), opts=self._own)
        association = aws.ec2.RouteTableAssociation(name, subnet_id=subnet.id, route_table_id=table.id, opts=self._own)
        return subnet, table, association

    def _route_to_operator(self, table: aws.ec2.RouteTable, operator_cidr: str) -> aws.ec2.Route:
        gateway = aws.ec2.InternetGateway(self._name, vpc_id=self.vpc.id, tags=self._named(self._name), opts=self._own)
        return aws.ec2.Route(
            f"{self._name}-operator",
            route_table_id=table.id,
            destination_cidr_block=operator_cidr,
            gateway_id=gateway.id,
            opts=self._own,
        )

    def _hosts_firewall(self, operator_cidr: str) -> Firewall:
        """SSH from the operator, everything among the hosts, S3. Answers to SSH need no rule: security groups remember."""
        name = f"{self._name}-hosts"
        firewall = Firewall(name, "samebox hosts", vpc=self.vpc, tags=self._tags, opts=self._own)
        firewall.let_in("operator", port=SSH_PORT, cidr=operator_cidr)
        firewall.let_in("hosts", port=None, group=firewall.group)
        firewall.let_out("hosts", port=None, group=firewall.group)
        firewall.let_out("s3", port=HTTPS_PORT, prefix_list=self.s3.prefix_list_id)
        return firewall
