"""Hands a small program to a host's python3 and reads its answer. The programs (`*_agent.py`) are never installed on the host.

`http` makes requests there: the operator's machine may not reach the daemons' ports.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from provisioning.hosts.host import Host

ANSWER_TIMEOUT_S = 30.0
# Programs of the standard library alone: nothing that is installed or set on a host changes them, or makes them start more slowly.
PYTHON = "python3 -IS"
HTTP_AGENT = Path(__file__).with_name("http_agent.py").read_bytes()
COMMAND_BYTES = 60_000  # Linux takes 131,072 in one word, and a quote inside it costs four more


def command(request: Mapping[str, Any]) -> str:
    """The command line that has an agent answer `request`; the agent itself comes over standard input."""
    return f"{PYTHON} - {shlex.quote(json.dumps(request))}"


def ask(host: Host, agent: bytes, request: Mapping[str, Any], *, timeout_s: float = ANSWER_TIMEOUT_S) -> Any:
    """An agent's answer to one request on one host."""
    return json.loads(host.run(command(request), timeout_s=timeout_s, stdin=agent).stdout)


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
    """Makes HTTP requests on the host, in order of `requests`."""
    responses: list[HttpResponse] = []
    for some in _in_pieces(requests):
        request = {"verb": "http", "requests": some, "timeout_s": timeout_s, "parallel": parallel}
        answer = ask(host, HTTP_AGENT, request, timeout_s=timeout_s * (1 + len(some) / parallel) + ANSWER_TIMEOUT_S)
        responses += [HttpResponse(**one) for one in answer["responses"]]
    return responses


def _in_pieces(requests: Sequence[HttpRequest]) -> Iterator[list[dict[str, str | None]]]:
    """The requests as the agent reads them, as many at a time as a command line holds."""
    piece: list[dict[str, str | None]] = []
    size_bytes = 0
    for request in map(asdict, requests):
        own_bytes = len(json.dumps(request).encode())
        if piece and size_bytes + own_bytes > COMMAND_BYTES:
            yield piece
            piece, size_bytes = [], 0
        piece.append(request)
        size_bytes += own_bytes
    if piece:
        yield piece
