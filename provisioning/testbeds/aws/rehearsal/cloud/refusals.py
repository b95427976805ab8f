"""How AWS says no, whatever was asked: not permitted, credentials that have ended, too many requests. Each protocol has its own form.

Codes: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html and the services' own lists of common errors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape

from provisioning.testbeds.aws.rehearsal.iam.arns import ACCOUNT

QUERY, JSON, REST_JSON = ("iam", "sts"), ("elasticmapreduce", "servicequotas", "ssm", "tagging"), ("scheduler",)
OTHERS = ""
_HTTP = {400: "400 Bad Request", 403: "403 Forbidden", 429: "429 Too Many Requests", 503: "503 Service Unavailable"}
# service -> code and HTTP status
_DENIED: Mapping[str, tuple[str, int]] = {
    "ec2": ("UnauthorizedOperation", 403),
    "iam": ("AccessDenied", 403),
    "s3": ("AccessDenied", 403),
    OTHERS: ("AccessDeniedException", 400),
}
_EXPIRED: Mapping[str, tuple[str, int]] = {
    "ec2": ("RequestExpired", 400),
    "iam": ("ExpiredToken", 403),
    "s3": ("ExpiredToken", 400),
    "sts": ("ExpiredToken", 403),
    OTHERS: ("ExpiredTokenException", 400),
}
_THROTTLED: Mapping[str, tuple[str, int]] = {
    "ec2": ("RequestLimitExceeded", 503),
    "iam": ("Throttling", 400),
    "s3": ("SlowDown", 503),
    "sts": ("Throttling", 400),
    "scheduler": ("ThrottlingException", 429),
    OTHERS: ("ThrottlingException", 400),
}


@dataclass(frozen=True)
class Refusal:
    """What is answered in the place of a call's answer."""

    service: str
    code: str
    http_status: int
    message: str

    @property
    def status(self) -> str:
        """The HTTP status line's end."""
        return _HTTP[self.http_status]

    @property
    def body(self) -> bytes:
        """In the service's protocol."""
        if self.service in JSON:
            return json.dumps({"__type": self.code, "message": self.message}).encode()
        if self.service in REST_JSON:
            return json.dumps({"message": self.message}).encode()
        error = f"<Code>{self.code}</Code><Message>{escape(self.message)}</Message>"
        if self.service == "ec2":
            error = f"<Response><Errors><Error>{error}</Error></Errors><RequestID>0</RequestID></Response>"
        elif self.service in QUERY:
            error = f"<ErrorResponse><Error><Type>Sender</Type>{error}</Error><RequestId>0</RequestId></ErrorResponse>"
        else:
            error = f"<Error>{error}</Error>"
        return error.encode()

    @property
    def headers(self) -> list[tuple[str, str]]:
        """With the code where the protocol has it there."""
        of_json = self.service in JSON or self.service in REST_JSON
        given = [("Content-Type", "application/x-amz-json-1.1" if of_json else "text/xml")]
        return [*given, ("x-amzn-ErrorType", self.code)] if self.service in REST_JSON else given


def denied(service: str, action: str, resource: str) -> Refusal:
    """No statement allows it."""
    said = (
        f"User: arn:aws:iam::{ACCOUNT}:user/operator is not authorized to perform: {action} on resource: {resource} "
        f"because no identity-based policy allows the {action} action"
    )
    prefix = "You are not authorized to perform this operation. " if service == "ec2" else ""
    return Refusal(service, *_of(_DENIED, service), prefix + said)


def expired(service: str) -> Refusal:
    """The token of temporary credentials has come to its end."""
    said = {"ec2": "Request has expired.", "s3": "The provided token has expired."}
    return Refusal(
        service, *_of(_EXPIRED, service), said.get(service, "The security token included in the request is expired")
    )


def throttled(service: str) -> Refusal:
    """Too many requests in too short a time."""
    said = {"ec2": "Request limit exceeded.", "s3": "Please reduce your request rate."}
    return Refusal(service, *_of(_THROTTLED, service), said.get(service, "Rate exceeded"))


def _of(codes: Mapping[str, tuple[str, int]], service: str) -> tuple[str, int]:
    return codes.get(service, codes[OTHERS])
