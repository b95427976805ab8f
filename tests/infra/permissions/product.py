"""What samebox's own calls of AWS ask IAM, call by call, and so the AWS CLI's commands that documents and messages tell people to type.

test_permissions.py holds both tables against the source. An operation's permission has its name, but for EMR's service prefix and S3.
"""

from __future__ import annotations

from collections.abc import Mapping

from infra.emr import SERVICE_POLICY
from infra.preflight import PARAMETER
from provisioning.testbeds.aws.rehearsal.iam.policy import Ask
from provisioning.testbeds.aws.rehearsal.iam.reference import REGION, arn

Asks = tuple[Ask, ...]

OUR_TAG = {"aws:ResourceTag/project": "samebox"}
GIVEN_TAG = {"aws:RequestTag/project": "samebox"}
ROLE, PROFILE = arn("iam:role", "samebox-host-1234567"), arn("iam:instance-profile", "samebox-host-1234567")
BUCKET = arn("s3:bucket", "samebox-smoke-1234567")
OBJECT = arn("s3:object", "samebox-smoke-1234567", "results/demo/manifest.json")
GROUP = arn("scheduler:schedule-group", "samebox-end-1234567")
QUOTA = arn("servicequotas:quota", "ec2", "L-1216C47A")
# by name, because no samebox policy is made: one that somebody tagged as ours is what the sweep would find
MANAGED_POLICY = arn("iam:policy", "samebox-notes")


def _plain(*actions: str, on: str = "*") -> Asks:
    """Actions about which IAM knows no more than the resource."""
    return tuple(Ask(action, on) for action in actions)


def _ours(action: str, *kinds: str) -> Asks:
    """An action of EC2 on existing things, found by our tag."""
    return tuple(Ask(action, arn(f"ec2:{kind}", "1234567"), OUR_TAG) for kind in kinds)


def _on_cluster(action: str) -> Asks:
    return (Ask(f"elasticmapreduce:{action}", arn("elasticmapreduce:cluster", "j-1234567"), OUR_TAG),)


def _pass(role: str, service: str) -> Ask:
    return Ask("iam:PassRole", arn("iam:role", role), {"iam:PassedToService": f"{service}.amazonaws.com"})


def _dry_run() -> Asks:
    """A host that isn't launched, in the default VPC's subnet, tagged as it would be made: all is asked as if it were."""
    named = {
        kind: arn(f"ec2:{kind}", "1234567")
        for kind in ("image", "network-interface", "security-group", "subnet", "volume")
    }
    instance = arn("ec2:instance", "*")
    return (
        *(Ask("ec2:RunInstances", arn) for arn in named.values()),
        Ask("ec2:RunInstances", instance, GIVEN_TAG),
        Ask("ec2:CreateTags", instance, {**GIVEN_TAG, "ec2:CreateAction": "RunInstances"}),
    )


def _reservation() -> Asks:
    """Made and tagged in one call."""
    made = arn("ec2:capacity-reservation", "*")
    return (
        Ask("ec2:CreateCapacityReservation", made, GIVEN_TAG),
        Ask("ec2:CreateTags", made, {**GIVEN_TAG, "ec2:CreateAction": "CreateCapacityReservation"}),
    )


