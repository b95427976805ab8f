"""A call of AWS's API, read from its request by moto's own routing and parsing: which operation, on what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moto.core.parse import PROTOCOL_PARSERS, RequestDict
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.utils import get_service_model

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
# services whose requests are signed by another name than their permissions have, or than their model
PREFIXES: Mapping[str, str] = {"tagging": "tag"}
MODELS: Mapping[str, str] = {
    "elasticmapreduce": "emr",
    "servicequotas": "service-quotas",
    "tagging": "resourcegroupstaggingapi",
}


@dataclass(frozen=True)
class Call:
    """One call, made `times` times. `parameters`: as boto3 takes them."""

    service: str
    operation: str
    parameters: Mapping[str, Any]
    times: int = 1

    @property
    def action(self) -> str:
        """The permission that it is called by."""
        name = S3_ACTIONS.get(self.operation, self.operation) if self.service == "s3" else self.operation
        return f"{PREFIXES.get(self.service, self.service)}:{name}"

    @property
    def tags(self) -> dict[str, str]:
        """The tags that it gives to what it names."""
        return tag_table(self.parameters.get("Tags"))


def tag_table(tags: Any) -> dict[str, str]:
    """Tags as AWS's calls write them; a key without a value is one to take away."""
    return {tag["Key"]: tag["Value"] for tag in tags or () if "Value" in tag}


def read_call(service: str, request: Request, times: int = 1) -> Call:
    """From a request; `service` as it is signed for. Raises werkzeug's NotFound for what no operation of the service is."""
    name = MODELS.get(service, service)
    operation, of_path = get_service_router(name).match(request)
    if service == "s3":  # its body is an object's content, or XML on which no permission depends
        return Call(service, operation.name, of_path, times)
    protocol = determine_request_protocol(get_service_model(name), request.content_type)
    parts: RequestDict = {
        "method": request.method,
        "values": request.values,
        "headers": request.headers,
        "body": request.data,
        "url_path": request.path,
        "url_params": of_path,
    }
    return Call(service, operation.name, PROTOCOL_PARSERS[protocol](operation).parse(parts), times)
