"""A small world of everything that a testbed on AWS consists of, made by hand: as the Pulumi program tags it, or as somebody else's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3

IMAGE = "ami-0d53cc9bd365ad65b"
Thing = tuple[str, str]  # kind, id


@dataclass(frozen=True)
class World:
    """What was made, kind by kind; `bucket` is kept by a sweep, all else is a leftover."""

    session: boto3.session.Session
    things: frozenset[Thing]
    bucket: str

    def id_of(self, kind: str) -> str:
        """The only thing of a kind."""
        (found,) = (identifier for each, identifier in self.things if each == kind)
        return found


def make_world(
    region: str, tags: Mapping[str, str], name: str, *, endpoint: str | None = None, cluster: bool = True
) -> World:
    """One of each kind (two security groups, which name one another), tagged with `tags`; names of IAM and S3 start with `name`."""
    session = boto3.session.Session("testing", "testing", region_name=region)
    maker = _Maker(session, dict(tags), name, endpoint)
    maker.network()
    maker.hosts()
    maker.roles()
    maker.timer()
    if cluster:
        maker.cluster()
    location = {"LocationConstraint": region}
    maker.client("s3").create_bucket(Bucket=f"{name}-results", CreateBucketConfiguration=location)
    maker.client("s3").put_bucket_tagging(Bucket=f"{name}-results", Tagging={"TagSet": maker.tags})
    return World(session, frozenset(maker.things), f"{name}-results")


class _Maker:
    """Makes things and notes them."""

    def __init__(self, session: boto3.session.Session, tags: dict[str, str], name: str, endpoint: str | None) -> None:
        self._session = session
        self._endpoint = endpoint
        self.tags = [{"Key": key, "Value": value} for key, value in tags.items()]
        self.name = name
        self.things: list[Thing] = []

    def client(self, service: str) -> Any:
        return self._session.client(service, endpoint_url=self._endpoint)  # type: ignore[call-overload]

    def _note(self, kind: str, identifier: str) -> str:
        self.things.append((kind, identifier))
        return identifier

    def _tagged(self, *types: str) -> list[dict[str, Any]]:
        return [{"ResourceType": each, "Tags": self.tags} for each in types]

    def network(self) -> None:
        """VPC, subnet, gateway, route table, endpoint, two security groups that name one another."""
        ec2 = self.client("ec2")
        self.vpc = self._note(
            "VPC", ec2.create_vpc(CidrBlock="10.20.0.0/16", TagSpecifications=self._tagged("vpc"))["Vpc"]["VpcId"]
        )
        subnet = ec2.create_subnet(VpcId=self.vpc, CidrBlock="10.20.1.0/24", TagSpecifications=self._tagged("subnet"))
        self.subnet = self._note("subnet", subnet["Subnet"]["SubnetId"])
        gateway = ec2.create_internet_gateway(TagSpecifications=self._tagged("internet-gateway"))
        gateway_id = self._note("internet gateway", gateway["InternetGateway"]["InternetGatewayId"])
        ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=self.vpc)
        table = ec2.create_route_table(VpcId=self.vpc, TagSpecifications=self._tagged("route-table"))
        table_id = self._note("route table", table["RouteTable"]["RouteTableId"])
        ec2.associate_route_table(RouteTableId=table_id, SubnetId=self.subnet)
        endpoint = ec2.create_vpc_endpoint(
            VpcId=self.vpc,
            ServiceName=f"com.amazonaws.{self._session.region_name}.s3",
            VpcEndpointType="Gateway",
            RouteTableIds=[table_id],
            TagSpecifications=self._tagged("vpc-endpoint"),
        )
        self._note("VPC endpoint", endpoint["VpcEndpoint"]["VpcEndpointId"])
        groups = [self._security_group(ec2, f"{self.name}-{which}") for which in ("primary", "core")]
        for group, other in (groups, reversed(groups)):
            permission = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": other}]}
            ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[permission])
        self.group = groups[0]

    def _security_group(self, ec2: Any, name: str) -> str:
        group = ec2.create_security_group(
            GroupName=name, Description=name, VpcId=self.vpc, TagSpecifications=self._tagged("security-group")
        )
        return self._note("security group", group["GroupId"])

    def hosts(self) -> None:
        """A key pair, a placement group with reserved capacity, an instance, a volume that no instance has."""
        ec2 = self.client("ec2")
        ec2.create_key_pair(KeyName=f"{self.name}-key", TagSpecifications=self._tagged("key-pair"))
        self._note("key pair", f"{self.name}-key")
        group = ec2.create_placement_group(
            GroupName=f"{self.name}-group", Strategy="cluster", TagSpecifications=self._tagged("placement-group")
        )
        self._note("placement group", f"{self.name}-group")
        reserved = ec2.create_capacity_reservation(
            InstanceType="i3en.large",
            InstancePlatform="Linux/UNIX",
            InstanceCount=3,
            AvailabilityZone=f"{self._session.region_name}a",
            PlacementGroupArn=group["PlacementGroup"]["GroupArn"],
            InstanceMatchCriteria="open",
            TagSpecifications=self._tagged("capacity-reservation"),
        )
        self._note("capacity reservation", reserved["CapacityReservation"]["CapacityReservationId"])
        answer = ec2.run_instances(
            ImageId=IMAGE,
            InstanceType="i3en.large",
            MinCount=1,
            MaxCount=1,
            SubnetId=self.subnet,
            SecurityGroupIds=[self.group],
            TagSpecifications=self._tagged("instance"),
        )
        self._note("instance", answer["Instances"][0]["InstanceId"])
        zone = f"{self._session.region_name}a"
        volume = ec2.create_volume(AvailabilityZone=zone, Size=40, TagSpecifications=self._tagged("volume"))
        self._note("volume", volume["VolumeId"])

    def roles(self) -> None:
        """A role with an inline and an attached policy, in an instance profile; and that policy."""
        iam = self.client("iam")
        trust = {"Version": "2012-10-17", "Statement": []}
        iam.create_role(RoleName=f"{self.name}-role", AssumeRolePolicyDocument=json.dumps(trust), Tags=self.tags)
        self._note("IAM role", f"{self.name}-role")
        statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_role_policy(RoleName=f"{self.name}-role", PolicyName="inline", PolicyDocument=policy)
        made = iam.create_policy(PolicyName=f"{self.name}-policy", PolicyDocument=policy, Tags=self.tags)
        arn = self._note("IAM policy", made["Policy"]["Arn"])
        iam.attach_role_policy(RoleName=f"{self.name}-role", PolicyArn=arn)
        iam.create_instance_profile(InstanceProfileName=f"{self.name}-profile", Tags=self.tags)
        iam.add_role_to_instance_profile(InstanceProfileName=f"{self.name}-profile", RoleName=f"{self.name}-role")
        self._note("instance profile", f"{self.name}-profile")

    def timer(self) -> None:
        """A schedule in a tagged group."""
        scheduler = self.client("scheduler")
        group = f"{self.name}-end"
        scheduler.create_schedule_group(Name=group, Tags=self.tags)
        self._note("schedule group", group)
        scheduler.create_schedule(
            Name="end-broker-1",
            GroupName=group,
            ScheduleExpression="at(2030-01-01T00:00:00)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target={
                "Arn": "arn:aws:scheduler:::aws-sdk:ec2:terminateInstances",
                "RoleArn": f"arn:aws:iam::123456789012:role/{self.name}-role",
            },
        )

    def cluster(self) -> None:
        """A cluster that is waiting for steps."""
        answer = self.client("emr").run_job_flow(
            Name=f"{self.name}-report",
            ReleaseLabel="emr-7.13.0",
            Instances={
                "MasterInstanceType": "m5.xlarge",
                "SlaveInstanceType": "m5.xlarge",
                "InstanceCount": 2,
                "KeepJobFlowAliveWhenNoSteps": True,
                "Ec2SubnetId": self.subnet,
            },
            JobFlowRole="EMR_EC2_DefaultRole",
            ServiceRole="EMR_DefaultRole",
            VisibleToAllUsers=True,
            Tags=self.tags,
        )
        self._note("EMR cluster", answer["JobFlowId"])
