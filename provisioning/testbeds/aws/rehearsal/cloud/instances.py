"""Hosts for the provider double: instances, their key pair, their placement group, the capacity reserved in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from provisioning.testbeds.aws.rehearsal.cloud.kinds import Aws, Created, Kind, on_creation, retag_ec2, tag_list
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties

ENDED = ("terminated", "shutting-down")
METADATA_OPTIONS = {
    "httpTokens": "HttpTokens",
    "httpEndpoint": "HttpEndpoint",
    "httpPutResponseHopLimit": "HttpPutResponseHopLimit",
    "instanceMetadataTags": "InstanceMetadataTags",
}
DISK = {
    "volumeType": "VolumeType",
    "volumeSize": "VolumeSize",
    "throughput": "Throughput",
    "iops": "Iops",
    "encrypted": "Encrypted",
    "deleteOnTermination": "DeleteOnTermination",
}


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
    request: dict[str, Any] = {
        "ImageId": inputs["ami"],
        "InstanceType": inputs["instanceType"],
        "MinCount": 1,
        "MaxCount": 1,
        "TagSpecifications": [
            *on_creation("instance", aws.tags(inputs)),
            *on_creation("volume", inputs.get("volumeTags") or {}),
        ],
        "Placement": {},
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
    for name, key in (
        ("keyName", "KeyName"),
        ("userData", "UserData"),
        ("instanceInitiatedShutdownBehavior", "InstanceInitiatedShutdownBehavior"),
    ):
        request[key] = inputs.get(name)
    request["MetadataOptions"] = _renamed(inputs.get("metadataOptions"), METADATA_OPTIONS)
    disk = _renamed(inputs.get("rootBlockDevice"), DISK)
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


def _renamed(values: Properties | None, names: Mapping[str, str]) -> dict[str, Any]:
    return {names[key]: value for key, value in (values or {}).items() if key in names and value is not None}


def _instance_runs(aws: Aws, instance: str, _: Properties) -> bool:
    found = aws.ec2.describe_instances(InstanceIds=[instance])["Reservations"]
    return bool(found) and found[0]["Instances"][0]["State"]["Name"] not in ENDED


def _create_key(aws: Aws, inputs: Properties) -> Created:
    key = aws.ec2.import_key_pair(
        KeyName=inputs["keyName"],
        PublicKeyMaterial=inputs["publicKey"].encode(),
        TagSpecifications=on_creation("key-pair", aws.tags(inputs)),
    )
    return Created(inputs["keyName"], {"keyPairId": key["KeyPairId"], "fingerprint": key["KeyFingerprint"]})


def _create_group(aws: Aws, inputs: Properties) -> Created:
    made = aws.ec2.create_placement_group(
        GroupName=inputs["name"],
        Strategy=inputs["strategy"],
        TagSpecifications=on_creation("placement-group", aws.tags(inputs)),
    )["PlacementGroup"]
    return Created(inputs["name"], {"placementGroupId": made["GroupId"], "arn": made["GroupArn"]})


def _create_reservation(aws: Aws, inputs: Properties) -> Created:
    names = ["availabilityZone", "instanceType", "instanceCount", "instancePlatform", "placementGroupArn"]
    made = aws.ec2.create_capacity_reservation(
        **{name[0].upper() + name[1:]: inputs[name] for name in names if inputs.get(name) is not None},
        InstanceMatchCriteria=inputs.get("instanceMatchCriteria") or "open",
        **_until(inputs),
        TagSpecifications=on_creation("capacity-reservation", aws.tags(inputs)),
    )["CapacityReservation"]
    return Created(made["CapacityReservationId"], {"arn": made["CapacityReservationArn"], "ownerId": made["OwnerId"]})


def _until(inputs: Properties) -> dict[str, Any]:
    until = {"EndDateType": inputs.get("endDateType") or "unlimited", "EndDate": inputs.get("endDate")}
    return {key: value for key, value in until.items() if value}


def _reservation_holds(aws: Aws, reservation: str, _: Properties) -> bool:
    found = aws.ec2.describe_capacity_reservations(CapacityReservationIds=[reservation])["CapacityReservations"]
    return bool(found) and found[0]["State"] == "active"


KINDS: Mapping[str, Kind] = {
    "aws:ec2/instance:Instance": Kind(
        _create_instance,
        _instance_runs,
        lambda aws, instance, _: aws.ec2.terminate_instances(InstanceIds=[instance]),
        update=_retag_disk,
        retag=retag_ec2,
        in_place=frozenset({"volumeTags", "rootBlockDevice.tags"}),
    ),
    "aws:ec2/capacityReservation:CapacityReservation": Kind(
        _create_reservation,
        _reservation_holds,
        lambda aws, reservation, _: aws.ec2.cancel_capacity_reservation(CapacityReservationId=reservation),
        update=lambda aws, reservation, inputs: aws.ec2.modify_capacity_reservation(
            CapacityReservationId=reservation, InstanceCount=inputs["instanceCount"], **_until(inputs)
        ),
        retag=retag_ec2,
        # the provider's update doesn't send the group, and doesn't replace for it either
        in_place=frozenset({"instanceCount", "endDate", "endDateType", "placementGroupArn"}),
    ),
    "aws:ec2/keyPair:KeyPair": Kind(
        _create_key,
        lambda aws, name, _: aws.ec2.describe_key_pairs(KeyNames=[name])["KeyPairs"],
        lambda aws, name, _: aws.ec2.delete_key_pair(KeyName=name),
        retag=lambda aws, _, state, tags: retag_ec2(aws, state["keyPairId"], state, tags),
        auto_named="keyName",
    ),
    "aws:ec2/placementGroup:PlacementGroup": Kind(
        _create_group,
        lambda aws, name, _: aws.ec2.describe_placement_groups(GroupNames=[name])["PlacementGroups"],
        lambda aws, name, _: aws.ec2.delete_placement_group(GroupName=name),
        retag=lambda aws, _, state, tags: retag_ec2(aws, state["placementGroupId"], state, tags),
        auto_named="name",
    ),
}
