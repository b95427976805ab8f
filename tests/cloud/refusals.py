"""How AWS says no, whatever was asked: not permitted, credentials that have ended, too many requests; moto puts it in each protocol.

Codes: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html and the services' own lists of common errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from moto.core.model import OperationModel
from moto.core.request import determine_request_protocol
from moto.core.serialize import get_serializer_class
from moto.core.utils import get_service_model

from provisioning.testbeds.aws.rehearsal.iam.reference import ACCOUNT
from tests.cloud.requests import MODELS

OTHERS = ""
Answer = tuple[str, int, str]  # code, HTTP status, sentence
_EXPIRED: Mapping[str, Answer] = {
    "ec2": ("RequestExpired", 400, "Request has expired."),
    "iam": ("ExpiredToken", 403, "The security token included in the request is expired"),
    "s3": ("ExpiredToken", 400, "The provided token has expired."),
    "sts": ("ExpiredToken", 403, "The security token included in the request is expired"),
    OTHERS: ("ExpiredTokenException", 400, "The security token included in the request is expired"),
}
_THROTTLED: Mapping[str, Answer] = {
    "ec2": ("RequestLimitExceeded", 503, "Request limit exceeded."),
    "iam": ("Throttling", 400, "Rate exceeded"),
    "s3": ("SlowDown", 503, "Please reduce your request rate."),
    "sts": ("Throttling", 400, "Rate exceeded"),
    "scheduler": ("ThrottlingException", 429, "Rate exceeded"),
    OTHERS: ("ThrottlingException", 400, "Rate exceeded"),
}
_DENIED: Mapping[str, Answer] = {
    "ec2": ("UnauthorizedOperation", 403, "You are not authorized to perform this operation. "),
    "iam": ("AccessDenied", 403, ""),
    "s3": ("AccessDenied", 403, ""),
    OTHERS: ("AccessDeniedException", 400, ""),
}


class Said(Exception):
    """An error as moto's serializers read one; not of moto's own, whose service it would look for."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(frozen=True)
class Refusal:
    """What is answered in the place of a call's answer."""

    service: str
    code: str
    http_status: int
    message: str

    def answer(self, content_type: str) -> tuple[str, list[tuple[str, str]], bytes]:
        """HTTP status, headers and body, in the protocol of a request with that content."""
        model = get_service_model(MODELS.get(self.service, self.service))
        protocol = determine_request_protocol(model, content_type)
        serializer = get_serializer_class(model.service_name, protocol)(OperationModel({}, model))
        answer = serializer.serialize(Said(self.code, self.message))
        status = f"{self.http_status} {HTTPStatus(self.http_status).phrase}"
        return status, list(answer["headers"].items()), str(answer["body"]).encode()


def denied(service: str, action: str, resource: str) -> Refusal:
    """No statement allows it."""
    code, number, sentence = _DENIED.get(service, _DENIED[OTHERS])
    who = f"User: arn:aws:iam::{ACCOUNT}:user/operator is not authorized to perform: {action} on resource: {resource}"
    said = f"{sentence}{who} because no identity-based policy allows the {action} action"
    return Refusal(service, code, number, said)


def expired(service: str) -> Refusal:
    """The token of temporary credentials has come to its end."""
    return Refusal(service, *_EXPIRED.get(service, _EXPIRED[OTHERS]))


def throttled(service: str) -> Refusal:
    """Too many requests in too short a time."""
    return Refusal(service, *_THROTTLED.get(service, _THROTTLED[OTHERS]))