CALLS: Mapping[str, Asks] = {
    # everybody may ask who he is
    "sts.get_caller_identity": (),
    # what is looked at before anything is paid
    "ec2.create_capacity_reservation": _reservation(),
    "ec2.describe_images": _plain("ec2:DescribeImages"),
    "ec2.describe_instance_type_offerings": _plain("ec2:DescribeInstanceTypeOfferings"),
    "ec2.describe_instance_types": _plain("ec2:DescribeInstanceTypes"),
    "ec2.run_instances": _dry_run(),
    "emr.list_release_labels": _plain("elasticmapreduce:ListReleaseLabels"),
    "emr.list_supported_instance_types": _plain("elasticmapreduce:ListSupportedInstanceTypes"),
    "iam.simulate_principal_policy": _plain("iam:SimulatePrincipalPolicy", on=arn("iam:user", "operator")),
    "service-quotas.get_service_quota": _plain("servicequotas:GetServiceQuota", on=QUOTA),
    # the report on EMR
    "emr.list_clusters": _plain("elasticmapreduce:ListClusters"),
    "emr.list_instance_groups": _on_cluster("ListInstanceGroups"),
    "emr.list_steps": _on_cluster("ListSteps"),
    "emr.describe_cluster": _on_cluster("DescribeCluster"),
    "emr.describe_step": _on_cluster("DescribeStep"),
    "emr.add_job_flow_steps": _on_cluster("AddJobFlowSteps"),
    "emr.terminate_job_flows": _on_cluster("TerminateJobFlows"),
    "emr.run_job_flow": (
        Ask("elasticmapreduce:RunJobFlow", context=GIVEN_TAG),
        # EMR asks about cluster/*, which has no tags yet
        Ask("elasticmapreduce:AddTags", arn("elasticmapreduce:cluster", "*"), GIVEN_TAG),
        _pass("samebox-report-service-1234567", "elasticmapreduce"),
        _pass("samebox-report-machine-1234567", "ec2"),
        # the account's first cluster ever: EMR makes the role by which it ends instances whose service role is gone
        Ask(
            "iam:CreateServiceLinkedRole",
            arn("iam:role", "aws-service-role/elasticmapreduce.amazonaws.com/AWSServiceRoleForEMRCleanup"),
            {"iam:AWSServiceName": "elasticmapreduce.amazonaws.com"},
        ),
    ),
    # and its end, seen to from outside
    "scheduler.create_schedule": (
        *_plain("scheduler:CreateSchedule", on=arn("scheduler:schedule", "samebox-end-1234567", "end-j-1234567")),
        _pass("samebox-end-1234567", "scheduler"),
    ),
    # results in the bucket; large ones in parts, which are taken back when the sending fails
    "s3.get_object": _plain("s3:GetObject", on=OBJECT),
    "s3.download_file": _plain("s3:GetObject", on=OBJECT),
    "s3.upload_file": _plain("s3:PutObject", "s3:AbortMultipartUpload", on=OBJECT),
    "s3.delete_object": _plain("s3:DeleteObject", on=OBJECT),
    "s3.list_objects_v2": _plain("s3:ListBucket", on=BUCKET),
    # the sweep looks
    **{
        f"ec2.describe_{what}": _plain(f"ec2:Describe{''.join(word.title() for word in what.split('_'))}")
        for what in (
            *(
                "addresses",
                "capacity_reservations",
                "instances",
                "internet_gateways",
                "key_pairs",
                "network_interfaces",
                "placement_groups",
            ),
            *("route_tables", "security_group_rules", "security_groups", "subnets", "volumes", "vpc_endpoints", "vpcs"),
        )
    },
    "iam.list_instance_profiles": _plain("iam:ListInstanceProfiles"),
    "iam.list_roles": _plain("iam:ListRoles"),
    "iam.list_policies": _plain("iam:ListPolicies"),
    "iam.get_instance_profile": _plain("iam:GetInstanceProfile", on=PROFILE),
    "iam.get_role": _plain("iam:GetRole", on=ROLE),
    "iam.get_policy": _plain("iam:GetPolicy", on=MANAGED_POLICY),
    "resourcegroupstaggingapi.get_resources": _plain("tag:GetResources"),
    "s3.list_buckets": _plain("s3:ListAllMyBuckets"),
    "s3.get_bucket_tagging": _plain("s3:GetBucketTagging", on=BUCKET),
    "scheduler.list_schedule_groups": _plain("scheduler:ListScheduleGroups"),
    "scheduler.list_tags_for_resource": _plain("scheduler:ListTagsForResource", on=GROUP),
    # and takes away
    "ec2.terminate_instances": _ours("ec2:TerminateInstances", "instance"),
    "ec2.cancel_capacity_reservation": _ours("ec2:CancelCapacityReservation", "capacity-reservation"),
    "ec2.delete_volume": _ours("ec2:DeleteVolume", "volume"),
    "ec2.delete_network_interface": _ours("ec2:DeleteNetworkInterface", "network-interface"),
    "ec2.release_address": _ours("ec2:ReleaseAddress", "elastic-ip"),
    "ec2.delete_vpc_endpoints": _ours("ec2:DeleteVpcEndpoints", "vpc-endpoint"),
    "ec2.delete_placement_group": _ours("ec2:DeletePlacementGroup", "placement-group"),
    "ec2.delete_key_pair": _ours("ec2:DeleteKeyPair", "key-pair"),
    "ec2.revoke_security_group_ingress": _ours("ec2:RevokeSecurityGroupIngress", "security-group"),
    "ec2.revoke_security_group_egress": _ours("ec2:RevokeSecurityGroupEgress", "security-group"),
    "ec2.delete_security_group": _ours("ec2:DeleteSecurityGroup", "security-group"),
    "ec2.disassociate_route_table": _ours("ec2:DisassociateRouteTable", "route-table", "subnet"),
    "ec2.delete_route_table": _ours("ec2:DeleteRouteTable", "route-table"),
    "ec2.detach_internet_gateway": _ours("ec2:DetachInternetGateway", "internet-gateway", "vpc"),
    "ec2.delete_internet_gateway": _ours("ec2:DeleteInternetGateway", "internet-gateway"),
    "ec2.delete_subnet": _ours("ec2:DeleteSubnet", "subnet"),
    "ec2.delete_vpc": _ours("ec2:DeleteVpc", "vpc"),
    "s3.delete_bucket": _plain("s3:DeleteBucket", on=BUCKET),
    "iam.remove_role_from_instance_profile": _plain("iam:RemoveRoleFromInstanceProfile", on=PROFILE),
    "iam.delete_instance_profile": _plain("iam:DeleteInstanceProfile", on=PROFILE),
    "iam.list_instance_profiles_for_role": _plain("iam:ListInstanceProfilesForRole", on=ROLE),
    "iam.list_attached_role_policies": _plain("iam:ListAttachedRolePolicies", on=ROLE),
    "iam.detach_role_policy": (Ask("iam:DetachRolePolicy", ROLE, {"iam:PolicyARN": SERVICE_POLICY}),),
    "iam.list_role_policies": _plain("iam:ListRolePolicies", on=ROLE),
    "iam.delete_role_policy": _plain("iam:DeleteRolePolicy", on=ROLE),
    "iam.delete_role": _plain("iam:DeleteRole", on=ROLE),
    "iam.list_policy_versions": _plain("iam:ListPolicyVersions", on=MANAGED_POLICY),
    "iam.delete_policy_version": _plain("iam:DeletePolicyVersion", on=MANAGED_POLICY),
    "iam.delete_policy": _plain("iam:DeletePolicy", on=MANAGED_POLICY),
    "scheduler.delete_schedule_group": (
        *_plain("scheduler:DeleteScheduleGroup", on=GROUP),
        *_plain("scheduler:DeleteSchedule", on=arn("scheduler:schedule", "samebox-end-1234567", "end-broker-1")),
    ),
}

