"""The bucket that keeps records and reports: private, encrypted, and left standing by `pulumi destroy`."""

from __future__ import annotations

import json

import pulumi
import pulumi_aws as aws

from infra.settings import Settings

ABANDONED_UPLOADS_DAYS = 2
# archives on their way to hosts (provisioning/testbeds/aws/bucket_layout.py): needed for minutes, and sent again if needed
SOFTWARE, SOFTWARE_DAYS = "software/", 1


class ResultsBucket(pulumi.ComponentResource):
    """One bucket per campaign. Its name ends in random digits, so that a second testbed finds no name taken by what it kept.

    Everything that protects the bucket is retained with it: a bucket kept without its public access block would be no private one.
    """

    def __init__(self, name: str, settings: Settings, opts: pulumi.ResourceOptions) -> None:
        super().__init__("samebox:infra:ResultsBucket", name, None, opts)
        kept = pulumi.ResourceOptions(parent=self, retain_on_delete=True)
        self.bucket = aws.s3.Bucket(
            f"{name}-{settings.campaign}", force_destroy=False, tags=dict(settings.tags), opts=kept
        )
        bucket = self.bucket.bucket
        access = aws.s3.BucketPublicAccessBlock(
            name,
            bucket=bucket,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=kept,
        )
        aws.s3.BucketOwnershipControls(
            name,
            bucket=bucket,
            rule={"object_ownership": "BucketOwnerEnforced"},
            opts=kept,
        )
        aws.s3.BucketServerSideEncryptionConfiguration(
            name,
            bucket=bucket,
            rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}],
            opts=kept,
        )
        aws.s3.BucketLifecycleConfiguration(
            name,
            bucket=bucket,
            rules=[
                {
                    "id": "abandoned-uploads",
                    "status": "Enabled",
                    "filter": {},  # everything
                    "abort_incomplete_multipart_upload": {"days_after_initiation": ABANDONED_UPLOADS_DAYS},
                },
                {
                    "id": "software",
                    "status": "Enabled",
                    "filter": {"prefix": SOFTWARE},
                    "expiration": {"days": SOFTWARE_DAYS},
                },
            ],
            opts=kept,
        )
        aws.s3.BucketPolicy(
            name,
            bucket=bucket,
            policy=self.bucket.arn.apply(_only_over_tls),
            # S3 lets one change of a bucket's access wait for another, or fail
            opts=pulumi.ResourceOptions.merge(kept, pulumi.ResourceOptions(depends_on=[access])),
        )
        self.register_outputs({"bucket": bucket})


def _only_over_tls(arn: str) -> str:
    statement = {
        "Sid": "OnlyOverTls",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
