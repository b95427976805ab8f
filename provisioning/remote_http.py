"""HTTP requests made on a host: the operator's machine may not reach the daemons' ports. It opens no connection of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from provisioning.agents import ANSWER_TIMEOUT_S, ask, program
from provisioning.host import Host

AGENT = program("http_agent.py")


@dataclass(frozen=True)
class HttpRequest:
    """A request to be made on a host; `body` is JSON text."""

    method: str
    url: str
    body: str | None = None


@dataclass(frozen=True)
class HttpResponse:
    """What came back; `status` 0 = no connection, and `body` says why."""

    status: int
    body: str


def http(
    host: Host, requests: Sequence[HttpRequest], *, timeout_s: float = 30.0, parallel: int = 1
) -> list[HttpResponse]:
    """Makes HTTP requests on the host (the operator's machine may not reach the daemons), in order of `requests`."""
    request = {
        "verb": "http",
        "requests": [asdict(one) for one in requests],
        "timeout_s": timeout_s,
        "parallel": parallel,
    }
    answer = ask(host, AGENT, request, timeout_s=timeout_s * (1 + len(requests) / parallel) + ANSWER_TIMEOUT_S)
    return [HttpResponse(**one) for one in answer["responses"]]
