"""Everything of samebox that AWS still has, found by tag and by name alone, without any stack's state.

Each kind of thing that the Pulumi program makes is asked for directly, because that answer is current. The tagging API lags behind
deletions but knows services that nobody thought of: what it has beyond the known kinds is listed as "other".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from provisioning.testbeds.aws.session import Region

PROJECT = "samebox"
GLOBAL = "global"
ENDING_STATES = frozenset({"shutting-down", "deleting", "terminating"})
GONE_STATES = frozenset({"terminated", "deleted"})
LIVE_CLUSTERS = ("STARTING", "BOOTSTRAPPING", "RUNNING", "WAITING", "TERMINATING")
# in these it has a step to run, or is about to
WORKING_CLUSTERS = ("STARTING", "BOOTSTRAPPING", "RUNNING")
MACHINES_CLUSTER = "aws:elasticmapreduce:job-flow-id"  # the tag by which EMR marks its machines
CLUSTER = "EMR cluster"
BUCKET = "S3 bucket"
OTHER = "other"


@dataclass(frozen=True)
class Leftover:
    """One thing that still exists. `id` is what its service calls it; a `kept` one is meant to stay and doesn't count.

    `holder` is the id of what it belongs to and ends with: the instance of a volume, the EMR cluster of a machine, the subnet in
    which a cluster runs a step. `empty` is a bucket without an object. `stack` is the tag of that name.
    """

    kind: str
    id: str
    region: str
    campaign: str = ""
    detail: str = ""
    state: str = ""
    kept: bool = False
    holder: str = ""
    empty: bool = False
    stack: str = ""

    @property
    def whose(self) -> str:
        """Its campaign, and of which stack it is where that is tagged."""
        return f"{self.campaign} ({self.stack})" if self.stack else self.campaign

    @property
    def ending(self) -> bool:
        """Whether AWS is deleting it already."""
        return self.state in ENDING_STATES


@dataclass(frozen=True)
class Scope:
    """Whose leftovers are looked for: all of samebox's, one campaign's, or those of one stack of a campaign.

    What has no tag `stack` may be any stack's of its campaign.
    """

    campaign: str | None = None
    stack: str | None = None

    @cached_property
    def tags(self) -> dict[str, str]:
        """The tags that everything in scope has."""
        return {"project": PROJECT} | ({"campaign": self.campaign} if self.campaign else {})

    def covers(self, tags: Mapping[str, str]) -> bool:
        """Whether something with these tags is in scope."""
        return self.tags.items() <= tags.items() and self.stack in (None, tags.get("stack", self.stack))


# kind -> operation, and where its answer holds id, tags, state, holder and a word for people
EC2_KINDS: dict[str, tuple[str, str]] = {
    "instance": (
        "describe_instances",
        "Reservations[].Instances[].{id: InstanceId, tags: Tags, state: State.Name, detail: InstanceType}",
    ),
    "volume": (
        "describe_volumes",
        "Volumes[].{id: VolumeId, tags: Tags, state: State, detail: VolumeType, holder: Attachments[0].InstanceId}",
    ),
    "network interface": (
        "describe_network_interfaces",
        "NetworkInterfaces[].{id: NetworkInterfaceId, tags: TagSet, state: Status, detail: Description, "
        "holder: Attachment.InstanceId}",
    ),
    "elastic address": (
        "describe_addresses",
        "Addresses[].{id: AllocationId, tags: Tags, detail: PublicIp, holder: InstanceId}",
    ),
    "VPC endpoint": (
        "describe_vpc_endpoints",
        "VpcEndpoints[].{id: VpcEndpointId, tags: Tags, state: State, detail: ServiceName}",
    ),
    # one that is cancelled or has expired is shown for a while, and costs nothing
    "capacity reservation": (
        "describe_capacity_reservations",
        "CapacityReservations[?contains(['active', 'pending'], State)].{id: CapacityReservationId, tags: Tags, "
        "detail: join('', [InstanceType, ': ', to_string(AvailableInstanceCount), ' of ', to_string(TotalInstanceCount), "
        "' places empty'])}",
    ),
    "placement group": ("describe_placement_groups", "PlacementGroups[].{id: GroupName, tags: Tags, state: State}"),
    "key pair": ("describe_key_pairs", "KeyPairs[].{id: KeyName, tags: Tags, detail: KeyPairId}"),
    # a VPC's default group and main route table can't be deleted: they go with it
    "security group": (
        "describe_security_groups",
        "SecurityGroups[?GroupName!='default'].{id: GroupId, tags: Tags, detail: GroupName}",
    ),
    "route table": (
        "describe_route_tables",
        "RouteTables[?!(Associations[?Main])].{id: RouteTableId, tags: Tags}",
    ),
    "internet gateway": ("describe_internet_gateways", "InternetGateways[].{id: InternetGatewayId, tags: Tags}"),
    "subnet": ("describe_subnets", "Subnets[].{id: SubnetId, tags: Tags, detail: CidrBlock}"),
    "VPC": ("describe_vpcs", "Vpcs[].{id: VpcId, tags: Tags, detail: CidrBlock}"),
}
# what the tagging API calls the things that are asked for directly; a rule goes with its group
ASKED_DIRECTLY = frozenset(
    {
        *(("ec2", kind.lower().replace(" ", "-")) for kind in EC2_KINDS),
        ("ec2", "elastic-ip"),
        ("ec2", "security-group-rule"),
        ("elasticmapreduce", "cluster"),
        ("scheduler", "schedule"),
        ("scheduler", "schedule-group"),
        ("iam", "role"),
        ("iam", "instance-profile"),
        ("iam", "policy"),
        ("s3", ""),
    }
)
# kind -> operation and where its answer holds names; the operation that shows one of them, and its parameter
IAM_KINDS: dict[str, tuple[str, str, str, str]] = {
    "instance profile": (
        "list_instance_profiles",
        "InstanceProfiles[].InstanceProfileName",
        "get_instance_profile",
        "InstanceProfileName",
    ),
    "IAM role": ("list_roles", "Roles[].RoleName", "get_role", "RoleName"),
    "IAM policy": ("list_policies", "Policies[].Arn", "get_policy", "PolicyArn"),
}


def list_leftovers(regions: Sequence[Region], scope: Scope) -> tuple[tuple[Leftover, ...], tuple[str, ...]]:
    """Everything in scope, kind by kind; and what AWS refused to list, so that an empty answer isn't mistaken for nothing left."""
    found: dict[tuple[str, str], Leftover] = {}
    refused = []
    for what, ask in _questions(regions, scope):
        try:
            for leftover in ask():
                found.setdefault((leftover.kind, leftover.id), leftover)
        except (BotoCoreError, ClientError) as error:
            refused.append(f"{what}: {error}")
    return tuple(found.values()), tuple(refused)


