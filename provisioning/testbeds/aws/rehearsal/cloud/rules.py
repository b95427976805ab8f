"""What the real provider refuses beyond names and types: values outside AWS's own enumerations, bad documents, impossible disks."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session

from provisioning.testbeds.aws.rehearsal.cloud.schema import Failure
from provisioning.testbeds.aws.rehearsal.cloud.values import Properties, Unknown

INSTANCE = "aws:ec2/instance:Instance"
GP3_BASELINE_IOPS = 3000
GP3_THROUGHPUT_MIB_PER_S = range(125, 2001)
GP3_MIB_PER_S_PER_IOPS = 0.25

# property (its last two names where one alone isn't clear) -> the enumeration of AWS's own model
ENUMERATIONS: Mapping[str, tuple[str, str]] = {
    "instanceType": ("ec2", "InstanceType"),
    "instanceInitiatedShutdownBehavior": ("ec2", "ShutdownBehavior"),
    "rootBlockDevice.volumeType": ("ec2", "VolumeType"),
    "metadataOptions.httpTokens": ("ec2", "HttpTokensState"),
    "metadataOptions.httpEndpoint": ("ec2", "InstanceMetadataEndpointState"),
    "metadataOptions.instanceMetadataTags": ("ec2", "InstanceMetadataTagsState"),
    "strategy": ("ec2", "PlacementStrategy"),
    "instanceMatchCriteria": ("ec2", "InstanceMatchCriteria"),
    "instancePlatform": ("ec2", "CapacityReservationInstancePlatform"),
    "endDateType": ("ec2", "EndDateType"),
    "vpcEndpointType": ("ec2", "VpcEndpointType"),
    "rule.objectOwnership": ("s3", "ObjectOwnership"),
    "applyServerSideEncryptionByDefault.sseAlgorithm": ("s3", "ServerSideEncryption"),
    "rules.status": ("s3", "ExpirationStatus"),
    "actionAfterCompletion": ("scheduler", "ActionAfterCompletion"),
    "flexibleTimeWindow.mode": ("scheduler", "FlexibleTimeWindowMode"),
}
DOCUMENTS = ("policy", "assumeRolePolicy", "target.input")
FREE_WORDS = ("tags", "volumeTags")  # their keys are the operator's
NETWORKS = ("cidrBlock", "destinationCidrBlock", "cidrIpv4")


def rule_failures(token: str, properties: Properties) -> Iterator[Failure]:
    """What is wrong with properties whose names and types are right."""
    for path, value in _leaves(properties, ""):
        for rule in (_enumeration, _document, _network):
            reason = rule(path, value)
            if reason:
                yield Failure(path, reason)
    if token == INSTANCE:
        yield from _instance(properties)


def _instance(properties: Properties) -> Iterator[Failure]:
    for key in ("ami", "instanceType"):
        if properties.get(key) is None and properties.get("launchTemplate") is None:
            yield Failure(key, "is required and missing (or a launchTemplate)")
    if properties.get("userData") is not None and properties.get("userDataBase64") is not None:
        yield Failure("userData", "conflicts with userDataBase64")
    if properties.get("volumeTags") and (properties.get("rootBlockDevice") or {}).get("tags"):
        yield Failure("volumeTags", "conflicts with rootBlockDevice.tags")
    yield from _gp3(properties.get("rootBlockDevice") or {})


def _gp3(disk: Properties) -> Iterator[Failure]:
    throughput, iops = disk.get("throughput"), disk.get("iops") or GP3_BASELINE_IOPS
    if throughput is None or isinstance(throughput, Unknown):
        return
    if disk.get("volumeType") != "gp3":
        yield Failure("rootBlockDevice.throughput", "is for volumeType gp3 alone")
    elif throughput not in GP3_THROUGHPUT_MIB_PER_S:
        yield Failure("rootBlockDevice.throughput", f"{throughput} MiB/s: gp3 has 125 to 2000")
    elif not isinstance(iops, Unknown) and throughput > iops * GP3_MIB_PER_S_PER_IOPS:
        yield Failure(
            "rootBlockDevice.throughput",
            f"{throughput} MiB/s at {iops} iops: gp3 allows 0.25 MiB/s for each, raise iops",
        )


def _enumeration(path: str, value: Any) -> str | None:
    names = [name.partition("[")[0] for name in path.split(".")]
    model = ENUMERATIONS.get(names[-1]) or ENUMERATIONS.get(".".join(names[-2:]))
    if model is None or value in _members(*model):
        return None
    choices = _members(*model)
    shown = f" ({', '.join(choices)})" if len(choices) < 20 else ""
    return f"{value!r} doesn't exist in AWS's {model[1]}{shown}"


def _document(path: str, value: Any) -> str | None:
    if path not in DOCUMENTS:
        return None
    try:
        return None if isinstance(json.loads(value), dict) else "isn't a JSON object"
    except (TypeError, ValueError) as error:
        return f"isn't JSON: {error}"


def _network(path: str, value: Any) -> str | None:
    if path not in NETWORKS:
        return None
    try:
        ipaddress.ip_network(value)
    except ValueError as error:
        return f"{error}"
    return None


@cache
def _members(service: str, shape: str) -> tuple[str, ...]:
    return tuple(_model(service).shape_for(shape).enum)


@cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in FREE_WORDS:
                yield from _leaves(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for position, each in enumerate(value):
            yield from _leaves(each, f"{path}[{position}]")
    elif value is not None and not isinstance(value, Unknown):
        yield path, value