COMMANDS: Mapping[str, Asks] = {
    "ec2 create-tags": (),  # whoever has a network that is given to a stack types it
    "ec2 get-console-output": _ours("ec2:GetConsoleOutput", "instance"),
    "emr cancel-steps": _on_cluster("CancelSteps"),
    "emr describe-cluster": _on_cluster("DescribeCluster"),
    "emr terminate-clusters": _on_cluster("TerminateJobFlows"),
    "iam create-policy": (),  # whoever hands the policy out types it, not who holds it
    "s3 ls": _plain("s3:ListBucket", on=BUCKET),
    "s3 rb": (*_plain("s3:ListBucket", "s3:DeleteBucket", on=BUCKET), *_plain("s3:DeleteObject", on=OBJECT)),
    "service-quotas get-service-quota": _plain("servicequotas:GetServiceQuota", on=QUOTA),
    "ssm get-parameter": _plain("ssm:GetParameter", on=f"arn:aws:ssm:{REGION}::parameter{PARAMETER}"),
    "sts get-caller-identity": (),
}

# What the provider asks beyond its recorded calls, by what makes it do so. Read in its source and change log, not recorded.
PROVIDER_BEYOND: Mapping[str, Asks] = {
    # since 6.23 (hashicorp/terraform-provider-aws#45251; pulumi-aws from 7.13): in CreateBucket, then by S3 Control's API
    "a bucket is tagged as it is made, and later": (
        Ask("s3:CreateBucket", BUCKET, GIVEN_TAG),
        Ask("s3:TagResource", BUCKET, GIVEN_TAG),
        *_plain("s3:ListTagsForResource", "s3:UntagResource", on=BUCKET),
    ),
    # aws_ec2_capacity_reservation: made and tagged in one call, changed for a later end, described, cancelled
    "capacity is reserved": (
        *_reservation(),
        *_plain("ec2:DescribeCapacityReservations"),
        *_ours("ec2:ModifyCapacityReservation", "capacity-reservation"),
        *_ours("ec2:CancelCapacityReservation", "capacity-reservation"),
    ),
    "the bucket forgets abandoned uploads": _plain(
        "s3:PutLifecycleConfiguration", "s3:GetLifecycleConfiguration", on=BUCKET
    ),
    # looked up, and used without a tag of ours
    "the network is a given one": (
        *_plain("ec2:DescribeVpcs", "ec2:DescribeSubnets", "ec2:DescribeRouteTables", "ec2:DescribePrefixLists"),
        *_plain("ec2:DescribeVpcAttribute", on=arn("ec2:vpc", "1234567")),
        *_plain("ec2:CreateSecurityGroup", on=arn("ec2:vpc", "1234567")),
        Ask("ec2:CreateSecurityGroup", arn("ec2:security-group", "*"), GIVEN_TAG),
        *_dry_run(),
    ),
    "operatorCidr has changed": _ours("ec2:ModifySecurityGroupRules", "security-group", "security-group-rule"),
    "the timers' group is another one, which their role names": _plain("iam:UpdateAssumeRolePolicy", on=ROLE),
    "somebody changed by hand what the program sets": (
        *_ours("ec2:ModifyInstanceMetadataOptions", "instance"),
        *_ours("ec2:ModifySubnetAttribute", "subnet"),
        *_ours("ec2:ModifyVpcEndpoint", "vpc-endpoint", "route-table"),
        *_ours("ec2:ReplaceRoute", "route-table"),
    ),
    "a tag has gone from the program": (
        *_ours("ec2:DeleteTags", "vpc", "security-group-rule"),
        *_plain("iam:UntagRole", on=ROLE),
        *_plain("iam:UntagInstanceProfile", on=PROFILE),
        *_plain("scheduler:UntagResource", on=GROUP),
    ),
    "a description comes without tags": (
        *_plain("iam:ListRoleTags", on=ROLE),
        *_plain("iam:ListInstanceProfileTags", on=PROFILE),
    ),
}
