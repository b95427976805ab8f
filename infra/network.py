"""The network of a testbed: one availability zone, SSH from the operator and S3, no way to anywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from infra.firewall import Firewall
from infra.preflight import EMR_TAG, GivenNetwork
from infra.settings import ANY_ZONE, Settings

VPC_CIDR = "10.20.0.0/16"
HOSTS_CIDR = "10.20.1.0/24"
REPORT_CIDR = "10.20.2.0/24"
SSH_PORT = 22
HTTPS_PORT = 443


class Network(pulumi.ComponentResource):
    """The hosts' subnet, reached by SSH, and a private one for the report's cluster; both reach S3.

    In a VPC of its own they reach it through a gateway endpoint, and hosts have no way to the internet, by routing and by security
    group alike: the only route out leads to the operator. In a given network nothing is made but the security groups.
    """

    vpc_id: pulumi.Input[str]
    hosts_subnet_id: pulumi.Input[str]
    report_subnet_id: pulumi.Input[str]
    s3_prefix_list_id: pulumi.Input[str]
    availability_zone: pulumi.Input[str]
    ways_to_hosts: Sequence[pulumi.Resource]

    def __init__(
        self, name: str, settings: Settings, zone: str, given: GivenNetwork | None, opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__("samebox:infra:Network", name, None, opts)
        self._name = name
        self._tags = dict(settings.tags)
        self._own = pulumi.ResourceOptions(parent=self)
        if given is None:
            self._make(settings, zone)
        else:
            self.vpc_id, self.s3_prefix_list_id, self.ways_to_hosts = given.vpc_id, given.s3_prefix_list_id, ()
            self.hosts_subnet_id, self.report_subnet_id = given.hosts_subnet_id, given.report_subnet_id
            self.availability_zone = zone
        self.hosts_firewall = self._hosts_firewall(settings.operator_cidr)
        self.register_outputs({"vpc": self.vpc_id, "hostsSubnet": self.hosts_subnet_id})

    def _make(self, settings: Settings, zone: str) -> None:
        """A VPC of the stack's own."""
        name = self._name
        vpc = aws.ec2.Vpc(
            name,
            cidr_block=VPC_CIDR,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags=self._named(name),
            opts=self._own,
        )
        self.vpc_id = vpc.id
        # a zone that was chosen stays: what another one offers later must not move what is up
        chosen = ["availabilityZone"] if settings.availability_zone == ANY_ZONE else []
        hosts_subnet, hosts_table, hosts_association = self._subnet("hosts", HOSTS_CIDR, zone, {}, chosen)
        self.availability_zone = hosts_subnet.availability_zone
        report_subnet, report_table, _ = self._subnet("report", REPORT_CIDR, self.availability_zone, EMR_TAG, [])
        self.hosts_subnet_id, self.report_subnet_id = hosts_subnet.id, report_subnet.id
        # what must outlive the hosts: a gateway can't be detached while public addresses are behind it
        self.ways_to_hosts = [hosts_association, self._route_to_operator(hosts_table, settings.operator_cidr)]
        s3 = aws.ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{settings.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[hosts_table.id, report_table.id],
            tags=self._named(f"{name}-s3"),
            opts=self._own,
        )
        self.s3_prefix_list_id = s3.prefix_list_id

    def _named(self, name: str) -> dict[str, str]:
        return {**self._tags, "Name": name}

    def _subnet(
        self, purpose: str, cidr: str, zone: pulumi.Input[str], more_tags: Mapping[str, str], kept: list[str]
    ) -> tuple[aws.ec2.Subnet, aws.ec2.RouteTable, aws.ec2.RouteTableAssociation]:
        name = f"{self._name}-{purpose}"
        subnet = aws.ec2.Subnet(
            name,
            vpc_id=self.vpc_id,
            cidr_block=cidr,
            availability_zone=zone,
            map_public_ip_on_launch=False,
            tags={**self._named(name), **more_tags},
            opts=pulumi.ResourceOptions.merge(self._own, pulumi.ResourceOptions(ignore_changes=kept)),
        )
        table = aws.ec2.RouteTable(name, vpc_id=self.vpc_id, tags=self._named(name), opts=self._own)
        association = aws.ec2.RouteTableAssociation(name, subnet_id=subnet.id, route_table_id=table.id, opts=self._own)
        return subnet, table, association

    def _route_to_operator(self, table: aws.ec2.RouteTable, operator_cidr: str) -> aws.ec2.Route:
        gateway = aws.ec2.InternetGateway(self._name, vpc_id=self.vpc_id, tags=self._named(self._name), opts=self._own)
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
        firewall = Firewall(name, "samebox hosts", vpc_id=self.vpc_id, tags=self._tags, opts=self._own)
        firewall.let_in("operator", port=SSH_PORT, cidr=operator_cidr)
        firewall.let_in("hosts", port=None, group=firewall.group)
        firewall.let_out("hosts", port=None, group=firewall.group)
        firewall.let_out("s3", port=HTTPS_PORT, prefix_list=self.s3_prefix_list_id)
        return firewall
