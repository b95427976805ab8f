"""What the recorded calls of the real AWS provider ask IAM. README.md: where they come from, what is known, what is inferred."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote

import botocore.session

from tests.infra.permissions.arns import ec2_arn, iam_arn, s3_arn, schedule_arn
from tests.infra.permissions.policy import Ask
from tests.infra.permissions.reference import reference

RECORDED = Path(__file__).with_name("provider_calls.jsonl")
# how AWS begins the ids of a type; an association has none of its own in the reference: its table and its subnet are asked about
ID_TYPES: Mapping[str, tuple[str, ...]] = {
    "ami": ("image",),
    "eni": ("network-interface",),
    "i": ("instance",),
    "igw": ("internet-gateway",),
    "key": ("key-pair",),
    "pg": ("placement-group",),
    "rtb": ("route-table",),
    "rtbassoc": ("route-table", "subnet"),
    "sg": ("security-group",),
    "sgr": ("security-group-rule",),
    "subnet": ("subnet",),
    "vol": ("volume",),
    "vpc": ("vpc",),
    "vpce": ("vpc-endpoint",),
}
# operations of S3 for which the permission has another name
# (https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html)
S3_ACTIONS: Mapping[str, str] = {
    "DeleteBucketEncryption": "PutEncryptionConfiguration",
    "DeleteBucketOwnershipControls": "PutBucketOwnershipControls",
    "DeletePublicAccessBlock": "PutBucketPublicAccessBlock",
    "GetBucketAccelerateConfiguration": "GetAccelerateConfiguration",
    "GetBucketCors": "GetBucketCORS",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "GetBucketReplication": "GetReplicationConfiguration",
    "GetObjectLockConfiguration": "GetBucketObjectLockConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "HeadBucket": "ListBucket",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
}


@dataclass(frozen=True)
class Call:
    """One call, made `times` times. `parameters`: flat, as EC2's and IAM's query protocol writes them."""

    service: str
    operation: str
    parameters: Mapping[str, str]
    times: int

    @property
    def action(self) -> str:
        """The permission that it is called by."""
        name = S3_ACTIONS.get(self.operation, self.operation) if self.service == "s3" else self.operation
        return f"{self.service}:{name}"

    def numbered(self, prefix: str) -> Iterator[str]:
        """The values of a list: Name.1, Name.2.Part, ..."""
        return (value for key, value in self.parameters.items() if re.fullmatch(prefix, key))


@dataclass(frozen=True)
class Stack:
    """What the calls say of what they made. `tags`: of each type that is tagged as it is made; `roles`: instance profile -> role."""

    tags: Mapping[str, Mapping[str, str]]
    roles: Mapping[str, str]


@cache
def recorded_calls() -> tuple[Call, ...]:
    """All of them, equal ones once, in the order of their first appearance."""
    return tuple(_call(json.loads(line)) for line in RECORDED.read_text().splitlines())


def _call(line: Mapping[str, Any]) -> Call:
    service, body = line["service"], line["body"]
    if line["path"] == "/":
        parameters = dict(parse_qsl(body))
        return Call(service, parameters.pop("Action"), parameters, line["times"])
    operation, parameters = _rest(service, line["method"], line["path"])
    return Call(service, operation, parameters | dict(_flat(json.loads(body or "{}"))), line["times"])


def _rest(service: str, method: str, path: str) -> tuple[str, dict[str, str]]:
    """The operation that a method and a path are, with what stands in them; of several, the one with most flags in the query."""
    place, _, query = path.partition("?")
    flags = parse_qs(query, keep_blank_values=True)
    found = []
    for name, http in _operations(service).items():
        form, _, wanted = http["requestUri"].partition("?")
        needed = {flag.partition("=")[0] for flag in wanted.split("&") if flag}
        match = re.fullmatch(re.sub(r"\{(\w+)\+?\}", r"(?P<\1>[^/]+)", form), place)
        if match and http["method"] == method and needed <= flags.keys():
            found.append((len(needed), name, {key: unquote(value) for key, value in match.groupdict().items()}))
    _, operation, parameters = max(found, key=lambda each: each[:2])
    return operation, {key[0].upper() + key[1:]: values[0] for key, values in flags.items()} | parameters


@cache
def _operations(service: str) -> Mapping[str, Mapping[str, str]]:
    """Operation -> method and form of its path."""
    model = botocore.session.get_session().get_service_model(service)
    return {name: model.operation_model(name).http for name in model.operation_names}


def _flat(document: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in document.items() if isinstance(document, dict) else enumerate(document, 1):
        if isinstance(value, dict | list):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)


@cache
def recorded_stack() -> Stack:
    """Of all recorded calls."""
    tags: dict[str, dict[str, str]] = {}
    roles = {}
    for call in recorded_calls():
        for kind, given in _made(call):
            tags.setdefault(kind, {}).update(given)
        if call.operation == "AddRoleToInstanceProfile":
            roles[call.parameters["InstanceProfileName"]] = call.parameters["RoleName"]
    return Stack(tags, roles)


def _made(call: Call) -> Iterator[tuple[str, dict[str, str]]]:
    """The types of which a call of EC2 makes something that it tags, with the tags."""
    for key, kind in call.parameters.items():
        if match := re.fullmatch(r"(TagSpecification\.\d+\.)ResourceType", key):
            yield kind, _tags(call, re.escape(match[1]) + r"Tag\.\d+\.")


def _tags(call: Call, prefix: str) -> dict[str, str]:
    return dict(zip(call.numbered(prefix + "Key"), call.numbered(prefix + "Value"), strict=True))


def asks_of(call: Call, stack: Stack) -> Sequence[Ask]:
    """Every question that IAM answers before the call is carried out: all must be allowed."""
    return tuple(dict.fromkeys(INTERPRETERS[call.service](call, stack)))


def _ec2(call: Call, stack: Stack) -> Iterator[Ask]:
    """What exists is asked about with its tags, what is made with those of the request; and so is the tagging of it."""
    action = reference().action(call.action)
    if not action.types:
        yield Ask(call.action)
        return
    made = dict(_made(call))
    named = [(kind, name) for kind, name in _named(call) if kind in action.types and kind not in made]
    given = _context("aws:RequestTag", _tags(call, r"Tag\.\d+\."))
    for kind, name in named:
        yield Ask(call.action, ec2_arn(kind, name), _context("aws:ResourceTag", stack.tags.get(kind, {})) | given)
    for kind, tags in made.items():
        context = _context("aws:RequestTag", tags)
        yield Ask(call.action, ec2_arn(kind, "*"), context)
        yield Ask("ec2:CreateTags", ec2_arn(kind, "*"), {"ec2:CreateAction": call.operation} | context)
    for kind in action.required - made.keys() - {kind for kind, _ in named}:
        yield Ask(call.action, ec2_arn(kind, "*"))  # made, and not tagged: a network interface of RunInstances
    if profile := call.parameters.get("IamInstanceProfile.Name"):
        yield _pass_role(iam_arn("role", stack.roles[profile]), "ec2")


def _named(call: Call) -> Iterator[tuple[str, str]]:
    for key, value in call.parameters.items():
        if match := re.fullmatch(r"([a-z]+)-[0-9a-f]{8,17}", value):
            yield from ((kind, value) for kind in ID_TYPES.get(match[1], ()))
        if key == "KeyName":
            yield "key-pair", value
        if key == "Placement.GroupName" or (key == "GroupName" and "PlacementGroup" in call.operation):
            yield "placement-group", value


def _iam(call: Call, _: Stack) -> Iterator[Ask]:
    context = _context("aws:RequestTag", _tags(call, r"Tags\.member\.\d+\."))
    if "PolicyArn" in call.parameters:
        context["iam:PolicyARN"] = call.parameters["PolicyArn"]
    parameters = {"role": "RoleName", "instance-profile": "InstanceProfileName", "user": "UserName"}
    types = reference().action(call.action).types
    for kind in types:
        yield Ask(call.action, iam_arn(kind, call.parameters.get(parameters[kind], "operator")), context)
    if not types:
        yield Ask(call.action, context=context)
    if call.operation == "AddRoleToInstanceProfile":
        yield _pass_role(iam_arn("role", call.parameters["RoleName"]), "ec2")


def _s3(call: Call, _: Stack) -> Iterator[Ask]:
    yield Ask(call.action, s3_arn(call.parameters["Bucket"]))


def _scheduler(call: Call, _: Stack) -> Iterator[Ask]:
    given, context = call.parameters, _context("aws:RequestTag", _tags(call, r"Tags\.\d+\."))
    if "ResourceArn" in given:
        yield Ask(call.action, given["ResourceArn"], context)
    elif call.operation.endswith("ScheduleGroup"):
        yield Ask(call.action, schedule_arn(given["Name"]), context)
    else:
        yield Ask(call.action, schedule_arn(given["GroupName"], given["Name"]), context)
    if "Target.RoleArn" in given:
        yield _pass_role(given["Target.RoleArn"], "scheduler")


INTERPRETERS: Mapping[str, Callable[[Call, Stack], Iterator[Ask]]] = {
    "ec2": _ec2,
    "iam": _iam,
    "s3": _s3,
    "scheduler": _scheduler,
}


def _pass_role(role: str, service: str) -> Ask:
    return Ask("iam:PassRole", role, {"iam:PassedToService": f"{service}.amazonaws.com"})


def _context(prefix: str, tags: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}/{key}": value for key, value in tags.items()}
