"""The gate of the local cloud: every request, before moto sees it, may be refused as AWS refuses one.

The operator's requests alone are judged; machines and services of the cloud have credentials of their own.
"""

from __future__ import annotations

import io
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moto.core.request import Request
from moto.core.responses import ActionResult
from moto.iam.responses import IamResponse
from moto.moto_server.werkzeug_app import DomainDispatcherApplication
from werkzeug.exceptions import NotFound

from provisioning.testbeds.aws.rehearsal.cloud.known import KnownThings
from provisioning.testbeds.aws.rehearsal.cloud.local_cloud import OPERATOR
from provisioning.testbeds.aws.rehearsal.cloud.moto_patches import instead_of
from provisioning.testbeds.aws.rehearsal.iam.asks import denied_ask
from provisioning.testbeds.aws.rehearsal.iam.calls import Call
from provisioning.testbeds.aws.rehearsal.iam.policy import Ask, read_policy
from tests.cloud.faults import POLICY_FILE, Faults, injected, put_there
from tests.cloud.refusals import Refusal, denied, expired, throttled
from tests.cloud.requests import read_call

Environ = dict[str, Any]
# who signed a request, for which region, for which service as it is signed for
SIGNED = re.compile(
    r"(?:Credential=|X-Amz-Credential=)([^/%]+)(?:/|%2F)\d+(?:/|%2F)([^/%]+)(?:/|%2F)([^/%]+)(?:/|%2F)aws4_request"
)


class Throttling:
    """The first calls of an action are too many, as many as the fault says, counted from when it came into force."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_force: Mapping[str, int] = {}
        self._refused: Counter[str] = Counter()

    def refuses(self, call: Call, faults: Faults) -> bool:
        """Whether this call is one of them."""
        with self._lock:
            if faults.throttled != self._in_force:
                self._in_force, self._refused = faults.throttled, Counter()
            if self._refused[call.action] >= faults.throttled.get(call.action, 0):
                return False
            self._refused[call.action] += 1
            return True


_throttling = Throttling()


@instead_of(DomainDispatcherApplication)
def __call__(moto: Any, self: Any, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Moto's, for what isn't refused."""
    refusal = _refusal(environ)
    if refusal is None:
        passed: Iterable[bytes] = moto(self, environ, start_response)
        return passed
    _content(environ)  # or its rest is the next request's beginning
    status, headers, body = refusal.answer(environ.get("CONTENT_TYPE", ""))
    body = b"" if environ["REQUEST_METHOD"] == "HEAD" else body
    start_response(status, [*headers, ("Content-Length", str(len(body)))])
    return [body]


@instead_of(IamResponse)
def simulate_principal_policy(moto: Any, self: Any) -> ActionResult:
    """What the policy that the operator is held to says, by the evaluator that judges his calls; without one, all is allowed."""
    policy, result = put_there(POLICY_FILE), dict(moto(self).result)
    if policy is not None:
        context = {
            each["ContextKeyName"]: each["ContextKeyValues"][0] for each in self._get_params().get("ContextEntries", ())
        }
        for each in result["EvaluationResults"]:
            asked = Ask(each["EvalActionName"], each["EvalResourceName"], context)
            each["EvalDecision"] = "allowed" if read_policy(policy).allowing(asked) else "implicitDeny"
    return ActionResult(result)


def _refusal(environ: Environ) -> Refusal | None:
    """None lets it pass. What no call can be read from passes: moto says what is wrong with it."""
    signed = SIGNED.search(environ.get("HTTP_AUTHORIZATION", "")) or SIGNED.search(environ.get("QUERY_STRING", ""))
    if signed is None or signed[1] != OPERATOR:
        return None
    faults, policy, region, service = injected(), put_there(POLICY_FILE), signed[2], signed[3]
    if faults.credentials_expired:
        return expired(service)
    if not faults.throttled and policy is None:
        return None
    try:
        call = _call(environ, service)
    except NotFound:
        return None
    if _throttling.refuses(call, faults):
        return throttled(service)
    ask = denied_ask(call, KnownThings(region), [read_policy(policy)], region) if policy is not None else None
    return denied(service, ask.action, ask.resource) if ask else None


def _call(environ: Environ, service: str) -> Call:
    if service == "s3":  # no permission depends on an object's content
        return read_call(service, Request(environ))
    content = _content(environ)
    environ["wsgi.input"] = io.BytesIO(content)
    try:
        return read_call(service, Request(environ))
    finally:
        environ["wsgi.input"] = io.BytesIO(content)


def _content(environ: Environ) -> bytes:
    content: bytes = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    return content
