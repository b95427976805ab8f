"""Hosts for the provider double: instances, their key pair, their placement group, the capacity reserved in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from provisioning.testbeds.aws.rehearsal.cloud.kinds import (
    Aws,
    ByCalls,
    Created,
    Kind,
    on_creation,
    retag_ec2,
    tag_list,
    taken,
)
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties

ENDED = ("terminated", "shutting-down")
END = ("endDate", "endDateType")
SAME_NAME = ("instanceType", "keyName", "userData", "instanceInitiatedShutdownBehavior", "metadataOptions")


def _create_instance(aws: Aws, inputs: Properties) -> Created:
    images = aws.ec2.describe_images(ImageIds=[inputs["ami"]])["Images"]
    root_device = images[0]["RootDeviceName"] if images else ""  # of one that is gone the launch says so
    made = aws.ec2.run_instances(**_launch(aws, inputs, root_device))["Instances"][0]
    # read anew, as the real provider does once the instance runs: only then it has all its addresses
    instance = aws.ec2.describe_instances(InstanceIds=[made["InstanceId"]])["Reservations"][0]["Instances"][0]
    if (inputs.get("rootBlockDevice") or {}).get("tags"):
        # those the real provider gives once the disk is there; volumeTags are in the call that makes it
        _retag_disk(aws, instance["InstanceId"], inputs)
    return Created(
        instance["InstanceId"],
        {
            "arn": aws.arn("ec2", f"instance/{instance['InstanceId']}"),
            "availabilityZone": instance["Placement"]["AvailabilityZone"],
            "instanceState": instance["State"]["Name"],
            "privateIp": instance["PrivateIpAddress"],
            "privateDns": instance.get("PrivateDnsName", ""),
            "publicIp": instance.get("PublicIpAddress", ""),
            "publicDns": instance.get("PublicDnsName", ""),
        },
    )


def _launch(aws: Aws, inputs: Properties, root_device: str) -> dict[str, Any]:
    """The RunInstances call that the real provider makes of these inputs."""
    members = aws.members("ec2", "run_instances")
    request = taken(members, {name: inputs.get(name) for name in SAME_NAME}, {}) | {
        "ImageId": inputs["ami"],
        "MinCount": 1,
        "MaxCount": 1,
        "TagSpecifications": [
            *on_creation("instance", aws.tags(inputs)),
            *on_creation("volume", inputs.get("volumeTags") or {}),
        ],
    }
    network = {"SubnetId": inputs.get("subnetId"), "Groups": inputs.get("vpcSecurityGroupIds")}
    if inputs.get("associatePublicIpAddress") is not None:
        network |= {"DeviceIndex": 0, "DeleteOnTermination": True}
        network["AssociatePublicIpAddress"] = inputs["associatePublicIpAddress"]
        request["NetworkInterfaces"] = [{key: value for key, value in network.items() if value is not None}]
    else:
        request |= {"SubnetId": network["SubnetId"], "SecurityGroupIds": network["Groups"]}
    if inputs.get("placementGroup"):
        request["Placement"] = {"GroupName": inputs["placementGroup"]}
    if inputs.get("iamInstanceProfile"):
        request["IamInstanceProfile"] = {"Name": inputs["iamInstanceProfile"]}
    disk = taken(members["BlockDeviceMappings"].member.members["Ebs"].members, inputs.get("rootBlockDevice") or {}, {})
    if disk:
        request["BlockDeviceMappings"] = [{"DeviceName": root_device, "Ebs": disk}]
    return {key: value for key, value in request.items() if value not in (None, {}, [])}


def _retag_disk(aws: Aws, instance_id: str, inputs: Properties) -> None:
    """Gives the root volume the tags that it should have, and takes the others away."""
    wanted = inputs.get("volumeTags") or (inputs.get("rootBlockDevice") or {}).get("tags") or {}
    attached = [{"Name": "attachment.instance-id", "Values": [instance_id]}]
    for volume in aws.ec2.describe_volumes(Filters=attached)["Volumes"]:
        others = [{"Key": tag["Key"]} for tag in volume.get("Tags", []) if tag["Key"] not in wanted]
        if others:
            aws.ec2.delete_tags(Resources=[volume["VolumeId"]], Tags=others)
        if wanted:
            aws.ec2.create_tags(Resources=[volume["VolumeId"]], Tags=tag_list(wanted))


def _instance_runs(aws: Aws, instance: str, _: Properties) -> bool:
    found = aws.ec2.describe_instances(InstanceIds=[instance])["Reservations"]
    return bool(found) and found[0]["Instances"][0]["State"]["Name"] not in ENDED


def _change_reservation(aws: Aws, reservation: str, inputs: Properties) -> None:
    """The provider's update doesn't send the group, and doesn't replace for it either."""
    changed = {name: inputs.get(name) for name in ("instanceCount", *END)}
    aws.call("ec2", "modify_capacity_reservation", changed, CapacityReservationId=reservation)


KINDS: Mapping[str, Kind] = {
    "aws:ec2/instance:Instance": Kind(
        _create_instance,
        _instance_runs,
        lambda aws, instance, _: aws.ec2.terminate_instances(InstanceIds=[instance]),
        update=_retag_disk,
        retag=retag_ec2,
        in_place=frozenset({"volumeTags", "rootBlockDevice.tags"}),
    )
} | {
    row.token: row.kind
    for row in (
        ByCalls(
            "aws:ec2/capacityReservation:CapacityReservation",
            delete="cancel_capacity_reservation",
            defaults={"instanceMatchCriteria": "open", "endDateType": "unlimited"},
            update=_change_reservation,
            in_place={"instanceCount", *END, "placementGroupArn"},
        ),
        ByCalls(
            "aws:ec2/keyPair:KeyPair",
            "KeyName",
            create="import_key_pair",
            names={"PublicKeyMaterial": "publicKey"},
            outputs={"keyPairId": "KeyPairId", "fingerprint": "KeyFingerprint"},
            auto_named="keyName",
        ),
        ByCalls(
            "aws:ec2/placementGroup:PlacementGroup",
            "GroupName",
            names={"GroupName": "name"},
            outputs={"placementGroupId": "GroupId"},
            auto_named="name",
        ),
    )
}
