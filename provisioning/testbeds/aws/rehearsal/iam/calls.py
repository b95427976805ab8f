"""A call of AWS's API: which operation, on what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class Call:
    """One call. `parameters`: as boto3 takes them."""

    service: str
    operation: str
    parameters: Mapping[str, Any]

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
