"""The one door to AWS: every call of its API goes through a session from here."""

from __future__ import annotations

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from provisioning.errors import MissingRequirement


def session(region: str) -> boto3.session.Session:
    """A session with the operator's own credentials, found valid. Raises MissingRequirement.

    AWS_ENDPOINT_URL in the environment sends every call elsewhere (a test's double): boto3 reads it by itself.
    """
    opened = boto3.session.Session(region_name=region)
    try:
        opened.client("sts").get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise MissingRequirement(
            f"AWS doesn't know who is calling: {error}",
            next_step="Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; then `aws sts get-caller-identity`.",
        ) from None
    return opened
