"""Every call of AWS's API goes through a session from here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import boto3
import botocore.session
import jmespath  # type: ignore[import-untyped]  # ships no types
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    SSOError,
    TokenRetrievalError,
)
from botocore.loaders import Loader

from provisioning.errors import MissingRequirement, SameboxError

# AWS's rates are the account's, which others use as well: boto3's own few attempts are over within seconds
PATIENT = Config(retries={"mode": "standard", "total_max_attempts": 10})
EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
SIGN_IN = (
    "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in again (`aws sso login`); "
    "`aws sts get-caller-identity` must answer."
)


def session(region: str) -> boto3.session.Session:
    """A session with the operator's own credentials, which AWS has accepted. Raises MissingRequirement.

    AWS_ENDPOINT_URL in the environment sends every call elsewhere (a test's double): boto3 reads it by itself.
    """
    core = botocore.session.Session()
    core.set_default_client_config(PATIENT)
    core.register_component("data_loader", _descriptions())
    opened = boto3.session.Session(botocore_session=core, region_name=region)
    try:
        opened.client("sts").get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise MissingRequirement(f"AWS didn't confirm the credentials: {error}", next_step=SIGN_IN) from None
    return opened


@cache
def _descriptions() -> Loader:
    """botocore's descriptions of the services: megabytes of JSON, which every session, one a region, would read for itself."""
    loader: Loader = botocore.session.Session().get_component("data_loader")
    return loader


@dataclass(frozen=True)
class Region:
    """A session in its region. Clients are made once."""

    session: boto3.session.Session
    name: str

    @cached_property
    def _clients(self) -> dict[str, Any]:
        return {}

    def client(self, service: str) -> Any:
        """A service's client; untyped, because operations are called by name."""
        if service not in self._clients:
            self._clients[service] = self.session.client(service)  # type: ignore[call-overload]
        return self._clients[service]

    def items(self, service: str, operation: str, expression: str, **arguments: Any) -> Iterator[Any]:
        """What a JMESPath `expression` finds in all pages of an operation."""
        client = self.client(service)
        if client.can_paginate(operation):
            pages: Iterable[Any] = client.get_paginator(operation).paginate(**arguments)
        else:
            pages = [getattr(client, operation)(**arguments)]
        compiled = jmespath.compile(expression)
        for page in pages:
            yield from compiled.search(page) or ()


@contextmanager
def explained(action: str, *, refused: str, cut_off: str, denied: str = "") -> Iterator[None]:
    """Turns the failure of a call of AWS into a SameboxError: can't `action`, and what to do.

    `refused`: where AWS answered with an error; `denied`: with that of a missing permission; `cut_off`: where no answer came. Where
    the credentials have expired, signing in again comes first.
    """
    try:
        yield
    except (BotoCoreError, ClientError, Boto3Error) as error:
        if _have_expired(error):
            raise SameboxError(
                f"can't {action}: the credentials have expired: {error}",
                next_step=f"{SIGN_IN} Then run the same command again: what was made is kept.",
            ) from None
        next_step = cut_off
        if isinstance(error, ClientError):
            code = error.response.get("Error", {}).get("Code")
            next_step = denied if denied and code in ("AccessDenied", "403") else refused
        raise SameboxError(f"can't {action}: {error}", next_step=next_step) from None


def _have_expired(error: Exception) -> bool:
    """Whether a call failed because temporary credentials, or the sign-in that they come from, have expired."""
    if isinstance(error, ClientError):
        return error.response.get("Error", {}).get("Code") in EXPIRED
    return isinstance(error, CredentialRetrievalError | SSOError | TokenRetrievalError)
