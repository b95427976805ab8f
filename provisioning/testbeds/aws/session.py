"""The one door to AWS: every call of its API goes through a session from here."""

from __future__ import annotations

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    SSOError,
    TokenRetrievalError,
)

from provisioning.errors import MissingRequirement, SameboxError

# AWS's rates are the account's, which others use as well: boto3's own few attempts are over within seconds
PATIENT = Config(retries={"mode": "standard", "total_max_attempts": 10})
EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
SIGN_IN = (
    "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in anew (`aws sso login`); "
    "`aws sts get-caller-identity` must answer."
)


def session(region: str) -> boto3.session.Session:
    """A session with the operator's own credentials, found valid. Raises MissingRequirement.

    AWS_ENDPOINT_URL in the environment sends every call elsewhere (a test's double): boto3 reads it by itself.
    """
    core = botocore.session.Session()
    core.set_default_client_config(PATIENT)
    opened = boto3.session.Session(botocore_session=core, region_name=region)
    try:
        opened.client("sts").get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise MissingRequirement(f"AWS doesn't know who is calling: {error}", next_step=SIGN_IN) from None
    return opened


def refused(action: str, error: Exception, *, next_step: str) -> SameboxError:
    """The error for a call of AWS that failed. Where the credentials have ended, signing in anew comes before `next_step`."""
    if not have_expired(error):
        return SameboxError(f"can't {action}: {error}", next_step=next_step)
    return SameboxError(
        f"can't {action}: the credentials have ended: {error}",
        next_step=f"{SIGN_IN} Then the same command again: what was made is kept.",
    )


def have_expired(error: Exception) -> bool:
    """Whether a call failed because temporary credentials, or the sign-in that they come from, have come to their end."""
    if isinstance(error, ClientError):
        return error.response.get("Error", {}).get("Code") in EXPIRED
    return isinstance(error, CredentialRetrievalError | SSOError | TokenRetrievalError)
