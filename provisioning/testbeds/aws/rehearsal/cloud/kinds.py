"""What the provider double does with one type of resource: the protocol, and the AWS it does it to. It holds no types itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from provisioning.testbeds.aws.rehearsal.cloud.values import Properties

# A repeated call would hide from a test what the cloud answered first.
_ONCE = Config(retries={"total_max_attempts": 1}, read_timeout=300)
GONE = ("NotFound", "NoSuch", "Unknown", "NotAttached", "ResourceNotFoundException")


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

    @property
    def scheduler(self) -> Any:
        """EventBridge Scheduler."""
        return self.client("scheduler")

    @cached_property
    def account(self) -> str:
        """The account's number."""
        return str(self.client("sts").get_caller_identity()["Account"])

    def arn(self, service: str, resource: str) -> str:
        """The name of a resource of this region and account."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"


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
