"""The door of the local cloud: every request, before moto sees it, may be refused as AWS refuses one. It answers nothing else.

The operator's requests alone are judged; machines and services of the cloud have credentials of their own.
"""

from __future__ import annotations

import io
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication

from provisioning.testbeds.aws.rehearsal.cloud.known import KnownThings
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import OPERATOR, POLICY_FILE, Faults, injected
from provisioning.testbeds.aws.rehearsal.cloud.refusals import Refusal, denied, expired, throttled
from provisioning.testbeds.aws.rehearsal.iam.asks import asks_of
from provisioning.testbeds.aws.rehearsal.iam.calls import Call, read_call
from provisioning.testbeds.aws.rehearsal.iam.policy import Policy, read_policy
from provisioning.testbeds.aws.rehearsal.iam.questions import as_iam_has_it

Environ = dict[str, Any]
SIGNED = re.compile(
    r"(?:Credential=|X-Amz-Credential=)([^/%]+)(?:/|%2F)\d+(?:/|%2F)([^/%]+)(?:/|%2F)([^/%]+)(?:/|%2F)aws4_request"
)


@dataclass(frozen=True)
class Signature:
    """By whom a request is signed, and for what: the service as it is signed for, not as its permissions are named."""

    key: str
    region: str
    service: str


def signature_of(environ: Environ) -> Signature | None:
    """None for a request that isn't signed."""
    found = SIGNED.search(environ.get("HTTP_AUTHORIZATION", "")) or SIGNED.search(environ.get("QUERY_STRING", ""))
    return Signature(*found.groups()) if found else None


def policy_in_force(state_dir: Path) -> Policy | None:
    """The one that the operator of the cloud with this folder is held to, if any."""
    try:
        return read_policy((state_dir / POLICY_FILE).read_text())
    except FileNotFoundError:
        return None


class Gate:
    """What is refused by the faults and the operator's policy in force in the cloud with this folder."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._lock = threading.Lock()
        self._throttled: Mapping[str, int] = {}
        self._refused: Counter[str] = Counter()

    def refusal(self, environ: Environ) -> Refusal | None:
        """None lets it pass. What no call can be read from passes: moto says what is wrong with it."""
        signature, faults, policy = signature_of(environ), injected(self._state_dir), policy_in_force(self._state_dir)
        if signature is None or signature.key != OPERATOR:
            return None
        if faults.credentials_expired:
            return expired(signature.service)
        if not faults.throttled and policy is None:
            return None
        try:
            call = _call(environ, signature.service)
        except ValueError:
            return None
        if self._is_throttled(call, faults):
            return throttled(signature.service)
        return _judged(call, signature, policy) if policy is not None else None

    def _is_throttled(self, call: Call, faults: Faults) -> bool:
        """The first calls of an action, as many as the fault says, counted from when it came into force."""
        with self._lock:
            if faults.throttled != self._throttled:
                self._throttled, self._refused = faults.throttled, Counter()
            if self._refused[call.action] >= faults.throttled.get(call.action, 0):
                return False
            self._refused[call.action] += 1
            return True


def _judged(call: Call, signature: Signature, policy: Policy) -> Refusal | None:
    for ask in asks_of(call, KnownThings(signature.region)):
        if not policy.allowing(as_iam_has_it(ask, signature.region)):
            return denied(signature.service, ask.action, ask.resource)
    return None


def _call(environ: Environ, service: str) -> Call:
    path = environ["PATH_INFO"] + (f"?{environ['QUERY_STRING']}" if environ.get("QUERY_STRING") else "")
    body = ""
    if service != "s3":  # no permission depends on an object's content
        content = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(content)
        body = content.decode()
    return read_call(service, environ["REQUEST_METHOD"], path, body, environ.get("HTTP_X_AMZ_TARGET", ""))


def install(state_dir: Path) -> None:
    """Puts the gate before moto's server."""
    gate, moto_call = Gate(state_dir), DomainDispatcherApplication.__call__

    def call(self: Any, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        refusal = gate.refusal(environ)
        if refusal is None:
            passed: Iterable[bytes] = moto_call(self, environ, start_response)
            return passed
        environ["wsgi.input"].read(
            int(environ.get("CONTENT_LENGTH") or 0)
        )  # or its rest is the next request's beginning
        body = b"" if environ["REQUEST_METHOD"] == "HEAD" else refusal.body
        start_response(refusal.status, [*refusal.headers, ("Content-Length", str(len(body)))])
        return [body]

    DomainDispatcherApplication.__call__ = call  # type: ignore[method-assign]