def _questions(regions: Sequence[Region], scope: Scope) -> Iterator[tuple[str, Callable[[], Iterator[Leftover]]]]:
    """What is asked, in words, and the asking. IAM and S3 are the same in every region."""
    for region in regions:
        for kind in EC2_KINDS:
            yield f"{kind}s in {region.name}", partial(_ec2, region, kind, scope)
        yield f"EMR clusters in {region.name}", partial(live_clusters, region, scope)
        yield f"schedule groups in {region.name}", partial(_schedule_groups, region, scope)
    for kind in IAM_KINDS:
        yield kind, partial(_iam, regions[0], kind, scope)
    yield "S3 buckets", partial(_buckets, regions[0], scope)
    for region in regions:
        yield f"tagged resources in {region.name}", partial(_others, region, scope)


def _ec2(region: Region, kind: str, scope: Scope) -> Iterator[Leftover]:
    operation, expression = EC2_KINDS[kind]
    filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in scope.tags.items()]
    for item in region.items("ec2", operation, expression, Filters=filters):
        state, tags = (item.get("state") or "").lower(), _tags(item["tags"])
        if state not in GONE_STATES and scope.covers(tags):
            detail = " ".join(filter(None, (tags.get("Name"), item.get("detail"))))
            holder = item.get("holder") or tags.get(MACHINES_CLUSTER, "")
            yield _leftover(kind, item["id"], region.name, tags, detail=detail, state=state, holder=holder)


