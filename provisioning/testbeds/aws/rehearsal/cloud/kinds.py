"""What the provider double does with one type of resource, and the AWS it does it to.

Pulumi's properties are called as the members of AWS's calls are (cidrBlock is CreateVpc's CidrBlock), so most types are a row of a
table: the calls that make, find and remove one, and the few members that have another name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError

from provisioning.testbeds.aws.rehearsal.cloud.values import Properties

# A repeated call would hide from a test what the cloud answered first.
_ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=300)
GONE = ("NotFound", "NoSuch", "Unknown", "NotAttached", "ResourceNotFoundException")
ENDED = ("deleted", "deleting", "cancelled")
Names = Mapping[str, str]  # member of a call -> the property that it is given, where that has another name


class Aws:
    """The clients of one region, and the tags that the provider's configuration puts on everything."""

    def __init__(self, region: str, default_tags: Mapping[str, str]) -> None:
        self.region = region
        self._default_tags = dict(default_tags)
        self._session = boto3.session.Session(region_name=region)
        self._clients: dict[str, Any] = {}

    def tags(self, inputs: Properties) -> dict[str, str]:
        """All tags that a resource with these inputs carries."""
        return {**self._default_tags, **(inputs.get("tags") or {})}

    def client(self, service: str) -> Any:
        """A client of a service. boto3 finds endpoint and credentials in the environment."""
        if service not in self._clients:
            open_client: Any = self._session.client
            self._clients[service] = open_client(service, config=_ONCE)
        return self._clients[service]

    @property
    def ec2(self) -> Any:
        """EC2."""
        return self.client("ec2")

    @property
    def s3(self) -> Any:
        """S3."""
        return self.client("s3")

    @property
    def iam(self) -> Any:
        """IAM."""
        return self.client("iam")

    @cached_property
    def account(self) -> str:
        """The account's number."""
        return str(self.client("sts").get_caller_identity()["Account"])

    def arn(self, service: str, resource: str) -> str:
        """The name of a resource of this region and account."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"

    def members(self, service: str, method: str) -> Mapping[str, Any]:
        """The shapes of what a call takes, by name."""
        meta = self.client(service).meta
        shape = meta.service_model.operation_model(meta.method_to_api_mapping[method]).input_shape
        found: Mapping[str, Any] = shape.members
        return found

    def call(self, service: str, method: str, properties: Properties, names: Names | None = None, **more: Any) -> Any:
        """Makes a call with those of the properties that it takes, and with `more`."""
        given = taken(self.members(service, method), properties, names or {})
        return getattr(self.client(service), method)(**given | more)


def taken(members: Mapping[str, Any], properties: Properties, names: Names) -> dict[str, Any]:
    """What a call, or a structure in one, takes of these properties; a list takes a single value too (VpcIds: [id])."""
    spelt = {key.lower(): value for key, value in properties.items()}
    found: dict[str, Any] = {}
    for member, shape in members.items():
        value = spelt.get(names.get(member, member).lower())
        kind = shape.type_name
        if kind == "structure" and isinstance(value, dict):
            found[member] = taken(shape.members, value, {})
        elif kind == "list" and isinstance(value, list) and shape.member.type_name == "structure":
            found[member] = [taken(shape.member.members, each, {}) for each in value]
        elif kind == "list" and isinstance(value, str):
            found[member] = [value]
        elif value is not None and kind != "structure" and isinstance(value, list) == (kind == "list"):
            found[member] = value
    return found


@dataclass(frozen=True)
class Created:
    """A new resource: its provider id and the outputs beside its inputs."""

    id: str
    outputs: Properties = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """One type of resource. A change to a property not `in_place` replaces it; `retag` is called when its tags change.

    `in_place` may name a property inside another one: rootBlockDevice.tags.

    `exists` may raise what AWS says of a thing that is gone. `auto_named` is the property that gets a name with a
    random end when the program gives none.
    """

    create: Callable[[Aws, Properties], Created]
    exists: Callable[[Aws, str, Properties], Any]
    delete: Callable[[Aws, str, Properties], Any]
    update: Callable[[Aws, str, Properties], Any] | None = None
    retag: Callable[[Aws, str, Properties, Mapping[str, str]], Any] | None = None
    in_place: frozenset[str] = frozenset()
    auto_named: str = ""


@dataclass(frozen=True)
class ByCalls:
    """A type made, found and removed by calls with its name (create_vpc, describe_vpcs or get_vpc, delete_vpc) or those given.

    `key` is the member that holds its id (VpcId), by which alone it is found and removed; or makes an id of the inputs, and the state
    says what is found. `unlearnt`: property that the double can't do -> what does instead. `outputs`: property -> key in the answer.
    `then` follows the creation and may add outputs.
    """

    token: str
    key: str | Callable[[Properties], str] = ""
    create: str = ""
    delete: str = ""
    update: str | Callable[[Aws, str, Properties], object] = ""
    names: Names = field(default_factory=dict)
    defaults: Properties = field(default_factory=dict)
    unlearnt: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    then: Callable[[Aws, str, Properties], Properties | None] = lambda *_: None
    before_deletion: Callable[[Aws, str, Properties], object] = lambda *_: None
    tagged: bool = True
    in_place: Collection[str] = ()
    auto_named: str = ""

    @property
    def kind(self) -> Kind:
        """The type, as the provider handles every one."""
        change, retag = self._change if self.update else None, self._retag if self.tagged else None
        return Kind(self._make, self._exists, self._remove, change, retag, frozenset(self.in_place), self.auto_named)

    @property
    def _service(self) -> str:
        return re.split("[:/]", self.token)[1]

    @property
    def _name(self) -> str:
        return self.token.rpartition(":")[2]

    def _make(self, aws: Aws, inputs: Properties) -> Created:
        for unable, instead in self.unlearnt.items():
            if inputs.get(unable):
                raise NotImplementedError(f"the double has no {unable} inside a {self._name}; use {instead}")
        inputs, tags = self._complete(inputs), aws.tags(inputs)
        kind = xform_name(self._name, "-")
        more: dict[str, Any] = {}
        if self.tagged:
            more = (
                {"TagSpecifications": on_creation(kind, tags)} if self._service == "ec2" else {"Tags": tag_list(tags)}
            )
        answer = aws.call(self._service, self.create or f"create_{xform_name(self._name)}", inputs, self.names, **more)
        if callable(self.key):
            made = self.key(inputs)
        else:
            made = str(_in(answer, self._id) or inputs[self.names.get(self._id, self._id.lower())])
        outputs = {output: _in(answer, key) for output, key in self.outputs.items()}
        if self._service == "ec2":
            outputs = {"arn": aws.arn("ec2", f"{kind}/{made}"), "ownerId": aws.account} | outputs
        return Created(made, outputs | (self.then(aws, made, inputs) or {}))

    def _complete(self, inputs: Properties) -> Properties:
        return {**self.defaults, **{name: value for name, value in inputs.items() if value is not None}}

    @property
    def _id(self) -> str:
        return str(self.key or f"{self._name}Id")

    def _ask(self, aws: Aws, call: str, made: str, state: Properties) -> Any:
        if callable(self.key):
            return aws.call(self._service, call, state, self.names)
        by_id = {self._id: made} if self._id in aws.members(self._service, call) else {f"{self._id}s": [made]}
        return getattr(aws.client(self._service), call)(**by_id)

    def _exists(self, aws: Aws, made: str, state: Properties) -> bool:
        if self._service != "ec2":
            return bool(self._ask(aws, f"get_{xform_name(self._name)}", made, state))
        found = self._ask(aws, f"describe_{xform_name(self._name)}s", made, state)[f"{self._name}s"]
        return any(each.get("State") not in ENDED for each in found)

    def _remove(self, aws: Aws, made: str, state: Properties) -> None:
        self.before_deletion(aws, made, state)
        self._ask(aws, self.delete or f"delete_{xform_name(self._name)}", made, state)

    def _change(self, aws: Aws, made: str, inputs: Properties) -> None:
        if callable(self.update):
            self.update(aws, made, inputs)
        else:
            aws.call(self._service, self.update, self._complete(inputs), self.names)

    def _retag(self, aws: Aws, made: str, state: Properties, tags: Mapping[str, str]) -> None:
        if self._service == "ec2":  # what is found by its name has an id too, by which it is tagged
            retag_ec2(aws, state.get(f"{self._name[0].lower()}{self._name[1:]}Id", made), state, tags)
            return
        client, name, thing = aws.client(self._service), xform_name(self._name), {self._id: made}
        if self._service == "scheduler":
            name, thing = "resource", {"ResourceArn": state["arn"]}
        removed = set(state.get("tagsAll") or {}) - set(tags)
        if removed:
            getattr(client, f"untag_{name}")(**thing, TagKeys=sorted(removed))
        getattr(client, f"tag_{name}")(**thing, Tags=tag_list(tags))


def _in(answer: Any, key: str) -> Any:
    """A value in an answer, or in the thing that it describes."""
    parts = [answer, *(part for part in answer.values() if isinstance(part, dict))]
    return next((part[key] for part in parts if key in part), None)


def is_gone(error: ClientError) -> bool:
    """Whether AWS says that what was asked for doesn't exist."""
    code = error.response["Error"]["Code"]
    return code == "404" or any(word in code for word in GONE)


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags as AWS's calls take them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def on_creation(kind: str, tags: Mapping[str, str]) -> list[dict[str, Any]]:
    """The TagSpecifications of an EC2 call."""
    return [{"ResourceType": kind, "Tags": tag_list(tags)}] if tags else []


def retag_ec2(aws: Aws, resource_id: str, state: Properties, tags: Mapping[str, str]) -> None:
    """Makes an EC2 resource carry exactly these tags, as far as the program knows of them."""
    removed = set(state.get("tagsAll") or {}) - set(tags)
    if removed:
        aws.ec2.delete_tags(Resources=[resource_id], Tags=[{"Key": key} for key in removed])
    if tags:
        aws.ec2.create_tags(Resources=[resource_id], Tags=tag_list(tags))
