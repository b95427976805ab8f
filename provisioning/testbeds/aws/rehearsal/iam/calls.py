"""A call of AWS's API as it goes over the wire: which operation, on what. It judges nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote

import botocore.session

# operations of S3 for which the permission has another name
# (https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html)
S3_ACTIONS: Mapping[str, str] = {
    "CompleteMultipartUpload": "PutObject",
    "CreateMultipartUpload": "PutObject",
    "DeleteBucketEncryption": "PutEncryptionConfiguration",
    "DeleteBucketOwnershipControls": "PutBucketOwnershipControls",
    "DeleteObjects": "DeleteObject",
    "DeletePublicAccessBlock": "PutBucketPublicAccessBlock",
    "GetBucketAccelerateConfiguration": "GetAccelerateConfiguration",
    "GetBucketCors": "GetBucketCORS",
    "GetBucketEncryption": "GetEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "GetBucketReplication": "GetReplicationConfiguration",
    "GetObjectLockConfiguration": "GetBucketObjectLockConfiguration",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock",
    "HeadBucket": "ListBucket",
    "HeadObject": "GetObject",
    "ListBuckets": "ListAllMyBuckets",
    "ListObjects": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "PutBucketEncryption": "PutEncryptionConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
    "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    "UploadPart": "PutObject",
}
# services whose requests are signed by another name than their permissions have
PREFIXES: Mapping[str, str] = {"tagging": "tag"}
REST = ("s3", "scheduler")


@dataclass(frozen=True)
class Call:
    """One call, made `times` times. `parameters`: flat, as EC2's and IAM's query protocol writes them."""

    service: str
    operation: str
    parameters: Mapping[str, str]
    times: int = 1

    @property
    def action(self) -> str:
        """The permission that it is called by."""
        name = S3_ACTIONS.get(self.operation, self.operation) if self.service == "s3" else self.operation
        return f"{PREFIXES.get(self.service, self.service)}:{name}"

    def numbered(self, prefix: str) -> Iterator[str]:
        """The values of a list: Name.1, Name.2.Part, ..."""
        return (value for key, value in self.parameters.items() if re.fullmatch(prefix, key))

    def tags(self, prefix: str) -> dict[str, str]:
        """The tags in such a list."""
        return dict(zip(self.numbered(prefix + "Key"), self.numbered(prefix + "Value"), strict=True))


def read_call(service: str, method: str, path: str, body: str, target: str = "", times: int = 1) -> Call:
    """From a request: `service` as it is signed for, `path` with its query, `target` of the JSON protocol's header.

    Raises ValueError for what no operation of the service is.
    """
    if target:
        return Call(service, target.rpartition(".")[2], dict(flat(json.loads(body or "{}"))), times)
    if service not in REST:
        parameters = dict(parse_qsl(body))
        if "Action" not in parameters:
            raise ValueError(f"no call of {service}: {method} {path}")
        return Call(service, parameters.pop("Action"), parameters, times)
    operation, parameters = _rest(service, method, path)
    # the body of a call of S3 is an object's content, or XML on which no permission depends
    content = {} if service == "s3" else json.loads(body or "{}")
    return Call(service, operation, parameters | dict(flat(content)), times)


def _rest(service: str, method: str, path: str) -> tuple[str, dict[str, str]]:
    """The operation that a method and a path are, with what stands in them; of several, the one with most flags in the query."""
    place, _, query = path.partition("?")
    place = place if place == "/" else place.rstrip("/")
    flags = parse_qs(query, keep_blank_values=True)
    found = []
    for form in _forms(service):
        match = form.path.fullmatch(place)
        if match and form.method == method and form.flags <= flags.keys():
            named = {key: unquote(value) for key, value in match.groupdict().items()}
            found.append((len(form.flags), form.operation, named))
    if not found:
        raise ValueError(f"no call of {service}: {method} {path}")
    _, operation, parameters = max(found, key=lambda each: each[:2])
    return operation, {key[0].upper() + key[1:]: values[0] for key, values in flags.items()} | parameters


@dataclass(frozen=True)
class _Form:
    """How an operation of a REST service is asked for; `flags` must stand in the query."""

    operation: str
    method: str
    path: re.Pattern[str]
    flags: frozenset[str]


@cache
def _forms(service: str) -> tuple[_Form, ...]:
    """Of all operations but those that no path tells from others: copies within S3 (a header does), directory buckets (a host)."""
    model = botocore.session.get_session().get_service_model(service)
    told = (name for name in model.operation_names if "Copy" not in name and "DirectoryBucket" not in name)
    return tuple(_form(model.operation_model(name)) for name in told)


def _form(operation: Any) -> _Form:
    path, _, query = operation.http["requestUri"].partition("?")
    flags = {flag.partition("=")[0] for flag in query.split("&") if flag}
    shape = operation.input_shape
    for name in shape.required_members if shape else ():
        member = shape.members[name].serialization
        if member.get("location") == "querystring":
            flags.add(member["name"])
    # an object's key ({Key+}) has slashes, all else has none
    pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", re.sub(r"\{(\w+)\+\}", r"(?P<\1>.+)", path))
    return _Form(operation.name, operation.http["method"], re.compile(pattern), frozenset(flags))


def flat(document: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The values of nested tables and lists, with names such as Tags.1.Key."""
    for key, value in document.items() if isinstance(document, dict) else enumerate(document, 1):
        if isinstance(value, dict | list):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)
