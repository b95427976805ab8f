"""What a call asks IAM before it is carried out: actions on resources, with what is known of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from provisioning.testbeds.aws.rehearsal.iam.calls import Call, tag_table
from provisioning.testbeds.aws.rehearsal.iam.policy import Ask, Policy
from provisioning.testbeds.aws.rehearsal.iam.reference import arn, as_iam_has_it, reference

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


class Known(Protocol):
    """What IAM knows of what exists."""

    def tags(self, kind: str, name: str) -> Mapping[str, str]:
        """The tags of a thing of EC2 or EMR, by its type in the reference and its id or name."""

    def role_of(self, profile: str) -> str:
        """The name of the role in an instance profile."""


def asks_of(call: Call, known: Known) -> Sequence[Ask]:
    """Every question that IAM answers before the call is carried out: all must be allowed. None: everybody may.

    A call that the reference lacks asks about no resource.
    """
    if call.service in FREE:
        return ()
    if call.action not in reference().actions:
        return (Ask(call.action),)
    interpret = INTERPRETERS.get(call.service)
    return tuple(dict.fromkeys(interpret(call, known))) if interpret else (Ask(call.action),)


def denied_ask(call: Call, known: Known, policies: Sequence[Policy], region: str) -> Ask | None:
    """The first question that none of these policies answers yes; None: the call may be made."""
    asked = (as_iam_has_it(ask, region) for ask in asks_of(call, known))
    return next((ask for ask in asked if not any(policy.allowing(ask) for policy in policies)), None)


def made_by(call: Call) -> Iterator[tuple[str, dict[str, str]]]:
    """The types of which a call of EC2 makes something that it tags, with the tags."""
    for each in call.parameters.get("TagSpecifications", ()):
        yield each["ResourceType"], tag_table(each.get("Tags"))


def _ec2(call: Call, known: Known) -> Iterator[Ask]:
    """What exists is asked about with its tags, what is made with those of the request; and so is the tagging of it."""
    action = reference().action(call.action)
    if not action.types:
        yield Ask(call.action)
        return
    made = dict(made_by(call))
    named = [(kind, name) for kind, name in _named(call) if kind in action.types and kind not in made]
    given = _context("aws:RequestTag", call.tags)
    for kind, name in named:
        context = _context("aws:ResourceTag", known.tags(kind, name)) | given
        yield Ask(call.action, arn(f"ec2:{kind}", name), context)
    for kind, tags in made.items():
        context, anything = _context("aws:RequestTag", tags), arn(f"ec2:{kind}", "*")
        yield Ask(call.action, anything, context)
        yield Ask("ec2:CreateTags", anything, {"ec2:CreateAction": call.operation} | context)
    for kind in action.required - made.keys() - {kind for kind, _ in named}:
        yield Ask(call.action, arn(f"ec2:{kind}", "*"))  # made, and not tagged: a network interface of RunInstances
    if profile := call.parameters.get("IamInstanceProfile", {}).get("Name"):
        yield _pass_role(arn("iam:role", known.role_of(profile)), "ec2")


def _named(call: Call) -> Iterator[tuple[str, str]]:
    for value in _texts(call.parameters):
        if match := re.fullmatch(r"([a-z]+)-[0-9a-f]{8,17}", value):
            yield from ((kind, value) for kind in ID_TYPES.get(match[1], ()))
    if "KeyName" in call.parameters:
        yield "key-pair", call.parameters["KeyName"]
    of_group = call.parameters if "PlacementGroup" in call.operation else call.parameters.get("Placement", {})
    if "GroupName" in of_group:
        yield "placement-group", of_group["GroupName"]


def _texts(parameters: Any) -> Iterator[str]:
    """Every text in nested tables and lists."""
    if isinstance(parameters, str):
        yield parameters
    elif isinstance(parameters, Mapping | list):
        for each in parameters.values() if isinstance(parameters, Mapping) else parameters:
            yield from _texts(each)


def _iam(call: Call, _: Known) -> Iterator[Ask]:
    context = _context("aws:RequestTag", call.tags)
    if "PolicyArn" in call.parameters:
        context["iam:PolicyARN"] = call.parameters["PolicyArn"]
    if "PolicySourceArn" in call.parameters:
        yield Ask(call.action, call.parameters["PolicySourceArn"], context)
        return
    parameters = {"role": "RoleName", "instance-profile": "InstanceProfileName", "user": "UserName"}
    types = reference().action(call.action).types
    for kind in types:
        if kind == "policy":
            yield Ask(call.action, call.parameters["PolicyArn"], context)
        else:
            yield Ask(call.action, arn(f"iam:{kind}", call.parameters.get(parameters[kind], "operator")), context)
    if not types:
        yield Ask(call.action, context=context)
    if call.operation == "AddRoleToInstanceProfile":
        yield _pass_role(arn("iam:role", call.parameters["RoleName"]), "ec2")


def _s3(call: Call, _: Known) -> Iterator[Ask]:
    given = call.parameters
    if "Bucket" not in given:
        yield Ask(call.action)
    elif "object" in reference().action(call.action).types:
        yield Ask(call.action, arn("s3:object", given["Bucket"], given.get("Key", "*")))
    else:
        yield Ask(call.action, arn("s3:bucket", given["Bucket"]))


def _scheduler(call: Call, _: Known) -> Iterator[Ask]:
    given, context = call.parameters, _context("aws:RequestTag", call.tags)
    if "ResourceArn" in given:
        yield Ask(call.action, given["ResourceArn"], context)
    elif not reference().action(call.action).types:
        yield Ask(call.action)
    elif call.operation.endswith("ScheduleGroup"):
        yield Ask(call.action, arn("scheduler:schedule-group", given["Name"]), context)
    else:
        yield Ask(call.action, arn("scheduler:schedule", given["GroupName"], given["Name"]), context)
    if "Target" in given:
        yield _pass_role(given["Target"]["RoleArn"], "scheduler")


def _emr(call: Call, known: Known) -> Iterator[Ask]:
    if not reference().action(call.action).types:
        tags = _context("aws:RequestTag", call.tags)
        yield Ask(call.action, context=tags)
        if call.operation == "RunJobFlow":
            # a cluster that is being made has no tags of its own yet
            yield Ask("elasticmapreduce:AddTags", arn(CLUSTER, "*"), tags)
            yield _pass_role(arn("iam:role", call.parameters["ServiceRole"].rpartition("/")[2]), "elasticmapreduce")
            yield _pass_role(arn("iam:role", known.role_of(call.parameters["JobFlowRole"])), "ec2")
    for value in _texts(call.parameters):
        if re.fullmatch(r"j-[0-9A-Z]+", value):
            yield Ask(call.action, arn(CLUSTER, value), _context("aws:ResourceTag", known.tags("cluster", value)))


def _quota(call: Call, _: Known) -> Iterator[Ask]:
    yield Ask(call.action, arn("servicequotas:quota", call.parameters["ServiceCode"], call.parameters["QuotaCode"]))


CLUSTER = "elasticmapreduce:cluster"
FREE = ("sts",)  # everybody may ask who he is
INTERPRETERS: Mapping[str, Callable[[Call, Known], Iterator[Ask]]] = {
    "ec2": _ec2,
    "elasticmapreduce": _emr,
    "iam": _iam,
    "s3": _s3,
    "scheduler": _scheduler,
    "servicequotas": _quota,
}


def _pass_role(role: str, service: str) -> Ask:
    return Ask("iam:PassRole", role, {"iam:PassedToService": f"{service}.amazonaws.com"})


def _context(prefix: str, tags: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}/{key}": value for key, value in tags.items()}