def live_clusters(region: Region, scope: Scope) -> Iterator[Leftover]:
    """The EMR clusters in scope that haven't ended."""
    states = list(LIVE_CLUSTERS)
    for cluster_id in region.items("emr", "list_clusters", "Clusters[].Id", ClusterStates=states):
        cluster = region.client("emr").describe_cluster(ClusterId=cluster_id)["Cluster"]
        tags = _tags(cluster.get("Tags"))
        if scope.covers(tags):
            state = cluster["Status"]["State"]
            place = cluster.get("Ec2InstanceAttributes", {}) if state in WORKING_CLUSTERS else {}
            about = {"detail": cluster["Name"], "state": state.lower(), "holder": place.get("Ec2SubnetId", "")}
            yield _leftover(CLUSTER, cluster_id, region.name, tags, **about)


def _schedule_groups(region: Region, scope: Scope) -> Iterator[Leftover]:
    """The timers that end the hosts from outside. A schedule can't be tagged; its group can, and deleting it deletes them."""
    expression = "ScheduleGroups[].{name: Name, arn: Arn, state: State}"
    for item in region.items("scheduler", "list_schedule_groups", expression, NamePrefix=PROJECT):
        tags = _tags(region.client("scheduler").list_tags_for_resource(ResourceArn=item["arn"])["Tags"])
        if scope.covers(tags):
            yield _leftover("schedule group", item["name"], region.name, tags, state=item["state"].lower())


def _iam(region: Region, kind: str, scope: Scope) -> Iterator[Leftover]:
    """IAM can't be asked by tag: what is named after samebox is looked at one by one."""
    operation, expression, describe, parameter = IAM_KINDS[kind]
    own = {"Scope": "Local"} if kind == "IAM policy" else {}  # not those of AWS itself
    for name in region.items("iam", operation, expression, **own):
        if not name.rpartition("/")[2].startswith(PROJECT):
            continue
        answer = getattr(region.client("iam"), describe)(**{parameter: name})
        (description,) = (value for key, value in answer.items() if key != "ResponseMetadata")
        tags = _tags(description.get("Tags"))
        if scope.covers(tags):
            yield _leftover(kind, name, GLOBAL, tags)


def _buckets(region: Region, scope: Scope) -> Iterator[Leftover]:
    for name in region.items("s3", "list_buckets", f"Buckets[?starts_with(Name, '{PROJECT}')].Name"):
        try:
            tags = _tags(region.client("s3").get_bucket_tagging(Bucket=name)["TagSet"])
        except ClientError as error:
            if error.response["Error"]["Code"] not in ("NoSuchTagSet", "NoSuchBucket"):
                raise
            continue
        if scope.covers(tags):
            yield _leftover(BUCKET, name, GLOBAL, tags, kept=True, empty=_is_empty(region, name))


def _is_empty(region: Region, bucket: str) -> bool:
    """Whether it is known to hold nothing: where nobody may look, there may be results."""
    try:
        listed = region.client("s3").list_objects_v2(Bucket=bucket, MaxKeys=1)
    except ClientError:
        return False
    return bool(listed["KeyCount"] == 0)


def _others(region: Region, scope: Scope) -> Iterator[Leftover]:
    filters = [{"Key": key, "Values": [value]} for key, value in scope.tags.items()]
    expression = "ResourceTagMappingList[].{arn: ResourceARN, tags: Tags}"
    for item in region.items("resourcegroupstaggingapi", "get_resources", expression, TagFilters=filters):
        arn, tags = item["arn"], _tags(item["tags"])
        service, resource = arn.split(":", 5)[2], arn.split(":", 5)[5]
        if not scope.covers(tags):
            continue
        if service == "s3" and "/" not in resource:
            yield _leftover(BUCKET, resource, GLOBAL, tags, kept=True)
        elif (service, resource.replace(":", "/").partition("/")[0]) not in ASKED_DIRECTLY:
            yield _leftover(OTHER, arn, region.name, tags)


def _leftover(kind: str, identifier: str, region: str, tags: Mapping[str, str], **more: Any) -> Leftover:
    return Leftover(kind, identifier, region, tags.get("campaign", ""), stack=tags.get("stack", ""), **more)


def _tags(entries: Sequence[Mapping[str, str]] | None) -> dict[str, str]:
    return {entry["Key"]: entry["Value"] for entry in entries or ()}
